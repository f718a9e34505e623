"""Error against the number of paths, measured in switches, with theory as lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from anabranch.report.plot.style import GRID, INK, figure, line_style

from .accuracy import ALL_SCHEMES, Line

MARKS = "osD^vPX<>"
LABEL_GAP = 0.06
"""Distance between names at the right, as a fraction of the axis' height."""


def draw(lines: Sequence[Line]) -> Figure:
    """Draws a line of theory and marks of measurement per scheme, the band of chance as a bar, the floor below."""
    paths = sorted({line.paths for line in lines})
    with figure(4.2) as (drawn, axes):
        ends = []
        for number, scheme in enumerate(ALL_SCHEMES):
            own = [line for line in lines if line.scheme == scheme]
            # A machine may not have them all; a scheme keeps its colour.
            if not own:
                continue
            style = line_style(number)
            # Side by side, so that equal values do not hide each other.
            x = [line.paths + (number - (len(ALL_SCHEMES) - 1) / 2) * 0.05 for line in own]
            axes.plot(x, [line.expected.mean for line in own], lw=1.1, alpha=0.75, **style)
            axes.vlines(
                x,
                [line.expected.low for line in own],
                [line.expected.high for line in own],
                color=style["color"],
                alpha=0.3,
                lw=4,
            )
            axes.plot(
                x,
                [line.measured_pct for line in own],
                ls="",
                marker=MARKS[number],
                ms=5.5,
                mec="white",
                mew=0.6,
                color=style["color"],
                zorder=4,
            )
            ends.append((own[-1].expected.mean, f"{scheme}: {ALL_SCHEMES[scheme]}", style["color"]))
        floors = [next(line.expected.floor for line in lines if line.paths == count) for count in paths]
        axes.plot(paths, floors, color=INK, lw=1.0, ls=(0, (1, 2)))
        # Between two numbers of paths, where there are no marks.
        between = (paths[-2] + paths[-1]) / 2
        axes.annotate(
            "noise floor",
            (between, float(np.interp(between, paths, floors))),
            xytext=(0, -6),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8.5,
        )
        axes.set_yscale("log")
        axes.set_xlim(paths[0] - 0.3, paths[-1] + 0.3)
        axes.set_xticks(paths)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(axis="y", which="major", color=GRID)
        axes.set_axisbelow(True)
        axes.set_xlabel("paths; marks: measured, lines: theory, bars: where 999 of 1000 experiments lie")
        axes.set_ylabel("MAPE of connections, % (log scale)")
        low, high = axes.get_ylim()
        place = 0.0
        for value, name, colour in sorted(ends):
            natural = _height(value, low, high)
            place = max(natural, place + LABEL_GAP) if place else natural
            axes.annotate(
                name,
                (1.0, place),
                xycoords="axes fraction",
                xytext=(8, 0),
                textcoords="offset points",
                color=colour,
                va="center",
                fontsize=8.5,
                annotation_clip=False,
            )
    return drawn


def _height(value: float, low: float, high: float) -> float:
    """Position of a value on the logarithmic axis, as a fraction."""
    return float((np.log(value) - np.log(low)) / (np.log(high) - np.log(low)))
