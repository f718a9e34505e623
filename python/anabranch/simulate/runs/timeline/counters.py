"""Counters: backlog and utilization of ports, sampled backlogs, congestion windows and rates."""

from __future__ import annotations

import polars as pl

from anabranch.simulate.runs.timeline.fabric import RATES, WINDOWS, Fabric
from anabranch.simulate.runs.timeline.rounding import whole_ns
from anabranch.simulate.runs.timeline.stream import Stream

OF_INTERVALS = (
    ("backlog_mean_bytes", "mean backlog", "bytes"),
    ("backlog_max_bytes", "largest backlog", "bytes"),
    ("utilization", "utilization", "of the rate"),
)
"""Column of `ports.parquet`, name of the counter, unit."""
SAMPLED = "sampled backlog"
OF_FLOWS = (
    ("window_bytes", "congestion window", WINDOWS, "bytes"),
    ("rate_bps", "allowed rate", RATES, "bits per second"),
)
"""Column of `windows.parquet`, name of the counter, position, unit."""


def write_ports(stream: Stream, fabric: Fabric, ports: pl.DataFrame) -> None:
    """Writes a counter per port and quantity, which has an interval's value from the interval's start on."""
    for port, rows in _each(ports, "port", "start_ns"):
        for rank, (column, name, unit) in enumerate(OF_INTERVALS):
            if column in rows.columns:
                track = stream.counter(name, fabric.ports[port], rank, unit=unit, alike=unit)
                _write(stream, track, rows, "start_ns", column)


def write_queues(stream: Stream, fabric: Fabric, queues: pl.DataFrame) -> None:
    """Writes a counter per port whose backlog was sampled."""
    for port, rows in _each(queues, "port", "time_ns"):
        track = stream.counter(SAMPLED, fabric.ports[port], len(OF_INTERVALS), unit="bytes", alike="bytes")
        _write(stream, track, rows, "time_ns", "backlog_bytes")


def write_windows(stream: Stream, fabric: Fabric, windows: pl.DataFrame, flows: pl.DataFrame) -> None:
    """Writes a counter of the window and one of the rate per flow that has them, at the host that sends it."""
    senders = dict(flows.select("flow", "src").iter_rows())
    for flow, rows in _each(windows, "flow", "time_ns"):
        for column, name, rank, unit in OF_FLOWS:
            # Folders that an earlier version wrote have no rates; UDP has no window.
            if column in rows.columns and rows[column].count():
                track = stream.counter(
                    f"{name} of flow {flow}", fabric.nodes[senders[flow]], rank, unit=unit, alike=name
                )
                _write(stream, track, rows.drop_nulls(column), "time_ns", column)


def _each(table: pl.DataFrame, key: str, time: str) -> list[tuple[int, pl.DataFrame]]:
    """Rows of each key by time, the keys ascending."""
    parts = table.sort(key, time, maintain_order=True).partition_by(key, maintain_order=True)
    return [(part[key][0], part) for part in parts]


def _write(stream: Stream, track: int, rows: pl.DataFrame, time: str, column: str) -> None:
    """Writes a column as a counter. A counter keeps its value, so one that stays is written once."""
    kept = rows.filter(pl.col(column).ne_missing(pl.col(column).shift()))
    for at_ns, value in kept.select(whole_ns(time), column).iter_rows():
        stream.count(track, at_ns, value)
