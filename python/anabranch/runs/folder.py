"""The folder of a run: where it is, and whether it is whole."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from anabranch._core import Scenario
from anabranch.atomic_folder import remove_abandoned
from anabranch.errors import AnabranchError

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
