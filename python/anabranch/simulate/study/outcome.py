"""A study that has run: its cells, their numbers, and the summary over seeds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import choose
from anabranch.files.units import count
from anabranch.simulate.runs.html_table import html_table, titled
from anabranch.simulate.runs.pandas_frame import pandas_frame
from anabranch.simulate.runs.results import Run
from anabranch.simulate.study.criteria import Asked, Criterion

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from rich.table import Table

STUDY_FILE = "study.json"
CELLS, SUMMARY, COMPARISON = "cells", "summary", "comparison"
TABLES = ("summary", "comparison", "table")
ABSENT = "-"


@dataclass(frozen=True)
class Cell:
    """One point of the axes and one seed."""

    point: dict[str, Any]
    """Value, or name of the value, by axis."""
    seed: int
    folder: Path


@dataclass(frozen=True)
class StudyOutcome:
    """Results of a sweep in its folder."""

    folder: Path
    name: str
    axes: dict[str, list[Any]]
    seeds: list[int]
    cells: list[Cell]
    command: list[str]

    @property
    def swept_axis(self) -> str | None:
        """The axis that curves run along, if there is one."""
        return swept_axis(self.axes)

    @property
    def compared_axis(self) -> str | None:
        """The axis with a series for each of its values, if there is one."""
        return compared_axis(self.axes)

    @property
    def summary(self) -> pl.DataFrame:
        """One row per point and size class: means over seeds and half the width of their intervals."""
        import polars as pl

        return pl.read_parquet(self.folder / f"{SUMMARY}.parquet")

    @property
    def record(self) -> dict[str, Any]:
        """Axes, seeds and the summary over seeds as plain data; a value that is no number is null."""
        rows = self.summary.fill_nan(None).to_dicts()
        return {"results": str(self.folder), "axes": self.axes, "seeds": self.seeds, "summary": rows}

    @property
    def comparison(self) -> pl.DataFrame:
        """One row per point, size class and statistic: the ratio to the first value of the compared axis."""
        import polars as pl

        return pl.read_parquet(self.folder / f"{COMPARISON}.parquet")

    @cached_property
    def size_classes(self) -> list[str]:
        """Labels of the size classes in its tables, that of all flows first."""
        return list(self.summary["size_class"].unique(maintain_order=True))

    @property
    def traffic_kinds(self) -> set[str]:
        """Kinds of traffic of its first run."""
        return {traffic["kind"] for traffic in Run(self.cells[0].folder).scenario["traffic"]}

    def advice(self) -> list[str]:
        """Sentences on comparisons about which the seeds disagree."""
        from anabranch.simulate.study.advice import advice

        return advice(self.table, self.axes, self.compared_axis, len(self.seeds))

    def to_pandas(self, table: str = "summary") -> pd.DataFrame:
        """A table as a frame of pandas: `summary`, `comparison` or `table`.

        Raises:
            AnabranchError: pandas is not installed, or there is no such table.

        """
        return pandas_frame(getattr(self, choose(table, TABLES, "to_pandas")))

    def _repr_html_(self) -> str:
        """Means over seeds by point and size class, for notebooks."""
        header, rows = summary_rows(self, Asked().of_report(self.summary))
        cells = [[escape(cell) for cell in row] for row in rows]
        return titled(self.name, self.folder) + html_table([escape(cell) for cell in header], cells)

    def __rich__(self) -> Table:
        """Means over seeds by point and size class, for the terminal."""
        from anabranch.files.terminal.plain_table import plain_table

        header, rows = summary_rows(self, Asked().of_report(self.summary))
        table = plain_table(*((cell, index >= len(self.axes) + 1) for index, cell in enumerate(header)))
        table.title = f"{self.name}  {self.folder}"
        for row in rows:
            table.add_row(*row)
        return table

    @property
    def table(self) -> pl.DataFrame:
        """One row per cell and size class."""
        import polars as pl

        return pl.read_parquet(self.folder / f"{CELLS}.parquet")


def summary_rows(study: StudyOutcome, criteria: Sequence[Criterion]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the summary: a row per point and size class, means over seeds with their intervals."""
    shown = {one.column: one for one in criteria}
    header = [*map(short, study.axes), "size class", "flows", "unfinished"]
    header += [f"{one.measure.words} {one.statistic}" for one in shown.values()]
    columns = {(one.size_class, one.column) for one in criteria}
    classes = {one.size_class for one in criteria}
    rows = []
    for row in study.summary.iter_rows(named=True):
        label = row["size_class"]
        if label not in classes:
            continue
        cells = [str(row[axis]) for axis in study.axes]
        cells += [label, count(row["flows"]), count(row["unfinished"])]
        cells += [
            with_interval(row[column], row[f"{column}_ci95"], one.measure.text) if (label, column) in columns else ""
            for column, one in shown.items()
        ]
        rows.append(cells)
    return header, rows


def with_interval(value: float | None, half: float | None, write: Callable[[float], str]) -> str:
    """Formats a mean, with half the width of its interval."""
    if value is None:
        return ABSENT
    return write(value) if half is None else f"{write(value)} ±{write(half)}"


def short(axis: str) -> str:
    """Name of an axis in figures and tables: its key without the tables around it."""
    return axis.rpartition(".")[2]


def swept_axis(axes: Mapping[str, list[Any]]) -> str | None:
    """The first axis of several numbers."""
    return next((axis for axis, values in axes.items() if len(values) > 1 and numeric(values)), None)


def compared_axis(axes: Mapping[str, list[Any]]) -> str | None:
    """The first axis of several names, or else the first of several values that is not swept."""
    swept = swept_axis(axes)
    several = [axis for axis, values in axes.items() if len(values) > 1 and axis != swept]
    return next((axis for axis in several if not numeric(axes[axis])), several[0] if several else None)


def numeric(values: list[Any]) -> bool:
    """Whether all values of an axis are numbers."""
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def open_study(folder: str | Path) -> StudyOutcome:
    """Reads the results that `anabranch sweep` has written.

    Raises:
        AnabranchError: the folder holds no complete study.

    """
    where = Path(folder)
    try:
        study = json.loads((where / STUDY_FILE).read_text(encoding="utf-8"))
        cells = [Cell(cell["point"], cell["seed"], where / cell["folder"]) for cell in study["cells"]]
        return StudyOutcome(where, study["name"], study["axes"], study["seeds"], cells, study["command"])
    except (OSError, ValueError, RecursionError, KeyError):
        raise AnabranchError(f"{folder}: no complete study; give a folder that `anabranch sweep` has written") from None
