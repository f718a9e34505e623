"""Series that one figure compares: a name and the flows behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anabranch.plot.style import line_style

LEGEND_COLUMNS = 4


@dataclass(frozen=True)
class Series:
    """Flows of one run, or of one point of a study over all seeds."""

    label: str
    flows: pl.DataFrame


def add_legend(drawn: Figure, labels: Sequence[str]) -> None:
    """Names the series above the axes, if there is more than one."""
    if len(labels) < 2:
        return
    handles = [Line2D([], [], lw=1.8, label=label, **line_style(index)) for index, label in enumerate(labels)]
    drawn.legend(
        handles=handles,
        loc="outside upper left",
        ncols=min(LEGEND_COLUMNS, len(labels)),
        frameon=False,
        fontsize=8.5,
        handlelength=2.6,
    )
