"""Completion times under schemes against the ideal (the paper's Fig. 15): real TCP, paths as fast as their weights.

The paper's links are 10 Mb/s for each unit of weight. Rates and sizes of flows are multiplied by one factor, so that
this machine keeps up, and times are the paper's. The ideal knows every connection beforehand: each is pinned to a path
by a rule of its own, and any first part of the list is split as exactly as whole flows can be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from anabranch import _core
from anabranch.deploy.openflow.tables import Flow
from anabranch.files.errors import AnabranchError
from anabranch.lab.traffic.play import Endpoint, Options, play
from anabranch.split.splitter import Splitter
from anabranch.split.stats.confidence import Ratio, paired_ratio

from .accuracy import SCHEMES, WEIGHT_MAX, WEIGHT_MIN
from .fabric import Fabric
from .place import EDGES, Place

IDEAL = "ideal"
UNIT_BPS = 10_000_000
"""Rate of a link, for each unit of weight (the published `topoBuilder_lb.py`)."""
LOAD = 0.6
"""Not stated by the paper; as in `studies/valo/fct`."""
DRAIN_NS = 4_000_000_000
SOURCE_PORT_MIN = 10_000
SEED = 15
SCENARIO = """\
name = "valo"
seed = {seed}

[fabric]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = {hosts}

[[traffic]]
sizes = "{workload}"
pattern = "left-to-right"
load = {load}
capacity = "{capacity_bps} bps"
duration = "{duration_ms} ms"
"""


@dataclass(frozen=True)
class Trial:
    """The same flows under the ideal and every scheme."""

    workload: str
    weights: list[int]
    scale: float
    """Factor on rates and sizes."""
    flows: int
    compared: int
    """Flows that were finished under all of them; these are in the means."""
    fct_ms: dict[str, float]
    """Mean completion time, by scheme."""
    unfinished: dict[str, int]
    late_p99_ms: dict[str, float]
    """Lateness that 99 of 100 starts did not exceed, by scheme."""
    warnings: list[str]
    """Reasons why the results are worth less than they look."""


@dataclass(frozen=True)
class Line:
    """A scheme under one workload."""

    workload: str
    scheme: str
    trials: int
    flows: int
    unfinished: int
    times_ideal: Ratio


async def measure(
    fabric: Fabric,
    more: Sequence[tuple[Place, Sequence[str]]],
    workload: str,
    number: int,
    paths: int,
    total_bps: int,
    duration_ms: int,
    progress: Callable[[str], None],
) -> Trial:
    """Runs one trial: on `fabric` the ideal and all that Open vSwitch does, on `more` the schemes given there.

    `progress` is told what is about to run.

    Raises:
        AnabranchError: the traffic cannot be played, or nothing of it arrives.

    """
    random = np.random.Generator(np.random.PCG64([SEED, number]))
    weights = random.integers(WEIGHT_MIN, WEIGHT_MAX + 1, paths).tolist()
    scale = total_bps / (UNIT_BPS * sum(weights))
    for place in (fabric, *(place for place, _ in more)):
        for path, weight in enumerate(weights):
            for edge in EDGES:
                place.lab.set_link(edge, f"spine{path}", rate_bps=round(UNIT_BPS * weight * scale))
    hosts = [fabric.hosts(edge) for edge in EDGES]
    text = SCENARIO.format(
        seed=number + 1,
        hosts=len(hosts[0]),
        workload=workload,
        load=LOAD,
        capacity_bps=UNIT_BPS * sum(weights),
        duration_ms=duration_ms,
    )
    listed = _core.Scenario(text, "valo").flows()
    flows = pl.DataFrame(
        {name: listed[name] for name in ("flow", "src", "dst", "size_bytes", "start_ns")}
    ).with_columns(
        size_bytes=(pl.col("size_bytes") * scale).ceil().cast(pl.Int64),
        source_port=SOURCE_PORT_MIN + pl.int_range(pl.len()),
    )
    endpoints = _endpoints(fabric)
    options = Options(end_ns=float(duration_ms * 1_000_000 + DRAIN_NS))
    times: dict[str, pl.Series] = {}
    late_p99_ms: dict[str, float] = {}
    warnings: list[str] = []
    runs: list[tuple[Place, str]] = [(fabric, scheme) for scheme in (IDEAL, *SCHEMES)]
    runs += [(place, scheme) for place, schemes in more for scheme in schemes]
    for place, scheme in runs:
        progress(scheme)
        if scheme == IDEAL:
            await fabric.split("hash-gravity", weights, _pins(fabric, flows, endpoints, weights))
        else:
            await place.split(scheme, weights)
        place.forget_flows()
        played = await asyncio.to_thread(play, _endpoints(place), flows.to_dict(), options)
        times[scheme] = played.flows["fct_ns"]
        late_p99_ms[scheme] = played.late_p99_ns / 1e6
        warnings += [f"{workload}, {scheme}: {warning}" for warning in played.warnings()]
    table = pl.DataFrame(times)
    whole = table.drop_nulls()
    if whole.is_empty():
        raise AnabranchError(
            f"{workload}: no flow of {table.height} finished under all schemes; is the machine too busy?"
        )
    return Trial(
        workload,
        weights,
        scale,
        table.height,
        whole.height,
        {scheme: float(whole[scheme].mean()) / 1e6 for scheme in times},  # type: ignore[arg-type]
        {scheme: table[scheme].null_count() for scheme in times},
        late_p99_ms,
        warnings,
    )


def _endpoints(place: Place) -> list[Endpoint]:
    """Hosts of the first edge, then of the other."""
    hosts = [place.lab.hosts[name] for edge in EDGES for name in place.hosts(edge)]
    return [Endpoint(host.namespace, host.address) for host in hosts]


def _pins(
    fabric: Fabric, flows: pl.DataFrame, endpoints: Sequence[Endpoint], weights: Sequence[int]
) -> dict[str, set[Flow]]:
    """A rule for each connection, both ways: connections take turns as smoothly as the weights allow."""
    turns = Splitter("wrr", weights, order="smooth").pick(np.arange(flows.height, dtype=np.uint64))
    pins: dict[str, set[Flow]] = {edge: set() for edge in EDGES}
    for row, path in zip(flows.iter_rows(named=True), turns.tolist(), strict=True):
        source, target = endpoints[row["src"]].address, endpoints[row["dst"]].address
        port = row["source_port"]
        pins[EDGES[0]].add(fabric.pin(EDGES[0], path, ip_src=source, ip_dst=target, tcp_src=port))
        pins[EDGES[1]].add(fabric.pin(EDGES[1], path, ip_src=target, ip_dst=source, tcp_dst=port))
    return pins


def lines(trials: Sequence[Trial]) -> list[Line]:
    """The table's lines: per workload the schemes over the ideal, the geometric mean over trials."""
    rows = []
    for workload in dict.fromkeys(trial.workload for trial in trials):
        own = [trial for trial in trials if trial.workload == workload]
        ideal = np.array([trial.fct_ms[IDEAL] for trial in own])
        rows += [
            Line(
                workload,
                scheme,
                len(own),
                sum(trial.flows for trial in own),
                sum(trial.unfinished[scheme] for trial in own),
                paired_ratio(np.array([trial.fct_ms[scheme] for trial in own]), ideal),
            )
            for scheme in own[0].fct_ms
            if scheme != IDEAL
        ]
    return rows
