"""Columns of the extension as frames, and as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl

from anabranch import _core
from anabranch._core import Run
from anabranch.runs.program_run import ProgramRun

TABLES = ("flows", "ports", "queues", "windows", "events", "steps", "critical")
OPTIONAL = ("queues", "windows", "events", "steps", "critical")


NAMES = frozenset(
    (table, name) for table, columns in _core.columns().items() for name, kind, _ in columns if kind == "name"
)
"""Columns that hold numbers of nodes and are written as their names."""


def frame(columns: Mapping[str, npt.NDArray[np.generic] | list[int | None]]) -> pl.DataFrame:
    """Makes one frame. A missing value is null: the extension gives NaN, or None in a list of integers."""
    series = [_series(name, values) for name, values in columns.items()]
    return pl.DataFrame(series).fill_nan(None)


def _series(name: str, values: npt.NDArray[np.generic] | list[int | None]) -> pl.Series:
    if isinstance(values, list):
        return pl.Series(name, values, dtype=pl.UInt64)
    if values.dtype.kind == "S":
        return pl.Series(name, values.astype("U"), dtype=pl.Categorical)
    return pl.Series(name, values)


def frames(run: Run | ProgramRun, nodes: Sequence[str]) -> dict[str, pl.DataFrame]:
    """All tables of a run on a fabric with these nodes; optional ones only if they were asked for."""
    made = {name: named(frame(getattr(run, name)), name, nodes) for name in TABLES}
    return {name: table for name, table in made.items() if name not in OPTIONAL or table.height}


def named(table: pl.DataFrame, name: str, nodes: Sequence[str]) -> pl.DataFrame:
    """Names in place of numbers in the columns that hold names: text that files keep once, and numbers into it."""
    known = pl.Series(nodes, dtype=pl.Enum(nodes))
    columns = [column for column in table.columns if (name, column) in NAMES]
    return table.with_columns(known.gather(table[column]).alias(column) for column in columns)


def beside_numbers(table: pl.DataFrame, columns: Sequence[str], nodes: Sequence[str]) -> pl.DataFrame:
    """Adds `COLUMN_name` for each column of numbers of nodes."""
    known = pl.Series(nodes, dtype=pl.Enum(nodes))
    return table.with_columns(known.gather(table[column]).alias(f"{column}_name") for column in columns)


def write_frames(tables: Mapping[str, pl.DataFrame], folder: Path, csv: bool) -> dict[str, int]:
    """Writes Parquet, and CSV too if asked for; returns rows by file.

    Raises:
        OSError: a file cannot be written, because the disk is full, for instance.

    """
    rows = {}
    for name, table in tables.items():
        writers: dict[str, Callable[[Any], object]] = {
            "parquet": table.write_parquet,
            **({"csv": table.write_csv} if csv else {}),
        }
        for ending, writer in writers.items():
            with (folder / f"{name}.{ending}").open("wb") as file:
                _write(writer, _Sink(file))
            rows[f"{name}.{ending}"] = table.height
    return rows


class _Sink:
    """A file that keeps the system's reason for a refusal: polars' own errors lose it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.refused: OSError | None = None

    def write(self, data: bytes) -> int:
        try:
            return self.file.write(data)
        except OSError as error:
            self.refused = error
            raise

    def flush(self) -> None:
        self.file.flush()


def _write(writer: Callable[[Any], object], sink: _Sink) -> None:
    try:
        writer(sink)
    except (pl.exceptions.PolarsError, OSError):
        if sink.refused is not None:
            raise sink.refused from None
        raise
