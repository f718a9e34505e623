"""Tables in memory, and tables that are read in parts when something is asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

Table = TypeVar("Table", pl.DataFrame, pl.LazyFrame, pl.DataFrame | pl.LazyFrame)
"""A frame of either kind: `filter`, `select` and `group_by` are the same for both."""


def collected(table: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """The rows. A lazy frame is read in parts, of which only what it asks for is kept."""
    return table.collect(engine="streaming") if isinstance(table, pl.LazyFrame) else table


def joined(tables: Sequence[pl.DataFrame | pl.LazyFrame]) -> pl.DataFrame | pl.LazyFrame:
    """The rows of all tables of the same columns; a lazy frame if one of them is."""
    if len(tables) == 1:
        return tables[0]
    rows = [table for table in tables if isinstance(table, pl.DataFrame)]
    if len(rows) == len(tables):
        return pl.concat(rows)
    return pl.concat([table.lazy() for table in tables])


def columns(table: pl.DataFrame | pl.LazyFrame) -> list[str]:
    """Names of the columns."""
    return table.collect_schema().names()


READ_ROWS = 1 << 18
"""Rows of a lazy frame that are read at once."""


def numbers(table: pl.DataFrame | pl.LazyFrame, value: pl.Expr, where: pl.Expr) -> npt.NDArray[np.float64]:
    """Values of an expression in the rows for which `where` holds, in an array of its own.

    Of a lazy frame, no more than the array and some rows are in memory, which takes a file that can be read in parts.
    """
    return next(numbers_by(table, value, [where]))


def numbers_by(
    table: pl.DataFrame | pl.LazyFrame, value: pl.Expr, conditions: Sequence[pl.Expr]
) -> Iterator[npt.NDArray[np.float64]]:
    """Values of an expression in the rows for which each condition holds, one array of its own after the other.

    A frame in memory is asked once for all conditions: a question takes longer than an answer of some hundred rows.
    """
    if isinstance(table, pl.DataFrame):
        masks = table.select(condition.alias(str(number)) for number, condition in enumerate(conditions))
        values = table.select(value.cast(pl.Float64)).to_series().to_numpy()
        for column in masks.iter_columns():
            yield values[column.to_numpy()]
        return
    for condition in conditions:
        yield _read_in_parts(table, value, condition)


def _read_in_parts(table: pl.LazyFrame, value: pl.Expr, where: pl.Expr) -> npt.NDArray[np.float64]:
    chosen = value.cast(pl.Float64)
    rows, holds = collected(table.select(pl.len(), where.sum())).row(0)
    values = np.empty(int(holds))
    filled = 0
    for first in range(0, rows, READ_ROWS):
        part = collected(table.slice(first, READ_ROWS).filter(where).select(chosen)).to_series()
        values[filled : filled + len(part)] = part.to_numpy()
        filled += len(part)
    return values
