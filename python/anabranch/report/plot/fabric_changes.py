"""Changes of a fabric, marked in its drawing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes

from anabranch.report.plot.style import FLOOR, SERIES_COLOURS
from anabranch.simulate.stats.change_text import change_text

if TYPE_CHECKING:
    from anabranch.report.plot.fabric_geometry import Drawing, Point

DEAD = "#b91c1c"
SLOW = FLOOR
LOSSY = SERIES_COLOURS[3]
TEXTS_MAX = 12
"""Largest number of changes that are described in words; beyond it only the marks are drawn."""


def draw_changes(
    axes: Axes,
    drawing: Drawing,
    topology: Mapping[str, Any],
    lines: Mapping[int, tuple[Point, Point]],
    over_heat: bool,
) -> None:
    """Marks links and switches by the last change before they recover, if they do.

    Over a drawing of heat, links that still carry keep their colours.
    """
    labels: dict[frozenset[int], tuple[str, str]] = {}
    nodes: dict[int, tuple[str, str]] = {}
    ports = topology["ports"]
    for change in topology["changes"]:
        colour, text = colour_of(change), change_text(change)
        if change.get("port") is not None:
            port = int(change["port"])
            link = frozenset((port, int(ports["reverse"][port])))
            if colour is not None or link not in labels:
                labels[link] = (colour or SLOW, text)
        elif colour is not None:
            nodes[int(change["node"])] = (colour, text)
    for link, (colour, text) in labels.items():
        line = lines.get(min(link))
        if line is not None:
            _mark_link(axes, line, colour, text if len(labels) <= TEXTS_MAX else "", over_heat)
    for node, (colour, text) in nodes.items():
        box = drawing.laid.boxes[drawing.laid.box_of[node]] if node in drawing.laid.box_of else None
        if box is not None and box.rows == 1:
            x, y = drawing.x(box), drawing.y(box.row)
            axes.plot([x], [y], marker="x", ms=13, mew=2.2, color=colour, zorder=6)
            if len(nodes) <= TEXTS_MAX:
                _text(axes, x, drawing.top(box) + 0.09, text, colour)


def colour_of(change: Mapping[str, Any]) -> str | None:
    """Colour of a change, None for a repair."""
    what = str(change["what"])
    if what.endswith("down"):
        return DEAD
    if what.endswith("up"):
        return None
    return SLOW if what.endswith("rate") else LOSSY


def _mark_link(axes: Axes, line: tuple[Point, Point], colour: str, text: str, over_heat: bool) -> None:
    (x0, y0), (x1, y1) = line
    dashes = (0, (3, 2)) if colour == DEAD else "-"
    if colour == DEAD or not over_heat:
        axes.plot([x0, x1], [y0, y1], color="white", lw=3.2, zorder=2.5)
        axes.plot([x0, x1], [y0, y1], color=colour, lw=1.8, ls=dashes, zorder=3)
    # Nearer to the lower end than the middle, where other links cross.
    x, y = x0 + 0.3 * (x1 - x0), y0 + 0.3 * (y1 - y0)
    if colour == DEAD:
        axes.plot([x], [y], marker="x", ms=8, mew=2.0, color=colour, zorder=6)
        x += 0.14 + 0.03 * len(text)
    if text:
        _text(axes, x, y, text, colour)


def _text(axes: Axes, x: float, y: float, text: str, colour: str) -> None:
    box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85}
    axes.text(x, y, text, ha="center", va="center", fontsize=7.5, color=colour, bbox=box, zorder=7)
