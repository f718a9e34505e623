"""Names beside points, moved apart until none covers another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from anabranch.report.plot.style import FAINT

Box = tuple[float, float, float, float]
"""Edges of a box: left, low, right, high, in pixels."""

PAD_PIXELS = 3.0
MARK_PIXELS = 5.0
RINGS = 14
DIRECTIONS = 16


def name_points(
    drawn: Figure,
    axes: Axes,
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    names: list[str],
    line_y: float,
    size: float = 8.0,
) -> None:
    """Writes each name at the nearest free position, with a thin line to its point if that is far.

    Positions on rings around the point are tried from near to far; one is free if it covers no earlier name, no point,
    not the horizontal line at `line_y`, and stays inside the axes. Call it last, when limits and scales are final.
    """
    canvas = FigureCanvasAgg(drawn)
    canvas.draw()
    renderer = canvas.get_renderer()
    points = axes.transData.transform(np.column_stack([x, y]))
    window = axes.get_window_extent()
    frame = (window.x0, window.y0, window.x1, window.y1)
    marks = [(px - MARK_PIXELS, py - MARK_PIXELS, px + MARK_PIXELS, py + MARK_PIXELS) for px, py in points]
    line = float(axes.transData.transform((x[0], line_y))[1])
    marks.append((window.x0, line - 1, window.x1, line + 1))
    taken: list[Box] = []
    for index in np.lexsort((points[:, 0], -points[:, 1])):
        probe = axes.text(0, 0, names[index], fontsize=size)
        extent = probe.get_window_extent(renderer)
        probe.remove()
        px, py = points[index]
        width, height = extent.width + PAD_PIXELS, extent.height + PAD_PIXELS
        box = _free_box((px, py), (width, height), taken, marks, frame)
        taken.append(box)
        cx, cy = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        far = max(abs(cx - px) - width / 2, abs(cy - py) - height / 2) > 2 * MARK_PIXELS
        axes.annotate(
            names[index],
            (x[index], y[index]),
            xytext=((cx - px) * 72.0 / drawn.dpi, (cy - py) * 72.0 / drawn.dpi),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=size,
            arrowprops={"arrowstyle": "-", "color": FAINT, "lw": 0.5, "shrinkA": 1, "shrinkB": 3} if far else None,
        )


def _free_box(
    point: tuple[float, float], size: tuple[float, float], taken: list[Box], marks: list[Box], frame: Box
) -> Box:
    """First free position, or the one that covers least."""
    (px, py), (width, height) = point, size
    best, least = (px, py, px + width, py + height), np.inf
    for ring in range(RINGS):
        reach = MARK_PIXELS + 2 + 8.0 * ring
        for angle in np.arange(DIRECTIONS) * 2 * np.pi / DIRECTIONS:
            cx = px + np.cos(angle) * (reach + width / 2)
            cy = py + np.sin(angle) * (reach + height / 2)
            box = (cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2)
            outside = box[0] < frame[0] or box[1] < frame[1] or box[2] > frame[2] or box[3] > frame[3]
            covered = sum(_overlap(box, other) for other in taken + marks) + (1e6 if outside else 0.0)
            if covered == 0:
                return box
            if covered < least:
                best, least = box, covered
    return best


def _overlap(a: Box, b: Box) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0
