"""Values with their intervals by category or number, series beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from anabranch.plot.series import add_legend
from anabranch.plot.sheet import sheet
from anabranch.plot.style import FAINT, GRID, leaders, line_style, panels
from anabranch.plot.ticks import ratio_ticks

SPREAD = 0.7
"""Most of the distance between two positions that the series take up."""
STEP_MAX = 0.08
"""Largest distance between series: further apart they would look like values at other positions."""
NARROW = 4.0
"""Range of ratios below which decades have too few ticks."""
MARKS = ("o", "s", "D", "^", "v", "P", "X", "*")


@dataclass(frozen=True)
class Points:
    """One series: a value per position, the ends of its interval, and whether its mark is filled."""

    label: str
    value: Sequence[float | None]
    low: Sequence[float | None]
    high: Sequence[float | None]
    filled: Sequence[bool]


@dataclass(frozen=True)
class Panel:
    """Series that share axes."""

    title: str
    series: Sequence[Points]


def draw(
    rows: Sequence[Sequence[Panel]],
    positions: Sequence[str],
    x_label: str,
    row_labels: Sequence[str],
    first_style: int = 0,
    ratios: bool = False,
) -> Figure:
    """Draws rows of panels, titles over the first.

    Args:
        rows: Panels by row.
        positions: Names of the positions on the x axes.
        x_label: Title of the x axes.
        row_labels: Titles of the y axes.
        first_style: Number of the style of the first series: those of a scheme are the same in all figures.
        ratios: Whether values are ratios, whose axes are logarithmic with a line at 1; otherwise axes begin at 1, the
            slowdown of an empty fabric, and points of a series are joined.

    """
    columns = max(len(row) for row in rows)
    with panels(len(rows), columns, 0.79 * sheet().panel_inches, 0.6, sharex=True) as (drawn, grid):
        for number, (panels_, axes_row) in enumerate(zip(rows, grid, strict=True)):
            for panel, axes in zip(panels_, axes_row, strict=True):
                titled = number == 0 or len(axes_row) > sheet().across
                _panel(panel, axes, panel.title if titled else "", first_style, ratios)
            for axes in leaders(axes_row):
                axes.set_ylabel(row_labels[number])
        grid[0][0].set_xticks(range(len(positions)), positions)
        grid[0][0].set_xlim(-0.5, len(positions) - 0.5)
        drawn.supxlabel(x_label, fontsize=sheet().label_points)
        labels = [points.label for points in rows[0][0].series]
        add_legend(drawn, labels, first_style=first_style, marks=MARKS)
    return drawn


def _panel(panel: Panel, axes: Axes, title: str, first_style: int, ratios: bool) -> None:
    if ratios:
        axes.axhline(1.0, color=FAINT, lw=0.9)
        axes.set_yscale("log")
    step = min(STEP_MAX, SPREAD / max(1, len(panel.series)))
    for index, points in enumerate(panel.series):
        colour = line_style(first_style + index)["color"]
        mark = MARKS[(first_style + index) % len(MARKS)]
        shift = (index - (len(panel.series) - 1) / 2) * step
        known = [(at + shift, value) for at, value in enumerate(points.value) if value is not None]
        if not ratios:
            axes.plot(*zip(*known, strict=True), color=colour, lw=0.8, alpha=0.6)
        for at, value in enumerate(points.value):
            if value is None:
                continue
            x = at + shift
            low, high = points.low[at], points.high[at]
            if low is not None and high is not None:
                axes.plot([x, x], [low, high], color=colour, lw=1.4)
            face = colour if points.filled[at] else "white"
            axes.plot([x], [value], ls="", marker=mark, ms=5, color=colour, mfc=face)
    low, high = axes.get_ylim()
    if not ratios:
        axes.set_ylim(1.0, None)
    elif high < NARROW * low:
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        ratio_ticks(axes.yaxis)
    axes.set_title(title, fontsize=sheet().title_points, loc="left", color=FAINT)
    axes.tick_params(labelsize=sheet().tick_points)
    axes.grid(axis="y", color=GRID)
    axes.set_axisbelow(True)
