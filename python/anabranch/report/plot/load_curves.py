"""A statistic against a swept number, with confidence bands over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anabranch.report.plot.series import add_legend
from anabranch.report.plot.sheet import sheet
from anabranch.report.plot.style import FAINT, GRID, leaders, line_style, mark_empty, panels

TICKS_MAX = 8
BANDS_MAX = 3
"""Most bands that can be told apart where they overlap; the intervals of more curves are bars at their points."""


@dataclass(frozen=True)
class Curve:
    """One series: values by x, and half the width of their confidence interval if there is one."""

    label: str
    x: Sequence[float]
    value: Sequence[float | None]
    half_width: Sequence[float | None]


@dataclass(frozen=True)
class Panel:
    """Curves that share axes."""

    title: str
    curves: Sequence[Curve]


def draw(rows: Sequence[Sequence[Panel]], x_label: str, row_labels: Sequence[str], floor: float = 1.0) -> Figure:
    """Draws rows of panels, titles over the first; y axes start at `floor`: slowdowns at 1, that of an empty fabric."""
    columns = max(len(row) for row in rows)
    with panels(len(rows), columns, 0.74 * sheet().panel_inches, 0.6, sharex=True) as (drawn, grid):
        for number, (panels_, axes_row) in enumerate(zip(rows, grid, strict=True)):
            for panel, axes in zip(panels_, axes_row, strict=True):
                _panel(panel, axes, panel.title if number == 0 or len(axes_row) > sheet().across else "", floor)
            for axes in leaders(axes_row):
                axes.set_ylabel(row_labels[number])
        swept = rows[0][0].curves[0].x
        if len(swept) <= TICKS_MAX:
            grid[0][0].set_xticks(swept, [f"{x:g}" for x in swept])
        drawn.supxlabel(x_label, fontsize=sheet().label_points)
        add_legend(drawn, [curve.label for curve in rows[0][0].curves])
    return drawn


def _panel(panel: Panel, axes: Axes, title: str, floor: float) -> None:
    drawn = False
    for index, curve in enumerate(panel.curves):
        known = [at for at, value in enumerate(curve.value) if value is not None]
        x = [curve.x[at] for at in known]
        y = [float(curve.value[at] or 0) for at in known]
        half = [curve.half_width[at] or 0.0 for at in known]
        style = line_style(index)
        low, high = ([v + sign * h for v, h in zip(y, half, strict=True)] for sign in (-1, 1))
        if len(panel.curves) <= BANDS_MAX:
            axes.fill_between(x, low, high, color=style["color"], alpha=0.15, lw=0)
        else:
            axes.vlines(x, low, high, color=style["color"], lw=1.0)
        axes.plot(x, y, lw=1.6, marker="o", ms=3.5, **style)
        drawn = drawn or bool(known)
    axes.set_title(title, fontsize=sheet().title_points, loc="left", color=FAINT)
    axes.tick_params(labelsize=sheet().tick_points)
    if not drawn:
        mark_empty(axes)
        return
    axes.set_ylim(floor, None)
    axes.grid(color=GRID)
    axes.set_axisbelow(True)
