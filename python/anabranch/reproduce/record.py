"""Record of a full run: its numbers, kept in the study's own folder, from which every verdict is computed anew.

evidence --parts--> studies/PAPER/FIGURE/record/ --parts--> evidence --judge--> lines
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from anabranch._core import MODEL_VERSION, VERSION
from anabranch.atomic_file import write_whole
from anabranch.errors import AnabranchError
from anabranch.reproduce.group import FILE, Group
from anabranch.toml_document import read_toml

FOLDER = "record"
MANIFEST = "record.json"
UNRELATED = ("quick", "title")
"""Keys of a study's file that do not change what a full run measures."""
HASH_CHARACTERS = 12


@dataclass(frozen=True)
class Record:
    """What a full run has left in `studies/`."""

    folder: Path
    study: str
    """Hash of the study that was run; see `identity`."""
    version: str
    model_version: int
    date: str

    @property
    def origin(self) -> str:
        """When and by what it was made, in words."""
        return f"recorded {self.date} by anabranch {self.version}, model {self.model_version}"

    def part(self, name: str) -> bytes:
        """Content of one of its files.

        Raises:
            AnabranchError: it cannot be read.

        """
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise AnabranchError(f"{self.folder / name}: {error.strerror}; record the study again") from None

    def table(self, name: str) -> pl.DataFrame:
        """Content of one of its tables.

        Raises:
            AnabranchError: it cannot be read.

        """
        try:
            return pl.read_parquet(io.BytesIO(self.part(name)))
        except pl.exceptions.PolarsError as error:
            raise AnabranchError(f"{self.folder / name}: no table: {error}; record the study again") from None


def identity(group: Group) -> str:
    """Hash of everything in a study's file that a full run depends on, and of the scenario that it names."""
    table = read_toml(group.folder / FILE)
    kept: dict[str, Any] = {key: value for key, value in table.items() if key not in UNRELATED}
    if isinstance(kept.get("scenario"), str):
        kept["scenario"] = (group.folder / kept["scenario"]).read_text(encoding="utf-8")
    text = json.dumps(kept, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_CHARACTERS]


def keep(group: Group, parts: Mapping[str, bytes]) -> Path:
    """Writes a record in place of an older one, and returns its folder.

    Raises:
        AnabranchError: it cannot be written.

    """
    folder = group.folder / FOLDER
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in parts:
            old.unlink()
    for name, content in parts.items():
        write_whole(folder / name, content)
    manifest = {
        "study": identity(group),
        "version": VERSION,
        "model_version": MODEL_VERSION,
        "date": datetime.date.today().isoformat(),
    }
    # Last: a record that was cut short has none.
    write_whole(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")
    return folder


def recorded(group: Group) -> Record | None:
    """The record of a group; None if there is none.

    Raises:
        AnabranchError: it cannot be read.

    """
    path = group.folder / FOLDER / MANIFEST
    if not path.is_file():
        return None
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        return Record(path.parent, **manifest)
    except (OSError, ValueError, TypeError) as error:
        raise AnabranchError(f"{path}: no record: {error}; record the study again") from None
