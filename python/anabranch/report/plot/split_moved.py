"""Disruption: connections that a change moves, against the fewest that it must."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from anabranch.files.units import ratio
from anabranch.report.plot.style import ACCENT, FAINT, FLOOR, GRID, figure
from anabranch.split.effect import Moved
from anabranch.split.job import Result


def draw(result: Result, change: int) -> Figure:
    """Draws a bar per technique for change number `change`, in percent of all connections, most first."""
    rows = [outcome for outcome in result.techniques if outcome.changes[change].moved is not None]
    rows.sort(key=lambda outcome: outcome.changes[change].moved or 0)
    total = len(result.trace)
    moved = np.array([100 * (outcome.changes[change].moved or 0) / total for outcome in rows])
    least = np.array([100 * outcome.changes[change].minimum / total for outcome in rows])
    with figure(1.0 + 0.25 * len(rows)) as (drawn, axes):
        at = np.arange(len(rows))
        axes.barh(at, moved, height=0.6, color=ACCENT, alpha=0.85)
        axes.plot(least, at, ls="", marker="|", ms=14, mew=2.4, color=FLOOR)
        for y, outcome in zip(at, rows, strict=True):
            axes.annotate(
                _note(outcome.changes[change]),
                (max(moved[y], least[y]), y),
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color=FAINT,
            )
        axes.set_yticks(at, [outcome.label for outcome in rows])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_ylim(-0.7, len(rows) - 0.3)
        axes.set_xlim(0, max(moved.max(initial=0), least.max(initial=0)) * 1.1 + 0.1)
        axes.grid(axis="x", color=GRID)
        axes.set_axisbelow(True)
        axes.set_xlabel("connections moved, % of all; the stroke is the fewest that have to")
    return drawn


def _note(moved: Moved) -> str:
    if moved.moved is None or moved.minimum == 0:
        return ""
    return "0" if moved.moved == 0 else ratio(moved.moved / moved.minimum)
