"""Record of a full run: its numbers, kept in the study's own folder, from which every verdict is computed anew.

evidence --parts--> studies/PAPER/FIGURE/record/ --parts--> evidence --judge--> lines
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from anabranch._core import MODEL_VERSION, VERSION
from anabranch.files.atomic_folder import written_whole
from anabranch.files.errors import AnabranchError
from anabranch.files.project import is_installed
from anabranch.files.toml_document import read_toml
from anabranch.reproduce.claims.group import FILE, Group

FOLDER = "record"
MANIFEST = "record.json"
MUTATIONS = "mutations.json"
"""File of verdicts under mutations, which a new record leaves as it is."""
UNRELATED = ("quick", "title", "code")
"""Keys of a study's file that do not change what a full run measures: where its code stands does not, either."""
HOW_OFTEN = ("seeds", "more_seeds")
"""Keys of a study's file that say how many cells there are, and change none of them."""
HASH_CHARACTERS = 12
DAMAGED = (KeyError, ValueError, TypeError, OSError, pl.exceptions.PolarsError)
"""What reading a damaged file raises."""


@dataclass(frozen=True)
class Kept:
    """Cells of a record that ran for one before it."""

    cells: int
    of: int
    """Cells of the whole record."""
    checked: int
    """Cells of the record before that ran again, and were the same."""
    date: str
    """Day on which the oldest of them ran."""


@dataclass(frozen=True)
class Record:
    """What a full run has left in `studies/`."""

    folder: Path
    study: str
    """Hash of the study that was run; see `identity`."""
    version: str
    model_version: int
    date: str
    same: Mapping[str, Any] | None = None
    """Spot check that found the same numbers: `model_version`, `cells`, `of`, `date`; see `spot_check`."""
    cells: str = ""
    """Hash of what the study says of each cell, whatever its seeds; empty where an older version made the record."""
    kept: Mapping[str, Any] | None = None
    """The fields of `Kept`; None if all cells have run for this record."""

    def origin(self, *, modelled: bool) -> str:
        """When and by what it was made, in words; of values that the simulator's model does not yield, without it."""
        words = f"recorded {self.date} by anabranch {self.version}"
        if not modelled:
            return words
        if self.kept is not None:
            words += f" ({self.kept['cells']:,} of {self.kept['of']:,} cells ran before, from {self.kept['date']} on)"
        addition = ""
        if self.same is not None and self.same["model_version"] == MODEL_VERSION:
            cells, of = self.same["cells"], self.same["of"]
            which = f"all {of:,} cells" if cells == of else f"{cells:,} of {of:,} cells, drawn by chance,"
            addition = f" ({which} are the same in model {MODEL_VERSION})"
        elif self.model_version != MODEL_VERSION:
            addition = f" (now {MODEL_VERSION}: results may differ)"
        return f"{words}, model {self.model_version}{addition}"

    def document(self, name: str) -> Any:
        """Content of one of its JSON files; within `reading`."""
        return json.loads((self.folder / name).read_bytes())

    def table(self, name: str) -> pl.DataFrame:
        """Content of one of its tables; within `reading`."""
        return pl.read_parquet(io.BytesIO((self.folder / name).read_bytes()))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Whoever reads its files does so in this block: what cannot be read or lacks something is damaged.

        Raises:
            AnabranchError: it is damaged.

        """
        try:
            yield
        except AnabranchError:
            raise
        except DAMAGED as error:
            raise damaged(self.folder, error) from None


def identity(group: Group) -> str:
    """Hash of everything in a study's file that a full run depends on, and of the scenario that it names."""
    return _hash(group, UNRELATED)


def cells_identity(group: Group) -> str:
    """Hash of what a study says of each of its cells: a study with more seeds has the same."""
    return _hash(group, (*UNRELATED, *HOW_OFTEN))


def _hash(group: Group, without: Collection[str]) -> str:
    table = read_toml(group.folder / FILE)
    kept: dict[str, Any] = {key: value for key, value in table.items() if key not in without}
    if isinstance(kept.get("scenario"), str):
        kept["scenario"] = (group.folder / kept["scenario"]).read_text(encoding="utf-8")
    text = json.dumps(kept, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_CHARACTERS]


def refuse_installed(groups: Iterable[Group]) -> None:
    """Refuses, before hours of work, to keep records in an installed package, where an update removes them.

    Raises:
        AnabranchError: a study is one of the installed package.

    """
    for group in groups:
        if is_installed(group.folder):
            raise AnabranchError(
                f"{group.label}: --record: {group.folder} belongs to the installed package; leave --record out, or "
                "record in a checkout of the repository"
            )


def keep(group: Group, parts: Mapping[str, bytes], kept: Kept | None = None) -> Path:
    """Writes a record in place of an older one, of which it has kept some cells or none, and returns its folder.

    Raises:
        AnabranchError: it cannot be written.

    """
    manifest = {
        "study": identity(group),
        "cells": cells_identity(group),
        "version": VERSION,
        "model_version": MODEL_VERSION,
        "date": datetime.date.today().isoformat(),
        **({} if kept is None else {"kept": asdict(kept)}),
    }
    mutations = group.folder / FOLDER / MUTATIONS
    beside = {MUTATIONS: mutations.read_bytes()} if mutations.is_file() else {}
    with written_whole(group.folder / FOLDER) as folder:
        for name, content in {**beside, **parts, MANIFEST: (json.dumps(manifest, indent=1) + "\n").encode()}.items():
            (folder / name).write_bytes(content)
    return group.folder / FOLDER


def recorded(group: Group) -> Record | None:
    """The record of a group; None if there is none.

    Raises:
        AnabranchError: it cannot be read.

    """
    path = group.folder / FOLDER / MANIFEST
    if not path.is_file():
        return None
    try:
        return Record(path.parent, **json.loads(path.read_bytes()))
    except DAMAGED as error:
        raise damaged(path.parent, error) from None


def damaged(folder: Path, error: Exception) -> AnabranchError:
    """What is said of a record that cannot be read."""
    reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    return AnabranchError(
        f"{folder}: damaged record: {reason}; record the study again, or take the folder from the repository"
    )
