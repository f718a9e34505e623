"""Style of all figures, and their conversion into a page."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from anabranch.files.atomic_file import write_whole
from anabranch.report.plot.sheet import PAGE, sheet
from anabranch.report.plot.thin_ticks import thin_ticks

INK, FAINT, GRID = "#1f2933", "#7b8794", "#e4e7eb"
ACCENT, FLOOR = "#2563a8", "#c2410c"

GRANULARITY_COLOURS = {"stateless": "#2563a8", "flow": "#0f766e", "packet": "#9333a8"}
"""Colours by the granularity of a technique, which marks show by shape as well."""

GRANULARITY_MARKS = {"stateless": "o", "flow": "s", "packet": "D"}

SERIES_COLOURS = ("#3078d8", "#a83000", "#187860", "#781890", "#c07818", "#304860", "#f04890", "#609048")
"""Colours that remain apart for readers with any of the three kinds of colour blindness, and stand out from white.

A test simulates how they see them.
"""
SERIES_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (4, 1, 1, 1)))
"""Dashes change with the colours, and again when the colours repeat: a print without colour remains readable."""

PNG_DPI = 160

_SETTINGS: dict[Any, object] = {
    "font.family": "sans-serif",
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


def _settings() -> dict[Any, object]:
    return _SETTINGS | {"font.size": sheet().label_points}


@contextmanager
def figure(height_inches: float, width_inches: float | None = None) -> Iterator[tuple[Figure, Axes]]:
    """Makes one axes in the house style."""
    with mpl.rc_context(_settings()):
        drawn = Figure(figsize=(width_inches or sheet().width_inches, height_inches), layout="constrained")
        yield drawn, drawn.add_subplot()
        _thin_on_paper(drawn)


@contextmanager
def panels(
    rows: int,
    columns: int,
    row_inches: float,
    margin_inches: float = 0.0,
    **shared: Any,
) -> Iterator[tuple[Figure, list[list[Axes]]]]:
    """Makes rows of axes in the house style; `shared` is passed to `Figure.subplots`.

    A row of more panels than the sheet has room for goes on below. A row takes `row_inches`, all together take
    `margin_inches` more. [`leaders`] are the axes that stand at the left.
    """
    across = min(columns, sheet().across)
    lines = -(-columns // across)
    size = (sheet().width_inches, margin_inches + row_inches * rows * lines)
    with mpl.rc_context(_settings()):
        drawn = Figure(figsize=size, layout="constrained")
        grid = drawn.subplots(rows * lines, across, squeeze=False, **shared).tolist()
        for last in grid[lines - 1 :: lines]:
            for position in range(columns - (lines - 1) * across, across):
                last[position].remove()
                # The panel above is now the lowest of its column.
                above = grid[grid.index(last) - 1][position]
                above.tick_params(axis="x", labelbottom=True)
        rows_of_lines = (grid[row * lines : (row + 1) * lines] for row in range(rows))
        yield drawn, [list(chain.from_iterable(row))[:columns] for row in rows_of_lines]
        _thin_on_paper(drawn)


def _thin_on_paper(drawn: Figure) -> None:
    # The page of a report has room, and is drawn more often.
    if sheet() is not PAGE:
        thin_ticks(drawn)


def mark_empty(axes: Axes) -> None:
    """Says in a panel without values why it has none."""
    axes.text(0.5, 0.5, "too few", transform=axes.transAxes, ha="center", color=FAINT, fontsize=sheet().legend_points)
    axes.set_yticks([])


def leaders(row: list[Axes]) -> list[Axes]:
    """Axes of a row of `panels` that stand at the left, which have the title of the y axis."""
    return row[:: sheet().across]


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
    with mpl.rc_context(_settings()):
        drawn.savefig(out, format=ending, metadata=metadata, dpi=PNG_DPI)
    write_whole(path, out.getvalue())


def svg(drawn: Figure, title: str) -> str:
    """Converts the figure to an inline SVG element, always the same bytes, with `title` for screen readers."""
    out = io.StringIO()
    with mpl.rc_context(_settings()):
        FigureCanvasSVG(drawn).print_svg(out, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    element = text[text.index("<svg") :]
    # Width and height come from the page; the view box keeps the proportions.
    element = re.sub(r' (width|height)="[\d.]+pt"', "", element, count=2)
    return re.sub(r"<svg([^>]*)>", rf'<svg\1 role="img"><title>{html.escape(title)}</title>', element, count=1)
