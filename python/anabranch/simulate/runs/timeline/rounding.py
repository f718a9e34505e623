"""Times of a trace: whole nanoseconds."""

from __future__ import annotations

import polars as pl


def whole_ns(column: str) -> pl.Expr:
    """A column of nanoseconds, rounded to whole ones, half of one to the even."""
    return pl.col(column).round(0, mode="half_to_even").cast(pl.Int64)
