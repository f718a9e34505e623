"""The observed tables of a folder: one JSON file per owner."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from anabranch.deploy.targets.table.plan_file import TablePlan, folder_of
from anabranch.files.errors import AnabranchError

PREFIX = "owner-"


@dataclass(frozen=True)
class Table:
    """One group."""

    prefixes: tuple[str, ...]
    ports: tuple[str, ...]
    """The port of each path, in order."""
    weights: tuple[str, ...]
    recipe: str
    hash: str
    """Name of the hash that makes the key which chooses the entry."""
    seed: int
    entries: tuple[int, ...]
    """Numbers of paths, from 1."""


@dataclass(frozen=True)
class TableState:
    """An owner's part of a folder."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    """Tables by the name of the group."""

    def as_json(self) -> str:
        """The text of an owner's file."""
        return json.dumps({name: asdict(table) for name, table in sorted(self.tables.items())}, indent=1) + "\n"


@dataclass(frozen=True)
class Observed:
    """A folder of tables at one moment."""

    file: Path
    """The owner's file, there or not."""
    state: TableState
    others: Mapping[int, Mapping[str, Table]]
    """Tables of other owners."""


@contextmanager
def observe(plan: TablePlan) -> Iterator[Observed]:
    """The tables of a plan's folder."""
    yield observed_in(folder_of(plan), plan.owner)


def observed_in(folder: Path, owner: int) -> Observed:
    """The tables of a folder; one that is not there has none.

    Raises:
        AnabranchError: a file is no table.

    """
    by_owner = {
        int(file.stem.removeprefix(PREFIX)): _read(file) for file in sorted(folder.glob(f"{PREFIX}[0-9]*.json"))
    }
    own = by_owner.pop(owner, {})
    return Observed(folder / f"{PREFIX}{owner}.json", TableState(own), by_owner)


def _read(file: Path) -> dict[str, Table]:
    try:
        given = json.loads(file.read_text(encoding="utf-8"))
        return {name: _table(table) for name, table in given.items()}
    except (ValueError, RecursionError, TypeError, AttributeError, KeyError) as error:
        raise AnabranchError(f"{file}: no table of anabranch: {error}; remove the file, then apply the plan") from None


def _table(given: Mapping[str, Any]) -> Table:
    kept: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return Table(**kept)
