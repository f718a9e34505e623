"""Crate for a scheme written in Rust, outside the tree: a scheme that works, its tests, a program that runs it.

A template is a crate itself, called `blank-scheme`; a new one is the same under another name. Behind the doors of
switches and hosts the schemes to start from are those that anabranch's own tests run. The crate depends on sources of
this version: those that the package has, or a checkout.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from anabranch.files.atomic_folder import written_whole
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import choose
from anabranch.files.project import sources

TEMPLATE = Path(__file__).parent / "template"
DOORS = Path(__file__).parent / "doors"
"""Template of a crate behind a door, without its scheme."""
TRAITS = {"switches": "SwitchBalancer", "hosts": "HostBalancer"}
"""What a scheme behind each door implements."""
EXAMPLES = Path("crates", "balancers", "tests", "doors")
"""Folder in the sources of the schemes to start from."""
CRATE = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
KEYWORDS = """
as async await box break const continue crate dyn else enum extern false fn for gen if impl in let loop match mod
move mut pub ref return self static struct super trait true type unsafe use where while abstract become do final
macro override priv try typeof unsized virtual yield
"""
OTHER_CRATES = "alloc core proptest std test"


def write_crate(name: str, into: Path, source: Path | None, door: str | None = None) -> Path:
    """Writes the crate `into/name`, whole or not at all, with path dependencies on the crates in `source`.

    Without `source` it depends on those of this package. Without a door the scheme decides in the tables of switches.

    Raises:
        AnabranchError: the name cannot be a crate's, its folder exists, there is no such door, or there are no sources.

    """
    check_name(name, "a crate of one's own")
    if door is not None:
        choose(door, list(TRAITS), "--door")
    origin = find_sources(source)
    if not into.is_dir():
        raise AnabranchError(f"{into}: there is no such directory; make it, or give another with --into DIR")
    target = into / name
    if target.exists():
        raise AnabranchError(f"{target}: exists already; choose another name, or another directory with --into DIR")
    template = TEMPLATE if door is None else DOORS
    with written_whole(target) as part:
        for path in sorted(template.rglob("*")):
            if path.is_file():
                written = part / str(path.relative_to(template)).replace("gitignore", ".gitignore")
                written.parent.mkdir(parents=True, exist_ok=True)
                written.write_text(renamed(path.read_text(encoding="utf-8"), name, origin), encoding="utf-8")
        if door is not None:
            (part / "src" / "lib.rs").write_text(example(door, name, origin), encoding="utf-8")
        # The same versions of everything as where it is tested.
        shutil.copyfile(origin / "Cargo.lock", part / "Cargo.lock")
    return target


def example(door: str, name: str, origin: Path) -> str:
    """Text of the scheme behind a door that the sources have, as the library of a crate of this name.

    Raises:
        AnabranchError: they have none.

    """
    for path in sorted((origin / EXAMPLES).glob("small_*.rs")):
        text = path.read_text(encoding="utf-8")
        if f"impl {TRAITS[door]} for" in text:
            for old, blank in zip(spellings(path.stem), spellings("blank-scheme"), strict=True):
                text = text.replace(old, blank)
            return renamed(text.replace("pub(crate)", "pub"), name, origin)
    raise AnabranchError(f"{origin / EXAMPLES}: no scheme for --door {door}; give a newer checkout with --source DIR")


def spellings(name: str) -> list[str]:
    """A name as crates, modules, constants and types write it."""
    words = re.split("[-_]", name)
    return ["-".join(words), "_".join(words), "_".join(words).upper(), "".join(word.capitalize() for word in words)]


def check_name(name: str, kind: str) -> None:
    """Refuses names that Rust has no room for.

    Raises:
        AnabranchError: it cannot be the name of what `kind` says.

    """
    if not CRATE.fullmatch(name) or name in f"{KEYWORDS} {OTHER_CRATES}".split() or name.startswith("anabranch"):
        raise AnabranchError(f"{name}: no name for {kind}; use small letters, digits and -, as in my-scheme")


def find_sources(source: Path | None) -> Path:
    """Finds the folder whose crates are depended on: the one given, or that of this package.

    Raises:
        AnabranchError: it has no crates.

    """
    origin = (source or sources()).resolve()
    if not (origin / "crates" / "sim" / "Cargo.toml").is_file():
        raise AnabranchError(
            f"{source or origin}: no sources of anabranch, there is no crates/sim in it; give a checkout, or the "
            "unpacked source distribution, with --source DIR"
        )
    return origin


def renamed(text: str, name: str, origin: Path) -> str:
    """Renames the crate in a file of the template."""
    text = re.sub(r'"(?:\.\./)+(crates/\w+)"', lambda match: json.dumps(f"{origin.as_posix()}/{match[1]}"), text)
    for blank, new in zip(spellings("blank-scheme"), spellings(name), strict=True):
        text = text.replace(blank, new)
    return text
