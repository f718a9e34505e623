"""FCT or slowdown by size class: mean and quantiles of each series on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anabranch.report.plot.series import Series, put_legend
from anabranch.report.plot.sheet import sheet
from anabranch.report.plot.style import FAINT, GRID, SERIES_COLOURS, panels
from anabranch.report.plot.ticks import ratio_ticks, time_ticks
from anabranch.simulate.stats.fct import QUANTILES, STATISTICS, by_class
from anabranch.simulate.stats.size_classes import SizeClass

MARKS = {"mean": "|", "p50": "o", "p95": "s", "p99": "D", "p99.9": "^"}
LABELS = {"fct_ns": "FCT", "slowdown": "slowdown"}


def draw(series: Sequence[Series], classes: Sequence[SizeClass], measure: str) -> Figure:
    """Draws a panel per size class and a row per series, the first on top; for one series, a row per class.

    `measure` is `fct_ns` or `slowdown`.
    """
    tables = [{row["size_class"]: row for row in by_class(one.flows, classes).iter_rows(named=True)} for one in series]
    shown = [one.label for one in classes if any(table[one.label][f"{measure}_mean"] is not None for table in tables)]
    if len(series) == 1:
        grid = {"": [(label, tables[0][label]) for label in shown]}
    else:
        grid = {
            label: [(one.label, table[label]) for one, table in zip(series, tables, strict=True)] for label in shown
        }
    rows = max((len(row) for row in grid.values()), default=1)
    share_x = "all" if measure == "slowdown" else "none"
    with panels(1, max(1, len(grid)), 0.45 + 0.26 * rows, 0.9, sharey=True, sharex=share_x) as (drawn, ((*line,),)):
        for axes, (title, ranges) in zip(line, grid.items(), strict=False):
            for y, (_, row) in enumerate(ranges):
                colour = SERIES_COLOURS[0 if len(series) == 1 else y % len(SERIES_COLOURS)]
                _range(axes, y, {name: row[f"{measure}_{name}"] for name in STATISTICS}, colour)
            axes.set_xscale("log")
            axes.set_title(title, fontsize=sheet().title_points, loc="left", color=FAINT)
            axes.grid(axis="x", color=GRID)
            axes.set_axisbelow(True)
            axes.tick_params(axis="y", length=0, labelsize=sheet().label_points)
            axes.spines["left"].set_visible(False)
            (ratio_ticks if measure == "slowdown" else time_ticks)(axes.xaxis)
            axes.tick_params(axis="x", labelsize=sheet().tick_points)
        line[0].set_yticks(np.arange(rows), [label for label, _ in next(iter(grid.values()), [("", {})])])
        line[0].set_ylim(rows - 0.4, -0.6)
        drawn.supxlabel(f"{LABELS[measure]} (log scale)", fontsize=sheet().label_points)
        handles = [
            Line2D([], [], ls="", marker=mark, mew=1.6 if name == "mean" else 0.8, color=FAINT, label=name)
            for name, mark in MARKS.items()
        ]
        put_legend(drawn, handles)
    return drawn


def _range(axes: Axes, y: int, values: Mapping[str, float | None], colour: str) -> None:
    """Draws a line from the least to the greatest quantile that is known, and a mark for each statistic."""
    levels = [value for name in QUANTILES if (value := values[name]) is not None]
    if levels:
        axes.plot([min(levels), max(levels)], [y, y], color=colour, lw=1, alpha=0.5)
    for name, mark in MARKS.items():
        value = values[name]
        if value is not None:
            size, edge = (11.0, 1.6) if name == "mean" else (4.5, 0.8)
            axes.plot([value], [y], ls="", marker=mark, ms=size, mew=edge, color=colour, zorder=3)
