"""What a step waits for, along its time: its critical path, a row for each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from anabranch.report.plot.sheet import sheet
from anabranch.report.plot.style import GRID, SERIES_COLOURS, leaders, panels

NS_PER_MS = 1e6
ROW_INCHES, MARGIN_INCHES = 0.24, 0.55


@dataclass(frozen=True)
class StepPath:
    """Critical path of one step; times in nanoseconds from its start."""

    title: str
    parts: Sequence[str]
    """Parts on the path, from the first one on."""
    spans: Sequence[Sequence[tuple[float, float]]]
    """Start and length of each stretch on the path, by part."""


def draw(paths: Sequence[StepPath]) -> Figure:
    """Draws a panel for each step, with the times during which each part is on its critical path."""
    names = list(dict.fromkeys(part for path in paths for part in path.parts))
    height = ROW_INCHES * len(names)
    with panels(1, len(paths), height + MARGIN_INCHES, sharex=True, sharey=True) as (drawn, (row,)):
        for path, axes in zip(paths, row, strict=True):
            axes.set_title(path.title, fontsize=sheet().label_points, loc="left")
            for part, spans in zip(path.parts, path.spans, strict=True):
                level = names.index(part)
                bars = [(start / NS_PER_MS, length / NS_PER_MS) for start, length in spans]
                axes.broken_barh(bars, (level - 0.35, 0.7), color=SERIES_COLOURS[level % len(SERIES_COLOURS)], lw=0)
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.4, -0.6)
            axes.grid(axis="x", color=GRID, lw=0.6)
        for axes in leaders(row):
            axes.tick_params(axis="y", length=0)
        drawn.supxlabel("time in the step, ms", fontsize=sheet().label_points)
    return drawn
