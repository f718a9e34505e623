"""Slowest flows of a run: those that finished with the largest slowdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.lazily import collected
from anabranch.simulate.stats.window import measured

FLOWS_MAX = 20
COLUMNS = ("flow", "src", "dst", "size_bytes", "start_ns", "fct_ns", "slowdown", "paths")
COUNTS = ("retransmitted_packets", "timeouts")


def slowest_flows(run: Run) -> dict[str, list[Any]]:
    """Columns of at most `FLOWS_MAX` flows, the slowest first; a column that the run lacks is null.

    `numbers` has the numbers of the paths by which segments of a flow arrived, ascending: those of `events.parquet`, as
    far as it goes; null without that file.
    """
    names = (*COLUMNS, *COUNTS)
    head = _slowest(run.scanned_flows)
    columns: dict[str, list[Any]] = {
        name: head[name].to_list() if name in head.columns else [None] * head.height for name in names
    }
    return {**columns, "numbers": _path_numbers(run, columns["flow"])}


def _slowest(flows: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """At most `FLOWS_MAX` rows of finished flows that count, by slowdown, then number; never all of a lazy frame."""
    finished = measured(flows).filter(pl.col("finished"))
    least = collected(finished.select(pl.col("slowdown").top_k(FLOWS_MAX).min().fill_null(math.inf))).item()
    above = collected(finished.filter(pl.col("slowdown") > least))
    equal = collected(finished.filter(pl.col("slowdown") == least).head(FLOWS_MAX))
    return pl.concat([above, equal]).sort("slowdown", descending=True, maintain_order=True).head(FLOWS_MAX)


def _path_numbers(run: Run, flows: Sequence[int]) -> list[list[int] | None]:
    if "events.parquet" not in run.manifest["files"]:
        return [None] * len(flows)
    arrivals = run.events.filter(pl.col("event").cast(pl.String) == "path", pl.col("flow").is_in(flows))
    numbers = dict(arrivals.group_by("flow").agg(pl.col("path").unique().sort()).iter_rows())
    return [numbers.get(flow, []) for flow in flows]
