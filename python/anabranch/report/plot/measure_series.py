"""A measured quantity along an axis: curves over numbers, bars over names, rows over many names."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from anabranch.report.plot.load_curves import Curve
from anabranch.report.plot.series import add_legend
from anabranch.report.plot.style import GRID, figure, line_style

HEIGHT_INCHES = 3.2
TICKS_MAX = 10
BARS_MAX = 12
"""Largest number of names beside each other; more are drawn in rows, from the least to the greatest value."""
NAMES_CHARACTERS = 100
"""Characters of all names beside each other; longer ones are wrapped."""
ROW_INCHES = 0.19
BAR_GROUP = 0.8
"""Fraction of a name's room that its bars fill."""


def draw(curves: Sequence[Curve], names: Sequence[str] | None, x_label: str, y_label: str, series: str = "") -> Figure:
    """Draws one panel from zero; `names` of the positions if x counts names. Whiskers and bands are 95 % intervals.

    `series` says what the curves differ in.
    """
    if names is not None and len(names) > BARS_MAX:
        return _rows(curves, names, y_label)
    with figure(HEIGHT_INCHES) as (drawn, axes):
        if names is None:
            _lines(curves, axes)
        else:
            _bars(curves, names, axes)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_ylim(0.0, None)
        axes.grid(color=GRID, axis="both" if names is None else "y")
        axes.set_axisbelow(True)
        add_legend(drawn, [curve.label for curve in curves], series, bars=names is not None)
    return drawn


def _lines(curves: Sequence[Curve], axes: Axes) -> None:
    for index, curve in enumerate(curves):
        known = [at for at, value in enumerate(curve.value) if value is not None]
        x = [curve.x[at] for at in known]
        y = [float(curve.value[at] or 0) for at in known]
        half = [curve.half_width[at] or 0.0 for at in known]
        style = line_style(index)
        low, high = ([max(0.0, v + sign * h) for v, h in zip(y, half, strict=True)] for sign in (-1, 1))
        axes.fill_between(x, low, high, color=style["color"], alpha=0.15, lw=0)
        axes.plot(x, y, lw=1.6, marker="o", ms=3.5, label=curve.label, **style)
    swept = sorted({x for curve in curves for x in curve.x})
    if len(swept) <= TICKS_MAX:
        axes.set_xticks(swept, [f"{x:g}" for x in swept])


def _bars(curves: Sequence[Curve], names: Sequence[str], axes: Axes) -> None:
    width = BAR_GROUP / max(1, len(curves))
    for index, curve in enumerate(curves):
        known = [at for at, value in enumerate(curve.value) if value is not None]
        places = [curve.x[at] + (index - (len(curves) - 1) / 2) * width for at in known]
        heights = [float(curve.value[at] or 0) for at in known]
        half = [curve.half_width[at] or 0.0 for at in known]
        style = line_style(index)
        axes.bar(places, heights, width, yerr=half, color=style["color"], label=curve.label, error_kw={"lw": 0.8})
    characters = max(8, NAMES_CHARACTERS // len(names))
    axes.set_xticks(range(len(names)), [fill(name, characters, break_long_words=False) for name in names])


def _rows(curves: Sequence[Curve], names: Sequence[str], label: str) -> Figure:
    first = [curves[0].value[at] for at in range(len(names))]
    order = sorted(range(len(names)), key=lambda at: (first[at] is None, first[at] or 0.0))
    row_of = {at: len(order) - 1 - row for row, at in enumerate(order)}
    with figure(ROW_INCHES * len(names) + 0.8) as (drawn, axes):
        for index, curve in enumerate(curves):
            known = [at for at, value in enumerate(curve.value) if value is not None]
            axes.errorbar(
                [float(curve.value[at] or 0) for at in known],
                [row_of[at] for at in known],
                xerr=[curve.half_width[at] or 0.0 for at in known],
                fmt="o",
                ms=3.5,
                lw=1.0,
                color=line_style(index)["color"],
                label=curve.label,
            )
        axes.set_yticks([row_of[at] for at in range(len(names))], names, fontsize="small")
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.set_xlim(0.0, None)
        axes.set_xlabel(label)
        axes.grid(color=GRID, axis="both")
        axes.set_axisbelow(True)
        add_legend(drawn, [curve.label for curve in curves])
    return drawn
