"""The folder of a run: where it is, whether it is whole, and how it comes into being at once."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from anabranch._core import AnabranchError, Scenario
from anabranch.atomic_file import unwritable
from anabranch.runs.unfinished import remove_abandoned, unfinished

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

    Folders that a killed command has left there half-written are removed.

    Raises:
        AnabranchError: results cannot be written into it.

    """
    try:
        Path(runs).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=runs).close()
        remove_abandoned(Path(runs))
    except OSError as error:
        raise AnabranchError(
            f"{runs}: cannot write results into it: {error.strerror}; give another with --runs DIR"
        ) from None


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A folder to write into, which becomes `target` at the end, in place of what was there, or vanishes.

    Symbolic links are followed; a folder that is replaced passes on its mode and owner.

    Raises:
        AnabranchError: the folder cannot be written, because the disk is full, for instance.

    """
    place = Path(os.path.realpath(target))
    if place.exists() and not place.is_dir():
        raise AnabranchError(f"{target}: is no folder; hint: move it away, or give another with --runs DIR")
    try:
        with unfinished(place) as shop:
            part = shop / "new"
            part.mkdir()
            yield part
            if place.exists():
                _take_over(place.stat(), part)
            _replace(part, place, shop / "old")
    except OSError as error:
        raise AnabranchError(unwritable(target, error)) from None


def _take_over(old: os.stat_result, part: Path) -> None:
    made = part.stat()
    if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.chown(part, old.st_uid, old.st_gid)
    part.chmod(stat.S_IMODE(old.st_mode))


def _replace(part: Path, target: Path, aside: Path) -> None:
    """Directories cannot be swapped portably: the old one steps aside first."""
    if target.exists():
        target.rename(aside)
    part.rename(target)
