"""A study that has run: its cells, their numbers, and the summary over seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    import polars as pl

STUDY_FILE = "study.json"
CELLS, SUMMARY, COMPARISON = "cells", "summary", "comparison"


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

    @property
    def table(self) -> pl.DataFrame:
        """One row per cell and size class."""
        import polars as pl

        return pl.read_parquet(self.folder / f"{CELLS}.parquet")


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
        found = json.loads((where / STUDY_FILE).read_text(encoding="utf-8"))
        cells = [Cell(cell["point"], cell["seed"], where / cell["folder"]) for cell in found["cells"]]
        return StudyOutcome(where, found["name"], found["axes"], found["seeds"], cells, found["command"])
    except (OSError, ValueError, KeyError):
        raise AnabranchError(f"{folder}: no complete study; give a folder that `anabranch sweep` has written") from None
