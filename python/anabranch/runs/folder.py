"""The folder of a run: where it is, whether it is whole, and how it comes into being at once."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anabranch._core import AnabranchError, Scenario

MANIFEST = "manifest.json"
HASH_CHARACTERS = 12


def place(runs: str | Path, scenario: Scenario) -> Path:
    """`RUNS/NAME-HASH`; the hash is of the resolved scenario and the model's version."""
    return Path(runs) / f"{scenario.name}-{scenario.identity[:HASH_CHARACTERS]}"


def read_manifest(folder: str | Path) -> dict[str, Any] | None:
    """The manifest of a run if the folder is there and whole, otherwise None."""
    try:
        manifest = json.loads((Path(folder) / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(manifest, dict) and all((Path(folder) / name).is_file() for name in manifest.get("files", ()))
    return manifest if whole else None


def check_writable(runs: str | Path) -> None:
    """Makes the folder of runs, and finds out before a run whether results can be written into it.

    Raises:
        AnabranchError: they cannot.

    """
    try:
        Path(runs).mkdir(parents=True, exist_ok=True)
        tempfile.NamedTemporaryFile(prefix=".", dir=runs).close()
    except OSError as error:
        raise AnabranchError(
            f"{runs}: cannot write results into it: {error.strerror}; give another with --runs DIR"
        ) from None


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A folder to write into, which becomes `target` at the end, in place of what was there, or vanishes."""
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield part
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(0o777 & ~umask)
        _replace(part, target)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _replace(part: Path, target: Path) -> None:
    """Directories cannot be swapped portably: the old one steps aside first."""
    if target.exists():
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        target.rename(aside / target.name)
        part.rename(target)
        shutil.rmtree(aside)
    else:
        part.rename(target)
