"""The window of measurement: which flows count, and which part of the ports' intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from anabranch.simulate.stats.lazily import Table, columns

FLAG = "measured"
"""Column of flows that says whether a flow counts."""
AMOUNTS = ("sent_bytes", "sent_packets", "dropped_packets", "lost_packets", "marked_packets")
"""Columns of ports that are counts of an interval."""


@dataclass(frozen=True)
class Window:
    """Time in which flows begin that count, in nanoseconds."""

    from_ns: float = 0.0
    to_ns: float = math.inf
    """End, itself outside; infinite if there is none."""

    @property
    def whole(self) -> bool:
        """Whether everything counts."""
        return self.from_ns == 0.0 and math.isinf(self.to_ns)


def counts(flows: pl.DataFrame | pl.LazyFrame) -> pl.Expr:
    """Condition on flows that count; all of them do in folders of earlier versions, which do not say."""
    return pl.col(FLAG) if FLAG in columns(flows) else pl.lit(value=True)


def measured(flows: Table) -> Table:
    """Flows that count; the frame in memory itself where all of them do."""
    condition = counts(flows)
    if isinstance(flows, pl.DataFrame) and flows.select(condition.all()).item():
        return flows
    return flows.filter(condition)


def clipped(ports: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Intervals of ports within a window.

    The simulator ends an interval at both ends of the window. Silent ones, which it joins, are cut here, and so are
    those of a lab, in proportion to the time.
    """
    if window.whole:
        return ports
    start = pl.max_horizontal(pl.col("start_ns"), window.from_ns)
    end = pl.min_horizontal(pl.col("start_ns") + pl.col("length_ns"), window.to_ns)
    share = (end - start) / pl.col("length_ns")
    cut = ports.filter(end > start)
    counts = [
        (pl.col(name) * share).round().cast(ports.schema[name]).alias(name) for name in AMOUNTS if name in ports.columns
    ]
    return cut.with_columns(*counts, start_ns=start, length_ns=end - start)
