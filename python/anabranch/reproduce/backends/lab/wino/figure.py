"""The mean FCT of each scheme at each load: the lab's beside the simulator's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anabranch.plot.style import FAINT, GRID, INK, SERIES_COLOURS, panels
from anabranch.reproduce.backends.lab.wino.measure import LAB, SIMULATOR, Row
from anabranch.reproduce.backends.lab.wino.schemes import SCHEMES
from anabranch.reproduce.backends.lab.wino.table import mean, of, points

DECADES = 5
WIDE = 50
"""A range of times, as a ratio, over which labels at 1, 2 and 5 would touch."""
MARKS = {LAB: "o", SIMULATOR: "D"}


def draw(rows: Sequence[Row]) -> Figure:
    """A panel per point, schemes from above to below, each repetition a small dot."""
    shown = points(rows)
    columns = min(3, len(shown))
    lines = -(-len(shown) // columns)
    times = [row.afct_ms for row in rows if row.afct_ms > 0]
    least, most = min(times, default=1.0), max(times, default=1.0)
    digits = (1, 3) if most / least > WIDE else (1, 2, 5)
    ticks = [digit * 10**power for power in range(DECADES) for digit in digits]
    ticks = [tick for tick in ticks if least / 1.3 <= tick <= most * 1.3]
    with panels(lines, columns, 2.1, 0.7, sharey=True, sharex=True) as (drawn, grid):
        places = [axes for row in grid for axes in row]
        for axes, point in zip(places, shown, strict=False):
            axes.set_title(f"{point[0]}, {point[1]}, load {point[2]:g}", loc="left", fontsize=9.5)
            axes.set_xscale("log")
            axes.grid(axis="x", color=GRID, lw=0.8)
            axes.set_axisbelow(True)
            for line, scheme in enumerate(SCHEMES):
                for where, offset, colour in ((LAB, -0.13, SERIES_COLOURS[0]), (SIMULATOR, 0.13, SERIES_COLOURS[1])):
                    found = of(rows, where, scheme.name, point)
                    if not found:
                        continue
                    each = [row.afct_ms for row in found]
                    axes.plot(each, np.full(len(each), line + offset), "|", color=colour, ms=5, alpha=0.6)
                    value = mean(found, lambda row: row.afct_ms)
                    axes.plot([value], [line + offset], MARKS[where], color=colour, ms=5.5)
                    axes.plot([least / 2, value], [line + offset] * 2, "-", color=colour, lw=0.8, alpha=0.4)
            axes.set_yticks(range(len(SCHEMES)), [scheme.name for scheme in SCHEMES])
            axes.set_xlim(least / 1.3, most * 1.3)
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
            axes.tick_params(colors=FAINT, labelcolor=INK, length=2)
        for axes in places[len(shown) :]:
            axes.set_visible(False)
        places[0].invert_yaxis()
        drawn.supxlabel("mean flow completion time, ms (each run a stroke)", fontsize=9.5)
        handles = [
            Line2D([], [], ls="", marker=mark, color=SERIES_COLOURS[number], label=where)
            for number, (where, mark) in enumerate(MARKS.items())
        ]
        drawn.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=8.5)
    return drawn
