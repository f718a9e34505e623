"""One table over the cells of a lab: a part for each case, a line for each cell, a column for each figure.

The repetitions of a cell are runs over real switches, and beside them runs of the simulator; the table has their means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean
from typing import Any, Generic, TypeVar

from rich.console import Console
from rich.text import Text

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import pct
from anabranch.report.page.csv_text import csv_text

LAB, SIMULATOR = "lab", "simulator"
"""What the field `where` of a run says."""
Row = TypeVar("Row")
"""Figures of one run: a dataclass with `where` and `late_p99_ms`, the lateness of its senders."""
Line = TypeVar("Line")


@dataclass(frozen=True)
class CellRuns(Generic[Row]):
    """Runs of one cell."""

    cell: Any
    """Labels, as a named tuple."""
    lab: tuple[Row, ...]
    simulated: tuple[Row, ...]

    def mean(self, name: str, where: str = LAB) -> float:
        """Mean of a figure over the repetitions that have one; not a number if none has."""
        return mean(getattr(row, name) for row in (self.lab if where == LAB else self.simulated))


def mean(values: Iterable[float]) -> float:
    """Mean of those that are numbers; not a number if none is."""
    numbers = [value for value in values if not math.isnan(value)]
    return fmean(numbers) if numbers else math.nan


def by_cell(rows: Iterable[Any], cell_of: Callable[[Any], Any]) -> list[CellRuns[Any]]:
    """Cells that the lab has run, in that order."""
    runs: dict[tuple[Any, str], list[Any]] = {}
    for row in rows:
        runs.setdefault((cell_of(row), row.where), []).append(row)
    return [
        CellRuns(cell, tuple(lab), tuple(runs.get((cell, SIMULATOR), ())))
        for (cell, where), lab in runs.items()
        if where == LAB
    ]


@dataclass(frozen=True)
class Column(Generic[Line]):
    """A column: its heading, of two lines, and what it has of a line of the table."""

    heading: str
    text: Callable[[Line], str | Text]
    number: bool = True


def figure(heading: str, name: str, form: str, where: str = LAB) -> Column[Any]:
    """Column of the mean of a figure, written as `form` says."""
    return Column(heading, lambda runs: shown(runs.mean(name, where), form))


def shown(value: float | None, form: str) -> str:
    """A number by a format of Python, or as a share (`%`); a dash where there is none."""
    if value is None or math.isnan(value):
        return "-"
    return pct(value) if form == "%" else format(value, form)


def show(
    parts: Iterable[tuple[str, Sequence[Line]]],
    columns: Sequence[Column[Line]],
    notes: Sequence[str],
    console: Console,
) -> None:
    """Prints a table for each part below its title, and then what the columns are."""
    for title, lines in parts:
        table = plain_table(*((column.heading, column.number) for column in columns))
        for line in lines:
            table.add_row(*(column.text(line) for column in columns))
        console.print(title, style="bold", markup=False, highlight=False, soft_wrap=True)
        console.print(table)
        console.print()
    console.print("\n".join(notes), style="dim", markup=False, highlight=False, soft_wrap=True)


def late(rows: Iterable[Any], limit_ms: float) -> list[str]:
    """Warning about runs whose senders began or wrote late; no line without one."""
    beyond = [row.late_p99_ms for row in rows if row.late_p99_ms > limit_ms]
    if not beyond:
        return []
    runs = f"{len(beyond)} run{'s' * (len(beyond) > 1)}"
    return [f"{runs} sent 1 % of their traffic {limit_ms:g} to {max(beyond):.0f} ms late: a busy machine"]


def as_csv(rows: Sequence[Any], kind: type[Any]) -> str:
    """A line per run, with all figures of the dataclass `kind`."""
    return csv_text([field.name for field in fields(kind)], (asdict(row).values() for row in rows))
