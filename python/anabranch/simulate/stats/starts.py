"""Starts of flows."""

from __future__ import annotations

import polars as pl

from anabranch.simulate.stats.lazily import collected


def last_start_ns(flows: pl.DataFrame | pl.LazyFrame) -> float | None:
    """Start of the last flow, in nanoseconds: then the fabric empties, which is not its load. None if none began."""
    last = collected(flows.select(pl.col("start_ns").max())).item()
    return None if last is None else float(last)
