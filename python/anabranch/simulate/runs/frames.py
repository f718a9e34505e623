"""Columns of the extension as frames, and as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl
from polars.io.plugins import register_io_source

from anabranch import _core
from anabranch._core import Run
from anabranch.simulate.runs.program_run import ProgramRun

TABLES = ("ports", "queues", "windows", "events", "steps", "critical", "requests")
OPTIONAL = ("queues", "windows", "events", "steps", "critical", "requests")


NAMES = frozenset(
    (table, name) for table, columns in _core.columns().items() for name, kind, _ in columns if kind == "name"
)
"""Columns that hold numbers of nodes and are written as their names."""

PIECE_ROWS = 1 << 14
"""Flows that are made at once while their table is written; polars holds a few such pieces."""

GROUP_ROWS = 1 << 16
"""Rows of a Parquet file that are encoded together: they bound the memory that it takes."""


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


def flow_frame(
    run: Run | ProgramRun, nodes: Sequence[str], piece_rows: int = PIECE_ROWS
) -> pl.DataFrame | pl.LazyFrame:
    """Flows of a run on a fabric with these nodes; a lazy frame, made as it is read, if they are more than a piece."""

    def pieces() -> Iterator[pl.DataFrame]:
        return (named(frame(piece), "flows", nodes) for piece in run.flow_pieces(piece_rows))

    if run.flows_total <= piece_rows:
        return next(pieces())

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        for piece in pieces():
            chosen = piece if predicate is None else piece.filter(predicate)
            chosen = chosen if with_columns is None else chosen.select(with_columns)
            yield chosen if n_rows is None else chosen.head(n_rows)
            n_rows = None if n_rows is None else n_rows - min(n_rows, chosen.height)
            if n_rows == 0:
                return

    return register_io_source(source, schema=next(pieces()).schema)


def frames(run: Run | ProgramRun, nodes: Sequence[str]) -> dict[str, pl.DataFrame]:
    """All tables of a run on a fabric with these nodes, without that of flows; optional ones only if asked for."""
    by_name = {name: named(frame(getattr(run, name)), name, nodes) for name in TABLES}
    return {name: table for name, table in by_name.items() if name not in OPTIONAL or table.height}


def named(table: pl.DataFrame, name: str, nodes: Sequence[str]) -> pl.DataFrame:
    """Names in place of numbers in the columns that hold names: text that files keep once, and numbers into it."""
    known = pl.Series(nodes, dtype=pl.Enum(nodes))
    columns = [column for column in table.columns if (name, column) in NAMES]
    return table.with_columns(known.gather(table[column]).alias(column) for column in columns)


def beside_numbers(table: pl.DataFrame, columns: Sequence[str], nodes: Sequence[str]) -> pl.DataFrame:
    """Adds `COLUMN_name` for each column of numbers of nodes."""
    known = pl.Series(nodes, dtype=pl.Enum(nodes))
    return table.with_columns(known.gather(table[column]).alias(f"{column}_name") for column in columns)


def write_frames(tables: Mapping[str, pl.DataFrame | pl.LazyFrame], folder: Path, csv: bool) -> dict[str, int]:
    """Writes Parquet, and CSV too if asked for; returns rows by file. A lazy frame is never in memory as a whole.

    Raises:
        OSError: a file cannot be written, because the disk is full, for instance.

    """
    rows: dict[str, int] = {}
    for name, table in tables.items():
        to_parquet, to_csv = (
            (table.sink_parquet, table.sink_csv)
            if isinstance(table, pl.LazyFrame)
            else (table.write_parquet, table.write_csv)
        )
        writers: dict[str, Callable[[Any], object]] = {
            "parquet": partial(to_parquet, row_group_size=GROUP_ROWS),
            "csv": to_csv,
        }
        for ending in ("parquet", "csv") if csv else ("parquet",):
            with (folder / f"{name}.{ending}").open("wb") as file:
                _write(writers[ending], _Sink(file))
            known = table.height if isinstance(table, pl.DataFrame) else _rows_written(folder / f"{name}.parquet")
            rows[f"{name}.{ending}"] = known
    return rows


def _rows_written(parquet: Path) -> int:
    return int(pl.scan_parquet(parquet).select(pl.len()).collect().item())


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
