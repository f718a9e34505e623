"""Queues, congestion windows and rates of flows over time, thinned without losing a peak."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from anabranch.report.page.explore.packed import pack
from anabranch.report.page.material import Material
from anabranch.report.plot.traces import spans
from anabranch.simulate.runs.results import Run

KINDS = {
    "queues": ("queues", "port", "backlog_bytes"),
    "windows": ("windows", "flow", "window_bytes"),
    "rates": ("windows", "flow", "rate_bps"),
}
"""Kinds of traces: the table that has them, whose they are, and what is traced."""
POINTS_MAX = 800
POINTS_MIN = 80
BYTES_MAX = 500_000
"""Largest size of all traces, before they become text."""
POINT_BYTES = 16


@dataclass(frozen=True)
class Trace:
    """One port's backlog or one flow's window or rate in one run."""

    kind: str
    of: str
    """Port or flow in words."""
    label: str
    """Series that the run stands for."""
    frame: pl.DataFrame
    """Columns `time_ns` and `value`."""


def traces(material: Material) -> Iterator[Trace]:
    """All traces of the runs that represent the series, group by group."""
    for kind, (table, key, value) in KINDS.items():
        for group in material.groups:
            for one, run in zip(group.series, group.runs, strict=True):
                if f"{table}.parquet" not in run.manifest["files"]:
                    continue
                label = ", ".join(part for part in (one.label, group.title) if part)
                frame: pl.DataFrame = getattr(run, table)
                # Folders that an earlier version wrote have no rates.
                if value not in frame.columns:
                    continue
                frame = frame.drop_nulls(value)
                for (number,), part in frame.partition_by(key, as_dict=True, maintain_order=True).items():
                    chosen = part.select(
                        pl.col("time_ns").cast(pl.Float64), pl.col(value).cast(pl.Float64).alias("value")
                    )
                    yield Trace(kind, trace_name(run, key, int(number)), label, chosen)


def trace_name(run: Run, key: str, number: int) -> str:
    """Port or flow of a trace in words."""
    if key == "flow":
        return f"flow {number}"
    names, ports = run.topology["nodes"]["name"], run.topology["ports"]
    return f"{names[ports['from'][number]]} to {names[ports['to'][number]]} (port {number})"


def packed_traces(material: Material) -> dict[str, Any]:
    """Traces as data: the smallest and largest value from each time on.

    A trace has at most `points_max` times; `left_out` says for how many traces there was no room.
    """
    packed = list(traces(material))
    shown = packed[: BYTES_MAX // (POINT_BYTES * POINTS_MIN)]
    points_max = min(POINTS_MAX, BYTES_MAX // (POINT_BYTES * max(1, len(shown))))
    rows = []
    for trace in shown:
        times, low, high = spans(trace.frame["time_ns"].to_numpy(), trace.frame["value"].to_numpy(), points_max)
        rows.append(
            {
                "kind": trace.kind,
                "of": trace.of,
                "label": trace.label,
                "time_ns": pack(times, "f8"),
                "low": pack(low, "f4"),
                "high": pack(high, "f4"),
                "thinned": trace.frame.height > points_max,
            }
        )
    return {"rows": rows, "points_max": points_max, "left_out": len(packed) - len(shown)}
