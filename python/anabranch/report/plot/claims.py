"""Claims beside our results: a row each, the published range as a bar, ours as a dot with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from anabranch.report.plot.style import ACCENT, FAINT, GRID, INK, figure

ROW_INCHES, MARGIN_INCHES = 0.24, 0.9
OPEN_END = 0.02
"""Length of a bar for a published value without a range, as a part of the axis."""


@dataclass(frozen=True)
class Compared:
    """One row."""

    label: str
    paper_low: float | None
    paper_high: float | None
    value: float
    low: float | None
    high: float | None


def draw(rows: Sequence[Compared], x_label: str, neutral: float | None) -> Figure:
    """Draws rows from top to bottom; a line at the value that means no difference. Open ends reach the edge."""
    ends = [end for row in rows for end in (row.paper_low, row.paper_high, row.value) if end is not None]
    ends += [neutral] if neutral is not None else []
    span = (max(ends) - min(ends)) or 1.0
    left, right = min(ends) - 0.05 * span, max(ends) + 0.05 * span
    with figure(MARGIN_INCHES + ROW_INCHES * len(rows)) as (drawn, axes):
        if neutral is not None:
            axes.axvline(neutral, color=FAINT, lw=0.8, ls=(0, (4, 2)))
        for place, row in enumerate(rows):
            if row.paper_low is not None or row.paper_high is not None:
                start = left if row.paper_low is None else row.paper_low
                end = right if row.paper_high is None else row.paper_high
                half = max(0.0, OPEN_END * span - (end - start)) / 2
                axes.barh(
                    place, end - start + 2 * half, left=start - half, height=0.62, color=GRID, edgecolor=FAINT, lw=0.6
                )
            if row.low is not None and row.high is not None:
                axes.plot([row.low, row.high], [place, place], color=ACCENT, lw=1.1)
            axes.plot(row.value, place, marker="o", ms=4.5, color=ACCENT)
        axes.set_yticks(range(len(rows)), [row.label for row in rows], fontsize=8, color=INK)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(left, right)
        axes.set_xlabel(x_label)
        axes.grid(color=GRID, axis="x")
        axes.set_axisbelow(True)
    return drawn
