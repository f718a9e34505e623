"""Error against the number of paths, measured in switches, with theory as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from anabranch.report.plot.style import GRID, INK, figure, line_style

MARKS = "osD^vPX<>"
LABEL_GAP = 0.06
"""Distance between names at the right, as a fraction of the axis' height."""


@dataclass(frozen=True)
class Point:
    """Error of one scheme over one number of paths, in percent."""

    paths: int
    scheme: str
    measured: float
    theory: float
    low: float
    """Lower end of the band of chance around `theory`."""
    high: float
    floor: float


def draw(points: Sequence[Point], schemes: Mapping[str, str]) -> Figure:
    """Draws a line of theory and marks of measurement per scheme, the band of chance as a bar, the floor below.

    `schemes` has what each scheme is, in the order of the colours.
    """
    paths = sorted({point.paths for point in points})
    with figure(4.2) as (drawn, axes):
        ends = []
        for number, scheme in enumerate(schemes):
            own = [point for point in points if point.scheme == scheme]
            # A machine may not have them all; a scheme keeps its colour.
            if not own:
                continue
            style = line_style(number)
            # Side by side, so that equal values do not hide each other.
            x = [point.paths + (number - (len(schemes) - 1) / 2) * 0.05 for point in own]
            axes.plot(x, [point.theory for point in own], lw=1.1, alpha=0.75, **style)
            axes.vlines(
                x,
                [point.low for point in own],
                [point.high for point in own],
                color=style["color"],
                alpha=0.3,
                lw=4,
            )
            axes.plot(
                x,
                [point.measured for point in own],
                ls="",
                marker=MARKS[number],
                ms=5.5,
                mec="white",
                mew=0.6,
                color=style["color"],
                zorder=4,
            )
            ends.append((own[-1].theory, f"{scheme}: {schemes[scheme]}", style["color"]))
        floors = [next(point.floor for point in points if point.paths == count) for count in paths]
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
