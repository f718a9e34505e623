"""Style of all figures, and their conversion into a page."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from anabranch.atomic_file import write_whole

INK, FAINT, GRID = "#1f2933", "#7b8794", "#e4e7eb"
ACCENT, FLOOR = "#2563a8", "#c2410c"

GRANULARITY_COLOURS = {"stateless": "#2563a8", "flow": "#0f766e", "packet": "#9333a8"}
"""Colours by the granularity of a technique, which marks show by shape as well."""

GRANULARITY_MARKS = {"stateless": "o", "flow": "s", "packet": "D"}

SERIES_COLOURS = ("#2563a8", "#c2410c", "#0f766e", "#9333a8", "#b7791f", "#475569", "#be185d", "#4d7c0f")
SERIES_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (4, 1, 1, 1)))
"""Dashes change with the colours, and again when the colours repeat: a print without colour remains readable."""

WIDTH_INCHES = 9.0
PNG_DPI = 160

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
    # Whole outlines of the letters: publishers refuse Type 3, which is the default.
    "pdf.fonttype": 42,
    "svg.hashsalt": "anabranch",
}


@contextmanager
def figure(height_inches: float, width_inches: float = WIDTH_INCHES) -> Iterator[tuple[Figure, Axes]]:
    """Makes one axes in the house style."""
    with mpl.rc_context(_SETTINGS):
        drawn = Figure(figsize=(width_inches, height_inches), layout="constrained")
        yield drawn, drawn.add_subplot()


@contextmanager
def panels(
    rows: int,
    columns: int,
    height_inches: float,
    width_inches: float = WIDTH_INCHES,
    **shared: Any,
) -> Iterator[tuple[Figure, list[list[Axes]]]]:
    """Makes rows of axes in the house style; `shared` is passed to `Figure.subplots`."""
    with mpl.rc_context(_SETTINGS):
        drawn = Figure(figsize=(width_inches, height_inches), layout="constrained")
        yield drawn, drawn.subplots(rows, columns, squeeze=False, **shared).tolist()


def line_style(index: int) -> dict[str, Any]:
    """Colour and dashes of series number `index`."""
    colours = len(SERIES_COLOURS)
    dashes = SERIES_DASHES[(index % colours + index // colours) % len(SERIES_DASHES)]
    return {"color": SERIES_COLOURS[index % colours], "ls": dashes}


def save(drawn: Figure, path: Path) -> None:
    """Writes a figure as PDF, SVG or PNG, by the name's ending; the same figure gives the same bytes."""
    ending = path.suffix[1:]
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}[ending]
    out = io.BytesIO()
    with mpl.rc_context(_SETTINGS):
        drawn.savefig(out, format=ending, metadata=metadata, dpi=PNG_DPI)
    write_whole(path, out.getvalue())


def svg(drawn: Figure, title: str) -> str:
    """Converts the figure to an inline SVG element, always the same bytes, with `title` for screen readers."""
    out = io.StringIO()
    with mpl.rc_context(_SETTINGS):
        FigureCanvasSVG(drawn).print_svg(out, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    element = text[text.index("<svg") :]
    # Width and height come from the page; the view box keeps the proportions.
    element = re.sub(r' (width|height)="[\d.]+pt"', "", element, count=2)
    return re.sub(r"<svg([^>]*)>", rf'<svg\1 role="img"><title>{html.escape(title)}</title>', element, count=1)
