"""Flows: a slice each at the sender, and an arrow to the receiver when the last byte arrives."""

from __future__ import annotations

import heapq

import polars as pl

from anabranch.simulate.runs.timeline.fabric import RECEIVED, SENT, Fabric
from anabranch.simulate.runs.timeline.rounding import whole_ns
from anabranch.simulate.runs.timeline.stream import Stream

SENT_NAME, RECEIVED_NAME = "flows sent", "flows received"


def write_flows(stream: Stream, fabric: Fabric, flows: pl.DataFrame, end_ns: float) -> None:
    """Writes flows that began; those that did not end last until the run does.

    A slice has its row of `flows.parquet` as arguments. Slices of a track may not overlap, so that a host has as many
    tracks as it sends flows at once; of one name, they are drawn as one.
    """
    end = pl.col("start_ns") + pl.col("fct_ns").fill_null(end_ns - pl.col("start_ns"))
    begun = flows.filter(pl.col("start_ns").is_not_null()).sort("start_ns", "flow")
    timed = begun.with_columns(begin=whole_ns("start_ns")).with_columns(end=end).with_columns(whole_ns("end"))
    arguments = flows.columns
    for part in timed.partition_by("src", maintain_order=True, include_key=True):
        lanes: list[int] = []
        free: list[int] = []
        busy: list[tuple[int, int]] = []
        for row in part.iter_rows(named=True):
            while busy and busy[0][0] <= row["begin"]:
                heapq.heappush(free, heapq.heappop(busy)[1])
            if not free:
                heapq.heappush(free, len(lanes))
                lanes.append(stream.track(SENT_NAME, fabric.nodes[row["src"]], SENT))
            lane = heapq.heappop(free)
            heapq.heappush(busy, (row["end"], lane))
            name = f"flow {row['flow']} to {row['dst_name']}" + ("" if row["finished"] else ", unfinished")
            arrow = row["flow"] + 1 if row["finished"] else None
            shown = {key: row[key] for key in arguments}
            stream.slice(lanes[lane], row["begin"], row["end"], name, shown, arrow)
    for part in timed.filter("finished").sort("end", "flow").partition_by("dst", maintain_order=True):
        track = stream.track(RECEIVED_NAME, fabric.nodes[part["dst"][0]], RECEIVED)
        for row in part.select("flow", "src_name", "end", "size_bytes").iter_rows(named=True):
            name = f"flow {row['flow']} from {row['src_name']}"
            shown = {key: row[key] for key in ("flow", "size_bytes")}
            stream.instant(track, row["end"], name, shown, row["flow"] + 1)
