"""Values with their intervals: at their numbers and joined, or by category, series beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from anabranch.report.plot.series import add_legend
from anabranch.report.plot.sheet import sheet
from anabranch.report.plot.style import FAINT, GRID, leaders, line_style, mark_empty, panels
from anabranch.report.plot.ticks import ratio_ticks

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
    floor: float = 1.0,
) -> Figure:
    """Draws rows of panels, titles over the first.

    Args:
        rows: Panels by row.
        positions: Names of the positions on the x axes.
        x_label: Title of the x axes.
        row_labels: Titles of the y axes.
        first_style: Number of the style of the first series: those of a scheme are the same in all figures.
        ratios: Whether values are ratios, whose axes are logarithmic with a line at 1.
        floor: Where other axes begin: slowdowns at 1, that of an empty fabric.

    """
    at = numbers(positions)
    joined = at is not None
    at = at or [float(index) for index in range(len(positions))]
    columns = max(len(row) for row in rows)
    with panels(len(rows), columns, 0.79 * sheet().panel_inches, 0.6, sharex=True) as (drawn, grid):
        for number, (panels_, axes_row) in enumerate(zip(rows, grid, strict=True)):
            for panel, axes in zip(panels_, axes_row, strict=True):
                titled = number == 0 or len(axes_row) > sheet().across
                _panel(panel, axes, panel.title if titled else "", first_style, None if ratios else floor, at, joined)
            for axes in leaders(axes_row):
                axes.set_ylabel(row_labels[number])
        grid[0][0].set_xticks(at, positions)
        room = 0.06 * (max(at) - min(at)) if joined else 0.5
        grid[0][0].set_xlim(min(at) - room, max(at) + room)
        drawn.supxlabel(x_label, fontsize=sheet().label_points)
        labels = [points.label for points in rows[0][0].series]
        add_legend(drawn, labels, first_style=first_style, marks=MARKS)
    return drawn


def numbers(positions: Sequence[str]) -> list[float] | None:
    """Positions as numbers where there are several and all are: loads have a place of their own, categories none."""
    try:
        values = [float(position) for position in positions]
    except ValueError:
        return None
    return values if len(set(values)) > 1 else None


def _panel(
    panel: Panel,
    axes: Axes,
    title: str,
    first_style: int,
    floor: float | None,
    positions: Sequence[float],
    joined: bool,
) -> None:
    """Draws a panel: a value at a number stands there and is joined to the next; at a category it stands beside it.

    Ratios have no floor.
    """
    if floor is None:
        axes.axhline(1.0, color=FAINT, lw=0.9)
        axes.set_yscale("log")
    step = 0.0 if joined else min(STEP_MAX, SPREAD / max(1, len(panel.series)))
    for index, points in enumerate(panel.series):
        colour = line_style(first_style + index)["color"]
        mark = MARKS[(first_style + index) % len(MARKS)]
        shift = (index - (len(panel.series) - 1) / 2) * step
        known = [(at, value) for at, value in zip(positions, points.value, strict=True) if value is not None]
        if joined and known:
            axes.plot(*zip(*known, strict=True), color=colour, lw=0.8, alpha=0.6)
        for number, value in enumerate(points.value):
            if value is None:
                continue
            x = positions[number] + shift
            low, high = points.low[number], points.high[number]
            if low is not None and high is not None:
                axes.plot([x, x], [low, high], color=colour, lw=1.4)
            face = colour if points.filled[number] else "white"
            axes.plot([x], [value], ls="", marker=mark, ms=5, color=colour, mfc=face)
    low, high = axes.get_ylim()
    if floor is not None:
        drawn = any(value is not None for points in panel.series for value in points.value)
        axes.set_ylim(floor, high if high > floor else floor + 0.1)
        if not drawn:
            mark_empty(axes)
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
