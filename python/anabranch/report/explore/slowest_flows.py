"""Slowest flows of a run: those that finished with the largest slowdown."""

from __future__ import annotations

from typing import Any

import polars as pl

from anabranch.stats.window import measured

FLOWS_MAX = 20
COLUMNS = ("flow", "src", "dst", "size_bytes", "start_ns", "fct_ns", "slowdown", "paths")
COUNTS = ("retransmitted_packets", "timeouts")


def slowest_flows(flows: pl.DataFrame) -> dict[str, list[Any]]:
    """Columns of at most `FLOWS_MAX` flows, the slowest first; a column that the run lacks is null."""
    names = (*COLUMNS, *COUNTS)
    chosen = measured(flows).filter(pl.col("finished")).sort("slowdown", descending=True, maintain_order=True)
    head = chosen.head(FLOWS_MAX)
    return {name: head[name].to_list() if name in head.columns else [None] * head.height for name in names}
