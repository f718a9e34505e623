"""Ticks whose names would cover each other, thinned out until they do not."""

from __future__ import annotations

from itertools import pairwise

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

GAP_POINTS = 3.0
"""Least room between two names."""


def thin_ticks(drawn: Figure) -> None:
    """Keeps every second tick of an x axis, or every third, and so on, so that names stay apart. Call it last."""
    canvas = FigureCanvasAgg(drawn)
    canvas.draw()
    renderer = canvas.get_renderer()
    gap = GAP_POINTS * drawn.dpi / 72.0
    for axes in drawn.axes:
        low, high = sorted(axes.get_xlim())
        ticks = [tick for tick in axes.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
        named = [tick for tick in ticks if tick.label1.get_visible() and tick.label1.get_text()]
        boxes = [tick.label1.get_window_extent(renderer) for tick in named]
        step = next(step for step in range(1, len(named) + 2) if _apart(boxes[::step], gap))
        if step > 1:
            kept = named[::step]
            axes.set_xticks([tick.get_loc() for tick in kept], [tick.label1.get_text() for tick in kept])


def _apart(boxes: list[Bbox], gap: float) -> bool:
    ordered = sorted(boxes, key=lambda box: box.x0)
    return all(one.x1 + gap <= other.x0 for one, other in pairwise(ordered))
