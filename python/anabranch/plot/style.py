"""One look for all figures, and their way into a page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK, FAINT, GRID = "#1f2933", "#7b8794", "#e4e7eb"
ACCENT, FLOOR = "#2563a8", "#c2410c"

GRANULARITY_COLOURS = {"stateless": "#2563a8", "flow": "#0f766e", "packet": "#9333a8"}
"""By when a technique decides; marked by shape as well."""

GRANULARITY_MARKS = {"stateless": "o", "flow": "s", "packet": "D"}

WIDTH_INCHES = 9.0

_SETTINGS: dict[Any, object] = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "anabranch",
}


@contextmanager
def figure(height_inches: float, width_inches: float = WIDTH_INCHES) -> Iterator[tuple[Figure, Axes]]:
    """One axes in the house style."""
    with mpl.rc_context(_SETTINGS):
        drawn = Figure(figsize=(width_inches, height_inches), layout="constrained")
        yield drawn, drawn.add_subplot()


def svg(drawn: Figure, title: str) -> str:
    """The figure as an inline SVG element, the same bytes every time, with `title` for screen readers."""
    out = io.StringIO()
    with mpl.rc_context(_SETTINGS):
        FigureCanvasSVG(drawn).print_svg(out, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    element = text[text.index("<svg") :]
    # Width and height come from the page; the view box keeps the proportions.
    element = re.sub(r' (width|height)="[\d.]+pt"', "", element, count=2)
    return re.sub(r"<svg([^>]*)>", rf'<svg\1 role="img"><title>{title}</title>', element, count=1)
