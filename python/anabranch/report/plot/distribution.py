"""Cumulative distributions of FCT or slowdown, a panel per size class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.figure import Figure

from anabranch.report.plot.class_ranges import LABELS
from anabranch.report.plot.series import Series, add_legend
from anabranch.report.plot.sheet import sheet
from anabranch.report.plot.style import FAINT, GRID, leaders, line_style, panels
from anabranch.report.plot.ticks import ratio_ticks, time_ticks
from anabranch.simulate.stats.lazily import numbers
from anabranch.simulate.stats.size_classes import SizeClass
from anabranch.simulate.stats.window import counts

POINTS_MAX = 400
"""Largest number of points of a curve: more than pixels show would only enlarge the page."""


def draw(series: Sequence[Series], classes: Sequence[SizeClass], measure: str) -> Figure:
    """Draws the fraction of finished flows up to each value; `measure` is `fct_ns` or `slowdown`."""
    curves = {one: [_curve(line.flows, one, measure) for line in series] for one in classes}
    shown = [one for one in classes if any(len(values) for values, _ in curves[one])]
    with panels(1, max(1, len(shown)), sheet().panel_inches, sharey=True) as (drawn, ((*row,),)):
        for axes, one in zip(row, shown, strict=False):
            for index, (values, fraction) in enumerate(curves[one]):
                if len(values):
                    axes.plot(values, fraction, lw=1.5, drawstyle="steps-post", **line_style(index))
            axes.set_xscale("log")
            (ratio_ticks if measure == "slowdown" else time_ticks)(axes.xaxis)
            axes.set_title(one.label, fontsize=sheet().title_points, loc="left", color=FAINT)
            axes.grid(color=GRID)
            axes.set_axisbelow(True)
            axes.tick_params(labelsize=sheet().tick_points)
        row[0].set_ylim(0, 1.005)
        for axes in leaders(row):
            axes.set_ylabel("fraction of flows")
        drawn.supxlabel(f"{LABELS[measure]} (log scale)", fontsize=sheet().label_points)
        add_legend(drawn, [one.label for one in series])
    return drawn


def _curve(
    flows: pl.DataFrame | pl.LazyFrame, one: SizeClass, measure: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Values of the points of a curve, and the fractions of finished flows of the class up to them."""
    values = numbers(flows, pl.col(measure), one.holds() & counts(flows) & pl.col("finished"))
    if not len(values):
        return values, values
    values.sort()
    picked = _picked(len(values))
    return values[picked], (picked + 1) / len(values)


def _picked(n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Indexes at equal distances, closer towards the tail, both ends included."""
    if n <= POINTS_MAX:
        return np.arange(n)
    body = np.linspace(0, n - 1, POINTS_MAX // 2)
    tail = n - np.geomspace(1, n, POINTS_MAX // 2)
    return np.unique(np.concatenate([body, tail]).round().astype(np.int64))
