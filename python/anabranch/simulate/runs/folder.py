"""Folder of a run: its path, and whether it is complete."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from anabranch._core import Scenario
from anabranch.files.atomic_folder import remove_abandoned
from anabranch.files.errors import AnabranchError

MANIFEST = "manifest.json"
HASH_CHARACTERS = 12


def run_folder(runs: str | Path, scenario: Scenario) -> Path:
    """Path `RUNS/NAME-HASH`; the hash is of the resolved scenario and the model's version."""
    return Path(runs) / f"{scenario.name}-{scenario.identity[:HASH_CHARACTERS]}"


def read_manifest(folder: str | Path) -> dict[str, Any] | None:
    """Reads the manifest of a run; None if the folder is missing or incomplete."""
    try:
        manifest = json.loads((Path(folder) / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    files = manifest.get("files") if isinstance(manifest, dict) else None

    def is_file(name: object) -> bool:
        return isinstance(name, str) and (Path(folder) / name).is_file()

    return manifest if isinstance(files, (dict, list)) and all(map(is_file, files)) else None


def check_writable(runs: str | Path) -> None:
    """Creates the folder of runs, and checks before a run that results can be written into it.

    Half-written folders that a killed command has left there are removed.

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
