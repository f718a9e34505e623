"""Rows of runs as lines of the table: a line each for case, recovery and scheme, means over draws."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean

from .cases import PAIRS
from .measure import LAB, SIMULATOR, Row

HASH = "hash"
PAPER_LINK_GBPS = 10.0
"""Links of the paper, to which goodputs are scaled."""
TOLERANCE = 0.05
"""Share of the stage's capacity within which goodputs of lab and simulator agree."""


@dataclass(frozen=True)
class Line:
    """Results of one scheme in one case."""

    case: str
    recovery: str
    scheme: str
    gso: bool
    link_bps: int
    lab: tuple[Row, ...]
    """Draws."""
    simulated: tuple[Row, ...]
    paper_gbps: float | None = None
    """Published goodput; the paper had single packets, and does not try hashing."""

    @property
    def paper_mbps(self) -> float | None:
        """The published goodput as it would be on these links."""
        return None if self.paper_gbps is None else self.paper_gbps * self.link_bps / (PAPER_LINK_GBPS * 1e6)

    def of_lab(self, name: str) -> float:
        """A figure, the mean over draws; not a number if there is none."""
        return mean(getattr(row, name) for row in self.lab)

    def of_simulator(self, name: str) -> float:
        """The same of the simulator."""
        return mean(getattr(row, name) for row in self.simulated)

    def agrees(self, with_mbps: float | None) -> bool | None:
        """Whether the lab's goodput is within `TOLERANCE` of another; None if there is none, or chance decides.

        Few flows by hash share paths as each of both has drawn them.
        """
        if with_mbps is None or math.isnan(with_mbps) or self.scheme == HASH:
            return None
        return abs(self.of_lab("goodput_mbps") - with_mbps) <= TOLERANCE * PAIRS * self.link_bps / 1e6


def mean(values: Iterable[float]) -> float:
    """Over those that are numbers."""
    found = [value for value in values if not math.isnan(value)]
    return fmean(found) if found else math.nan


def lines(rows: Sequence[Row], link_bps: int, published: Mapping[tuple[str, str], float]) -> list[Line]:
    """In the order in which the lab ran them; `published` has goodputs in Gb/s by scheme and case."""

    def key(row: Row) -> tuple[str, str, str, bool]:
        return row.case, row.recovery, row.scheme, row.gso

    def found(where: str, wanted: tuple[str, str, str, bool]) -> tuple[Row, ...]:
        return tuple(row for row in rows if row.where == where and key(row) == wanted)

    wanted = dict.fromkeys(key(row) for row in rows if row.where == LAB)
    return [
        Line(*of, link_bps, found(LAB, of), found(SIMULATOR, of), None if of[3] else published.get((of[2], of[0])))
        for of in wanted
    ]


def as_csv(rows: Sequence[Row]) -> str:
    """One line per run."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()


def select(found: Sequence[Line], wanted: Callable[[Line], bool]) -> list[Line]:
    """Lines of a kind."""
    return [line for line in found if wanted(line)]
