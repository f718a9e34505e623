"""Sheets that figures are drawn on: the page of a report, or one or two columns of a paper."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from anabranch.files.errors import AnabranchError


@dataclass(frozen=True)
class Sheet:
    """Width of a figure, sizes of its letters in points, and the most panels beside each other."""

    width_inches: float
    label_points: float
    title_points: float
    tick_points: float
    legend_points: float
    across: int
    panel_inches: float = 2.9
    """Height of a panel that stands alone."""
    small_names: bool = False
    """Whether names in a drawing may be smaller than ticks where there is no room."""


PAGE = Sheet(9.0, 9.5, 9.0, 8.0, 8.5, across=4, small_names=True)
COLUMNS = {
    1: Sheet(3.5, 8.0, 7.5, 7.0, 7.0, across=2, panel_inches=2.0),
    2: Sheet(7.16, 8.0, 7.5, 7.0, 7.5, across=4, panel_inches=2.2),
}
"""Sheets of papers in two columns, by how many of these a figure spans: 3.5 and 7.16 inches, as IEEE and ACM set them.

No letter is smaller than 7 points, for such figures are printed at this size.
"""

_SHEET: ContextVar[Sheet] = ContextVar("sheet", default=PAGE)


def sheet() -> Sheet:
    """Sheet that figures are drawn on now."""
    return _SHEET.get()


def check_columns(columns: int | None) -> None:
    """Refuses numbers of columns that no figure spans.

    Raises:
        AnabranchError: neither 1 nor 2, nor `None`.

    """
    if columns is not None and columns not in COLUMNS:
        raise AnabranchError(f"columns: {columns}: a figure spans 1 column of a paper or 2; hint: give one of these")


@contextmanager
def drawn_on(columns: int | None) -> Iterator[None]:
    """Draws figures for so many columns of a paper meanwhile; `None`: for the page of a report.

    Raises:
        AnabranchError: neither 1 nor 2.

    """
    check_columns(columns)
    token = _SHEET.set(PAGE if columns is None else COLUMNS[columns])
    try:
        yield
    finally:
        _SHEET.reset(token)
