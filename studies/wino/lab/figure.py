"""The mean FCT of each scheme at each load: the lab's beside the simulator's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anabranch.report.plot.style import FAINT, GRID, INK, SERIES_COLOURS, panels
from anabranch.reproduce.backends.lab.cell_table import LAB, SIMULATOR, CellRuns

from .measure import Row
from .table import points

DECADES = 5
WIDE = 50
"""A range of times, as a ratio, over which labels at 1, 2 and 5 would touch."""
TITLE_INCHES, SCHEME_INCHES = 0.5, 0.24
"""Height of a panel: its title, and each scheme."""
MARKS = {LAB: "o", SIMULATOR: "D"}


def draw(rows: Sequence[Row]) -> Figure:
    """A line of panels per fabric and workload, a column per load; repetitions are strokes.

    A line has the schemes that were run there, from above to below.
    """
    shown = points(rows)
    cases = list(dict.fromkeys(point[:2] for point in shown))
    loads = sorted({load for _, _, load in shown})
    times = [row.afct_ms for row in rows if row.afct_ms > 0]
    least, most = min(times, default=1.0), max(times, default=1.0)
    digits = (1, 3) if most / least > WIDE else (1, 2, 5)
    ticks = [digit * 10**power for power in range(DECADES) for digit in digits]
    ticks = [tick for tick in ticks if least / 1.3 <= tick <= most * 1.3]
    most_schemes = [max(len(some) for point, some in shown.items() if point[:2] == case) for case in cases]
    inches = [TITLE_INCHES + SCHEME_INCHES * number for number in most_schemes]
    with panels(len(cases), len(loads), sum(inches) / len(cases), 0.7, sharey="row", sharex=True) as (drawn, grid):
        for case, line in zip(cases, grid, strict=True):
            for axes, load in zip(line, loads, strict=True):
                some = shown.get((*case, load))
                if some is None:
                    axes.set_visible(False)
                    continue
                axes.set_title(f"{case[1]}, {case[0]}, load {load:g}", loc="left", fontsize=9.5)
                axes.set_xscale("log")
                axes.grid(axis="x", color=GRID, lw=0.8)
                axes.set_axisbelow(True)
                for height, runs in enumerate(some):
                    _draw_scheme(axes, runs, height, least / 2)
                axes.set_yticks(range(len(some)), [runs.cell.scheme for runs in some])
                axes.set_ylim(len(some) - 0.5, -0.5)
                axes.set_xlim(least / 1.3, most * 1.3)
                axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
                axes.minorticks_off()
                axes.tick_params(colors=FAINT, labelcolor=INK, length=2)
        for column in zip(*grid, strict=True):
            # Ticks are named below the lowest panel that there is.
            [axes for axes in column if axes.get_visible()][-1].tick_params(axis="x", labelbottom=True)
        grid[0][0].get_gridspec().set_height_ratios(inches)  # type: ignore[union-attr]
        drawn.supxlabel("mean flow completion time, ms (each run a stroke)", fontsize=9.5)
        handles = [
            Line2D([], [], ls="", marker=mark, color=SERIES_COLOURS[number], label=where)
            for number, (where, mark) in enumerate(MARKS.items())
        ]
        drawn.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=8.5)
    return drawn


def _draw_scheme(axes: Axes, runs: CellRuns[Row], height: int, left: float) -> None:
    for where, rows, offset, colour in (
        (LAB, runs.lab, -0.13, SERIES_COLOURS[0]),
        (SIMULATOR, runs.simulated, 0.13, SERIES_COLOURS[1]),
    ):
        if not rows:
            continue
        axes.plot(
            [row.afct_ms for row in rows], np.full(len(rows), height + offset), "|", color=colour, ms=5, alpha=0.6
        )
        value = runs.mean("afct_ms", where)
        axes.plot([value], [height + offset], MARKS[where], color=colour, ms=5.5)
        axes.plot([left, value], [height + offset] * 2, "-", color=colour, lw=0.8, alpha=0.4)
