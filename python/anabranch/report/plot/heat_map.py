"""Map of ratios: a square for each pair of values, its number in it, no difference in the middle of the colours."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from anabranch.files.units import significant
from anabranch.report.plot.style import INK, figure

COLOURS = LinearSegmentedColormap.from_list("ratios", ("#2563a8", "#f7f7f4", "#d1495b"))
"""Below one, one, above one."""
REACH = 2.0
"""Ratio, and its inverse, from which on the colour is full."""
ROW_INCHES, MARGIN_INCHES = 0.34, 1.1
DARK = 0.75
"""Part of the way to the full colour from which on a number is white."""


def draw(
    ratios: Sequence[Sequence[float | None]],
    x_names: Sequence[str],
    y_names: Sequence[str],
    labels: tuple[str, str],
    doubtful: Sequence[Sequence[bool]] | None = None,
) -> Figure:
    """Draws rows from the top. Numbers of `doubtful` squares stand in brackets; a square without a number is empty."""
    with figure(MARGIN_INCHES + ROW_INCHES * len(y_names)) as (drawn, axes):
        for row, numbers in enumerate(ratios):
            for column, ratio in enumerate(numbers):
                if ratio is None:
                    continue
                direction = max(-1.0, min(1.0, math.log(ratio) / math.log(REACH)))
                colour = COLOURS(0.5 + direction / 2.0)
                corner = (column - 0.5, row - 0.5)
                axes.add_patch(Rectangle(corner, 1.0, 1.0, facecolor=colour, edgecolor="white", lw=1.0))
                text = significant(ratio)
                if doubtful is not None and doubtful[row][column]:
                    text = f"({text})"
                ink = "white" if abs(direction) > DARK else INK
                axes.text(column, row, text, ha="center", va="center", fontsize="small", color=ink)
        axes.set_xlim(-0.5, len(x_names) - 0.5)
        axes.set_ylim(len(y_names) - 0.5, -0.5)
        axes.set_xticks(range(len(x_names)), x_names)
        axes.set_yticks(range(len(y_names)), y_names)
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        axes.tick_params(length=0)
    return drawn
