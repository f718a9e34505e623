"""Runs as lines of the table: a line each for case, recovery and scheme, beside the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from anabranch.reproduce.backends.lab.cell_table import CellRuns, by_cell

from .cases import PAIRS
from .measure import Row

HASH = "hash"
PAPER_LINK_GBPS = 10.0
"""Links of the paper, to which goodputs are scaled."""
TOLERANCE = 0.05
"""Share of the stage's capacity within which goodputs of lab and simulator agree."""


class Labels(NamedTuple):
    """Labels of a cell."""

    case: str
    recovery: str
    scheme: str
    gso: bool


@dataclass(frozen=True)
class Line(CellRuns[Row]):
    """Results of one scheme in one case; the draws are its repetitions."""

    link_bps: int
    paper_gbps: float | None = None
    """Published goodput; the paper had single packets, and does not try hashing."""

    @property
    def paper_mbps(self) -> float | None:
        """The published goodput as it would be on these links."""
        return None if self.paper_gbps is None else self.paper_gbps * self.link_bps / (PAPER_LINK_GBPS * 1e6)

    def agrees(self, with_mbps: float) -> bool | None:
        """Whether the lab's goodput is within `TOLERANCE` of another; None if there is none, or chance decides.

        Few flows by hash share paths as each of both has drawn them.
        """
        if math.isnan(with_mbps) or self.cell.scheme == HASH:
            return None
        return abs(self.mean("goodput_mbps") - with_mbps) <= TOLERANCE * PAIRS * self.link_bps / 1e6


def lines(rows: Sequence[Row], link_bps: int, published: Mapping[tuple[str, str], float]) -> list[Line]:
    """In the order in which the lab ran them; `published` has goodputs in Gb/s by scheme and case."""
    return [
        Line(
            one.cell,
            one.lab,
            one.simulated,
            link_bps,
            None if one.cell.gso else published.get((one.cell.scheme, one.cell.case)),
        )
        for one in by_cell(rows, lambda row: Labels(row.case, row.recovery, row.scheme, row.gso))
    ]
