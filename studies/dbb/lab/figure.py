"""Goodput of every scheme in every case, lab beside simulator and paper; and what arrived out of order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anabranch.report.plot.style import FAINT, GRID, INK, SERIES_COLOURS, panels
from anabranch.reproduce.backends.lab.cell_table import SIMULATOR

from .cases import DUPLICATES, PAIRS, RACK
from .rows import Line
from .schemes import SCHEMES
from .simulate import PAYLOAD, WIRE

STEP = 0.19
"""Between the schemes of a case, cases being one apart."""
COLOURS = dict(zip((scheme.name for scheme in SCHEMES), SERIES_COLOURS, strict=False))


def draw(lines: Sequence[Line]) -> Figure:
    """Cases from above to below, a panel for each rule of loss, and one for disorder."""
    shown = [line for line in lines if not line.cell.gso and line.cell.scheme in COLOURS]
    cases = list(dict.fromkeys(line.cell.case for line in shown))
    recoveries = [name for name in (RACK.name, DUPLICATES.name) if any(line.cell.recovery == name for line in shown)]
    with panels(1, len(recoveries) + 1, 1.5 + 0.72 * len(cases), sharey=True) as (drawn, grid):
        axes = grid[0]
        for place, recovery in zip(axes, recoveries, strict=False):
            _frame(place, cases, f"goodput, {recovery}", "Mb/s")
            _goodput(place, [line for line in shown if line.cell.recovery == recovery], cases)
        _frame(axes[-1], cases, f"segments too early, {recoveries[0]}", "% of those that arrived, lab")
        _disorder(axes[-1], [line for line in shown if line.cell.recovery == recoveries[0]], cases)
        axes[0].invert_yaxis()
        handles = [Line2D([], [], ls="", marker="s", color=colour, label=name) for name, colour in COLOURS.items()]
        marks = (("o", "lab", INK, INK), ("D", "simulator", "none", INK), ("|", "paper", INK, INK))
        handles += [
            Line2D(
                [], [], ls="", marker=mark, markerfacecolor=fill, color=edge, ms=9 if mark == "|" else 6, label=label
            )
            for mark, label, fill, edge in marks
        ]
        drawn.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=8.5)
    return drawn


def _frame(axes: Axes, cases: Sequence[str], title: str, unit: str) -> None:
    axes.set_title(title, loc="left", fontsize=9.5)
    axes.set_xlabel(unit)
    axes.grid(axis="x", color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    axes.set_yticks(range(len(cases)), cases)
    axes.tick_params(colors=FAINT, labelcolor=INK, length=2)
    for number in range(1, len(cases)):
        axes.axhline(number - 0.5, color=GRID, lw=0.8)


def _height(line: Line, cases: Sequence[str]) -> float:
    return cases.index(line.cell.case) + STEP * (list(COLOURS).index(line.cell.scheme) - (len(COLOURS) - 1) / 2)


def _goodput(axes: Axes, lines: Sequence[Line], cases: Sequence[str]) -> None:
    for line in lines:
        height, colour = _height(line, cases), COLOURS[line.cell.scheme]
        lab, simulated = line.mean("goodput_mbps"), line.mean("goodput_mbps", SIMULATOR)
        axes.plot([0, lab], [height] * 2, "-", color=colour, lw=0.8, alpha=0.4)
        if not math.isnan(simulated):
            axes.plot([simulated], [height], "D", color=colour, markerfacecolor="none", ms=6)
        if line.paper_mbps is not None:
            axes.plot([line.paper_mbps], [height], "|", color=INK, ms=11, mew=1.6)
        axes.plot([lab], [height], "o", color=colour, ms=5)
    if lines:
        most = PAIRS * lines[0].link_bps * PAYLOAD / WIRE / 1e6
        axes.axvline(most, color=FAINT, lw=0.8, ls=(0, (4, 2)))
        axes.set_xlim(0, 1.06 * most)


def _disorder(axes: Axes, lines: Sequence[Line], cases: Sequence[str]) -> None:
    for line in lines:
        height, colour = _height(line, cases), COLOURS[line.cell.scheme]
        value = line.mean("disorder_pct")
        axes.plot([0, value], [height] * 2, "-", color=colour, lw=0.8, alpha=0.4)
        axes.plot([value], [height], "o", color=colour, ms=5)
    axes.set_xlim(left=0)
