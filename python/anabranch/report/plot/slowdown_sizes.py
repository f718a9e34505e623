"""Slowdown against flow size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from anabranch.report.plot.series import Series, add_legend
from anabranch.report.plot.sheet import sheet
from anabranch.report.plot.style import FAINT, GRID, leaders, line_style, panels
from anabranch.report.plot.ticks import ratio_ticks, size_ticks
from anabranch.simulate.stats.fct import QUANTILES, by_size

SHOWN = ("p50", "p95", "p99")
FLOWS_PER_BIN = 100
"""Number of flows that a 99th percentile needs."""


def draw(series: Sequence[Series]) -> Figure:
    """Draws a panel per quantile that the flows can show; points stand for equally many, at their median size."""
    curves = [by_size(one.flows, [QUANTILES[name] for name in SHOWN], FLOWS_PER_BIN) for one in series]
    shown = [number for number in range(len(SHOWN)) if any(np.isfinite(values[number]).any() for _, values in curves)]
    with panels(1, len(shown), sheet().panel_inches, sharey=True, sharex=True) as (drawn, ((*row,),)):
        for axes, number in zip(row, shown, strict=True):
            for index, (sizes, values) in enumerate(curves):
                axes.plot(sizes, values[number], lw=1.5, marker="o", ms=2.5, **line_style(index))
            axes.set_xscale("log")
            axes.set_yscale("log")
            size_ticks(axes.xaxis)
            ratio_ticks(axes.yaxis)
            axes.set_title(SHOWN[number], fontsize=sheet().title_points, loc="left", color=FAINT)
            axes.grid(color=GRID)
            axes.set_axisbelow(True)
            axes.tick_params(labelsize=sheet().tick_points)
        for axes in leaders(row):
            axes.set_ylabel("slowdown (log scale)")
        drawn.supxlabel("flow size (log scale)", fontsize=sheet().label_points)
        add_legend(drawn, [one.label for one in series])
    return drawn
