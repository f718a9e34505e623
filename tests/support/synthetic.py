"""Topologies and frames with known contents, in the columns that the extension hands over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anabranch import _core
from anabranch.files.atomic_folder import written_whole
from anabranch.simulate.runs.folder import MANIFEST
from anabranch.simulate.runs.frames import write_frames
from anabranch.simulate.runs.manifest import DEFINITIONS

Link = tuple[int, int]


def topology(
    tiers: Sequence[str], pods: Sequence[int | None], links: Sequence[Link], changes: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Nodes by tier, hosts first; every link becomes two ports of 10 Gbit/s."""
    source = [node for link in links for node in link]
    target = [node for link in links for node in link[::-1]]
    number: dict[str, int] = {}
    names = []
    for tier in tiers:
        names.append(f"{tier}{number.setdefault(tier, 0)}")
        number[tier] += 1
    return {
        "nodes": {"name": names, "tier": list(tiers), "pod": list(pods)},
        "ports": {
            "from": source,
            "to": target,
            "reverse": [port ^ 1 for port in range(len(source))],
            "rate_bps": [10_000_000_000] * len(source),
            "delay_ns": [1000] * len(source),
            "cost": [1] * len(source),
            "buffer_bytes": [300_000] * len(source),
        },
        "hosts": number.get("host", 0),
        "changes": list(changes),
    }


def leaf_spine(leaves: int, spines: int, hosts: int, changes: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """`hosts` per leaf, one link from every leaf to every spine."""
    first_leaf = leaves * hosts
    links = [(host, first_leaf + host // hosts) for host in range(first_leaf)]
    links += [(first_leaf + leaf, first_leaf + leaves + spine) for leaf in range(leaves) for spine in range(spines)]
    tiers = ["host"] * first_leaf + ["leaf"] * leaves + ["spine"] * spines
    return topology(tiers, [None] * len(tiers), links, changes)


def fat_tree(k: int, hosts: int) -> dict[str, Any]:
    """The k-ary fat-tree with `hosts` per edge switch."""
    half = k // 2
    edges = aggregations = k * half
    first_edge = edges * hosts
    first_aggregation, first_core = first_edge + edges, first_edge + edges + aggregations
    links = [(host, first_edge + host // hosts) for host in range(first_edge)]
    links += [
        (first_edge + pod * half + edge, first_aggregation + pod * half + up)
        for pod in range(k)
        for edge in range(half)
        for up in range(half)
    ]
    links += [
        (first_aggregation + pod * half + up, first_core + up * half + core)
        for pod in range(k)
        for up in range(half)
        for core in range(half)
    ]
    tiers = ["host"] * first_edge + ["leaf"] * edges + ["aggregation"] * aggregations + ["spine"] * half**2
    pods: list[int | None] = [host // (half * hosts) for host in range(first_edge)]
    pods += [edge // half for edge in range(edges)] * 2
    return topology(tiers, [*pods, *[None] * half**2], links)


def flows(number: int, seed: int, stretch: float = 1.0) -> pl.DataFrame:
    """Sizes over five decades; one flow in a hundred is unfinished."""
    random = np.random.default_rng(seed)
    size = np.exp(random.normal(11.5, 2.2, number)).astype(np.int64) + 1
    ideal = 13_000 + size * 0.85
    fct = ideal * (1 + stretch * random.exponential(1.0, number))
    finished = np.arange(number) % 100 != 7
    counted = random.poisson(0.2, number)
    src, dst = random.integers(0, 8, number), random.integers(8, 16, number)
    packets, nothing, always = size // 1448 + 1, np.zeros(number, dtype=np.int64), np.ones(number, dtype=bool)
    known: dict[str, Any] = {
        "flow": np.arange(number),
        "src": src,
        "dst": dst,
        "src_name": [f"host{host}" for host in src],
        "dst_name": [f"host{host}" for host in dst],
        "size_bytes": size,
        "start_ns": np.sort(random.integers(0, 10_000_000, number)).astype(np.float64),
        "fct_ns": np.where(finished, fct, np.nan),
        "ideal_fct_ns": ideal,
        "slowdown": np.where(finished, fct / ideal, np.nan),
        **dict.fromkeys(("sent_bytes", "delivered_bytes", "received_bytes"), size),
        **dict.fromkeys(("sent_packets", "delivered_packets"), packets),
        **dict.fromkeys(("dropped_bytes", "dropped_packets", "lost_bytes", "lost_packets"), nothing),
        "paths": nothing + 1,
        "job": pl.Series([None] * number, dtype=pl.UInt32),
        "finished": finished,
    }
    others = {"integer": counted, "boolean": always}
    columns = {name: known[name] if name in known else others[kind] for name, kind, _ in _core.columns()["flows"]}
    return pl.DataFrame(columns).with_columns(pl.when(pl.col("finished")).then(pl.col("fct_ns", "slowdown")))


def ports(fabric: dict[str, Any], utilization: Sequence[float], length_ns: int = 10_000_000) -> pl.DataFrame:
    """One interval, in which each port was as busy as `utilization` says."""
    number = len(fabric["ports"]["from"])
    busy = np.asarray(utilization, dtype=np.float64)
    zeros = np.zeros(number, dtype=np.int64)
    return pl.DataFrame(
        {
            "port": np.arange(number),
            "from": fabric["ports"]["from"],
            "to": fabric["ports"]["to"],
            "start_ns": zeros,
            "length_ns": zeros + length_ns,
            "sent_bytes": (busy * length_ns * 1.25).astype(np.int64),
            "sent_packets": zeros + 1,
            "dropped_packets": zeros + 2,
            "lost_packets": zeros,
            "marked_packets": zeros + 3,
            "backlog_mean_bytes": busy,
            "backlog_max_bytes": zeros,
            "utilization": busy,
        }
    )


def write_run(
    folder: Path,
    fabric: dict[str, Any],
    seed: int,
    stretch: float = 1.0,
    traces: dict[str, pl.DataFrame] | None = None,
    flow_count: int = 2000,
) -> Path:
    """A run's folder such as `anabranch run` writes."""
    table = flows(flow_count, seed, stretch)
    busy = np.random.default_rng(seed).uniform(0.2, 0.9, len(fabric["ports"]["from"]))
    with written_whole(folder) as part:
        files = write_frames({"flows": table, "ports": ports(fabric, busy.tolist()), **(traces or {})}, part, csv=False)
        (part / "scenario.toml").write_text(f'name = "made"\nseed = {seed}\n[traffic]\nstretch = {stretch}\n')
        (part / "topology.json").write_text(json.dumps(fabric))
        manifest = {
            "name": "made",
            "identity": "0",
            "seed": seed,
            "model_version": 1,
            "packet_hops": 1_000_000,
            "dropped_packets": 2,
            "lost_packets": 0,
            "marked_packets": 3,
            "cpu_s": 0.1,
            "wall_s": 0.1,
            "peak_rss_bytes": 1 << 20,
            "flows_total": table.height,
            "flows_unfinished": table.height - int(table["finished"].sum()),
            "offered_load": [{"tier": "leaf to spine", "capacity_bps": 160e9, "load": 0.6}],
            "warnings": ["one <warning>"],
            "definitions": DEFINITIONS,
            "columns": {"flows": {"flow": {"type": "u32", "meaning": "number"}}},
            "files": {"scenario.toml": 1, "topology.json": 1} | files,
        }
        (part / MANIFEST).write_text(json.dumps(manifest))
    return folder
