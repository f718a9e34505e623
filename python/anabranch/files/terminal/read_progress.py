"""Progress of reading the runs of a study: of thousands of them it takes minutes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from anabranch.files.terminal.bar import Bar

Cell = TypeVar("Cell")


def each(cells: Sequence[Cell], name: str, quiet: bool) -> Iterator[Cell]:
    """One after the other, with how many have been read drawn meanwhile."""
    with Bar(f"{name}: tables", len(cells), quiet) as bar:
        for done, cell in enumerate(cells):
            bar.draw(done, f"{done} of {len(cells)} runs read")
            yield cell
