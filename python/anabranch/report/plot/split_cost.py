"""Cost of a decision against its expected error."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anabranch.report.plot.labels import name_points
from anabranch.report.plot.style import FLOOR, GRANULARITY_COLOURS, GRANULARITY_MARKS, GRID, figure
from anabranch.split.job import Outcome, Result

LEAST_SHOWN_PCT = 0.001

DECIDES = {"stateless": "by the key alone", "flow": "once per connection", "packet": "shown every packet"}


def draw(result: Result) -> Figure:
    """Draws a named point per technique; both axes are logarithmic, left and low is better."""
    outcomes = result.techniques
    x = np.array([outcome.ns_per_decision for outcome in outcomes])
    y = np.array([max(_error(outcome), LEAST_SHOWN_PCT) for outcome in outcomes])
    floor_pct = max(result.floor_pct, LEAST_SHOWN_PCT)
    with figure(5.6) as (drawn, axes):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.axhline(floor_pct, color=FLOOR, lw=1.4, zorder=1)
        handles = []
        for granularity, mark in GRANULARITY_MARKS.items():
            chosen = [index for index, outcome in enumerate(outcomes) if outcome.granularity == granularity]
            if chosen:
                colour = GRANULARITY_COLOURS[granularity]
                axes.plot(x[chosen], y[chosen], ls="", marker=mark, ms=6, color=colour, zorder=3)
                handles.append(Line2D([], [], ls="", marker=mark, color=colour, label=DECIDES[granularity]))
        axes.set_xlim(x.min() / 2, x.max() * 3)
        axes.set_ylim(min(y.min(), floor_pct) / 5, y.max() * 2.5)
        axes.grid(which="major", color=GRID)
        axes.set_axisbelow(True)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("cost of one decision, ns (log scale)")
        axes.set_ylabel("expected MAPE of connections, % (log scale)")
        axes.annotate(
            "noise floor",
            (1.0, floor_pct),
            xycoords=("axes fraction", "data"),
            xytext=(-2, 3),
            textcoords="offset points",
            ha="right",
            color=FLOOR,
            fontsize=8.5,
        )
        drawn.legend(handles=handles, loc="outside upper left", ncols=3, frameon=False, fontsize=8.5)
        name_points(drawn, axes, x, y, [outcome.label for outcome in outcomes], floor_pct)
    return drawn


def _error(outcome: Outcome) -> float:
    """Expected error if the plan determines it, measured error if it depends on arrivals."""
    return outcome.mape_pct if outcome.expected_pct is None else outcome.expected_pct
