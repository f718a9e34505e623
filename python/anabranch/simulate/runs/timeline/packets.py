"""Instants of single packets: drops, losses and marks at ports, changes of path at senders."""

from __future__ import annotations

import polars as pl

from anabranch.simulate.runs.timeline.fabric import PATHS, Fabric
from anabranch.simulate.runs.timeline.rounding import whole_ns
from anabranch.simulate.runs.timeline.stream import Stream

ARGUMENTS = ("flow", "packet", "path")
PORTLESS, PATHS_NAME = "Packets without a port", "paths of flows sent"


def write_packets(stream: Stream, fabric: Fabric, events: pl.DataFrame, flows: pl.DataFrame) -> None:
    """Writes an instant per row of `events.parquet`, on the track of its port, or of the paths of its sender."""
    senders = flows.select("flow", sender="src")
    timed = events.with_columns(pl.col("event", "packet").cast(pl.String), at=whole_ns("time_ns"))
    of_ports = timed.filter(pl.col("port").is_not_null()).sort("port", maintain_order=True)
    for row in of_ports.iter_rows(named=True):
        _write(stream, fabric.ports[row["port"]], row["event"], row)
    of_paths = timed.filter(pl.col("event") == "path").join(senders, on="flow", how="left", maintain_order="left")
    for part in of_paths.sort("sender", maintain_order=True).partition_by("sender", maintain_order=True):
        track = stream.track(PATHS_NAME, fabric.nodes[part["sender"][0]], PATHS)
        for row in part.iter_rows(named=True):
            _write(stream, track, f"flow {row['flow']}: path {row['path']}", row)
    portless = timed.filter(pl.col("port").is_null() & (pl.col("event") != "path"))
    if portless.height:
        track = stream.track(PORTLESS)
        for row in portless.iter_rows(named=True):
            _write(stream, track, row["event"], row)


def _write(stream: Stream, track: int, name: str, row: dict[str, int | str | None]) -> None:
    at = row["at"]
    assert isinstance(at, int)
    stream.instant(track, at, name, {key: row[key] for key in ARGUMENTS})
