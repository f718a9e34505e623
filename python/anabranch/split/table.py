"""`anabranch split table`: the table of a group for programs that pick by one of their own, and its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch.files.atomic_file import write_whole
from anabranch.files.errors import AnabranchError
from anabranch.split.change import Change, split_list
from anabranch.split.request import Choice
from anabranch.split.splitter import Splitter


@dataclass(frozen=True)
class Table:
    """Table of a group: hash `h` goes to the path of entry `h % length`, by the low 32 bits of `h`."""

    technique: str
    weights: list[str]
    up: list[bool]
    backends: list[int] | None
    """Reader's number of each path, if given."""
    asked: npt.NDArray[np.float64]
    """Desired share of each path, zero for one that is down; shape (paths,)."""
    paths: npt.NDArray[np.uint16]
    """Path (index from 0) of each entry; shape (length,)."""
    before: npt.NDArray[np.uint16] | None
    """The same before the change, from the state file; None if the file is new."""

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Entries of each path; shape (paths,)."""
        return np.bincount(self.paths, minlength=self.asked.size)

    @property
    def moved(self) -> int | None:
        """Number of entries on another path than before; None without a state."""
        return None if self.before is None else int(np.count_nonzero(self.before != self.paths))

    @property
    def minimum(self) -> int | None:
        """Fewest entries that had to move between tables of these counts; None without a state."""
        if self.before is None:
            return None
        return int(np.maximum(self.counts - np.bincount(self.before, minlength=self.asked.size), 0).sum())

    def record(self) -> dict[str, Any]:
        """The table as plain data."""
        return {
            "technique": self.technique,
            "length": self.paths.size,
            "moved": self.moved,
            "minimum": self.minimum,
            "paths": [
                {
                    "path": path + 1,
                    "backend": None if self.backends is None else self.backends[path],
                    "weight": self.weights[path],
                    "up": self.up[path],
                    "asked": float(self.asked[path]),
                    "slots": int(self.counts[path]),
                }
                for path in range(self.asked.size)
            ],
            "table": (self.paths + 1).tolist(),
        }


def plan_table(
    weights: tuple[str, ...],
    choice: Choice,
    *,
    fail: Sequence[str] = (),
    backends: str | None = None,
    state: str | None = None,
) -> tuple[Table, Splitter]:
    """Plans the table of a group, from the state of the one before if there is one.

    Args:
        weights: one per path.
        choice: technique with its parameters.
        fail: numbers, from 1, of the paths that are down.
        backends: the reader's number of each path, as in `11,12,13`.
        state: file of the state before; one that does not exist begins a history.

    Raises:
        AnabranchError: what the technique refuses, one without a table, or a file that is no state of this group.

    """
    down = {Change("fail", text).path(len(weights)) - 1 for text in fail}
    up = [path not in down for path in range(len(weights))]
    numbers = None if backends is None else _backends(backends, len(weights))
    splitter = None if state is None else _recalled(state, choice)
    before = None if splitter is None else splitter.table()
    if splitter is None:
        splitter = choice.splitter(weights)
    try:
        splitter.update(list(weights), up)
    except AnabranchError as error:
        raise AnabranchError(f"weights: {','.join(weights)}: {error}") from None
    paths = splitter.table()
    if paths is None:
        raise AnabranchError(f"technique: {choice.label}: picks by no table; give min-move, or another that has one")
    return Table(choice.label, list(weights), up, numbers, splitter.asked(), paths, before), splitter


def write_state(state: str, splitter: Splitter) -> None:
    """Writes the state from which the next table is made; before the table, so that the command can be repeated."""
    write_whole(state, splitter.snapshot())


def _recalled(state: str, choice: Choice) -> Splitter | None:
    """The group that left a state; None if there is no such file."""
    try:
        snapshot = Path(state).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AnabranchError(
            f"{state}: cannot be read: {error.strerror}; give the file of an earlier --state"
        ) from None
    splitter = choice.splitter(("1",))
    try:
        splitter.adopt(snapshot)
    except AnabranchError as error:
        raise AnabranchError(f"{state}: {error}") from None
    return splitter


def _backends(text: str, paths: int) -> list[int]:
    items = split_list(text)
    numbers = [int(item) for item in items if item.isdecimal() and 0 < int(item) < 2**32]
    if len(numbers) < len(items):
        raise AnabranchError(f"backends: {text}: not all are numbers from 1 to {2**32 - 1}; 0 is no backend in a table")
    if len(numbers) != paths:
        raise AnabranchError(f"backends: {text}: {len(numbers)} for {paths} paths; give each path one")
    return numbers
