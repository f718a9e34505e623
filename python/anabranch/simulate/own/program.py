"""A scheme in Rust, as a study names it: the crate outside the tree, and the program that was built of it."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from anabranch._core import VERSION
from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_toml

PREFIX = "crate:"
BUILD = "cargo build --release"
ASKING_SECONDS = 60


@dataclass(frozen=True)
class Program:
    """A program built of a crate outside the tree."""

    text: str
    """Value of the axis, as written: `crate:FOLDER`."""
    name: str
    path: str
    digest: str
    """Digest of the program itself: another build is another scheme."""
    model_version: int


def find_program(text: str, folder: Path) -> Program:
    """Finds the program of the crate that `text` names; its folder is relative to `folder`.

    Raises:
        AnabranchError: there is no such crate, it is not built, its build is stale, or made for another anabranch.

    """
    crate = (folder / text.removeprefix(PREFIX)).resolve()
    manifest = crate / "Cargo.toml"
    try:
        name = parse_toml(manifest.read_text(encoding="utf-8"), str(manifest))["package"]["name"]
    except OSError as error:
        raise AnabranchError(
            f"{text}: {manifest}: {error.strerror}; give the folder of a crate that `anabranch schemes new` has written"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise AnabranchError(f"{text}: {manifest}: no manifest of a crate; give its folder") from None
    target = Path(os.environ.get("CARGO_TARGET_DIR") or "target")
    program = crate / target / "release" / str(name)
    hint = f"hint: run `{BUILD}` in {crate}"
    try:
        content = program.read_bytes()
    except OSError:
        raise AnabranchError(f"{text}: {program} is not built; {hint}") from None
    newer = _newer_source(program)
    if newer is not None:
        raise AnabranchError(f"{text}: {program} is older than {newer}; {hint}")
    version, model_version = _versions(text, program, hint)
    if version != VERSION:
        raise AnabranchError(f"{text}: {program} was built with anabranch {version}, and {VERSION} is here; {hint}")
    return Program(text, str(name), str(program), blake2b(content, digest_size=16).hexdigest(), model_version)


def _newer_source(program: Path) -> str | None:
    """First source of a program that changed after it was built, as cargo has listed them."""
    built = program.stat().st_mtime_ns
    try:
        listed = program.with_name(f"{program.name}.d").read_text(encoding="utf-8")
    except OSError:
        return None
    for escaped in re.findall(r"(?:\\.|\S)+", listed.partition(": ")[2]):
        source = Path(escaped.replace("\\ ", " "))
        if not source.exists():
            return f"{source}, which is gone"
        if source.stat().st_mtime_ns > built:
            return str(source)
    return None


def _versions(text: str, program: Path, hint: str) -> tuple[str, int]:
    """Versions of anabranch and of its model that a program was built with."""
    try:
        asked = subprocess.run([program, "--about"], capture_output=True, text=True, check=True, timeout=ASKING_SECONDS)
        versions = parse_toml(asked.stdout, str(program))
        return str(versions["version"]), int(versions["model_version"])
    except (OSError, subprocess.SubprocessError, KeyError, ValueError):
        raise AnabranchError(
            f"{text}: {program} does not answer as a program for studies does; its main.rs must call "
            f"anabranch_program::main, as `anabranch schemes new` writes it; {hint}"
        ) from None
