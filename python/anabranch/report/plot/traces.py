"""Queues, congestion windows and rates of flows over time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from anabranch.report.plot.sheet import sheet
from anabranch.report.plot.style import ACCENT, FAINT, GRID, panels

POINTS_MAX = 1500
TRACES_MAX = 8


def draw(
    traces: Mapping[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]], unit: str, scale: float
) -> Figure:
    """Draws a row per trace: its name, times in nanoseconds and values; at most `TRACES_MAX` of them.

    `unit` is the unit of the axis, of which `scale` is the size in that of the values.

    Longer traces are drawn as the range between smallest and largest value in each step of time, so that no peak is
    lost.
    """
    shown = list(traces.items())[:TRACES_MAX]
    with panels(len(shown), 1, 1.15, 0.6, sharex=True) as (drawn, rows):
        for (name, (at_ns, value)), (axes,) in zip(shown, rows, strict=True):
            times, low, high = spans(at_ns / 1e6, value / scale, POINTS_MAX)
            axes.fill_between(times, low, high, step="post", color=ACCENT, alpha=0.45, lw=0)
            axes.step(times, high, where="post", color=ACCENT, lw=0.9)
            axes.set_title(name, fontsize=sheet().title_points, loc="left", color=FAINT)
            axes.set_ylim(0)
            axes.grid(color=GRID)
            axes.set_axisbelow(True)
            axes.tick_params(labelsize=sheet().tick_points)
            axes.margins(x=0)
        rows[-1][0].set_xlabel("simulated time, ms")
        drawn.supylabel(unit, fontsize=sheet().label_points)
    return drawn


def spans(
    times: npt.NDArray[np.float64], values: npt.NDArray[np.float64], points_max: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Starts of at most `points_max` steps with equally many values, and the smallest and largest value of each."""
    if len(values) <= points_max:
        return times, values, values
    starts = np.linspace(0, len(values), points_max, endpoint=False).astype(np.int64)
    return times[starts], np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
