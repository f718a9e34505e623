"""Runs that were recorded of uet-htsim, and the same runs here.

What they sent and what came out stands in `vectors/uec`; this has the same fabrics, frames, ports and transport as keys
of scenarios.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import anabranch as ab

VECTORS = Path(__file__).resolve().parents[2] / "vectors" / "uec"
APART = {("perm1024_p1", "fct_max_us")} | {
    (name, "fct_min_us") for name in ("own_a2a16", "own_a2a64", "own_a2a64_failed1", "own_a2a64_failed4", "own_a2a128")
}
"""Statistics that are out of range, with the reason in `docs/validation/uet-htsim.md`."""
STATISTICS = ("fct_min_us", "fct_mean_us", "fct_p99_us", "fct_max_us")

FRAME_BYTES = 4150
"""A full frame there, headers included."""


@dataclass(frozen=True)
class Row:
    """A run of `vectors/uec/rows.csv`, but for its seed."""

    matrix: str
    """Flows: a matrix of `flows.csv.gz`; a file of uet-htsim's, whose flows wait for each other; or `all-to-all N`:
    64 KiB from each of N hosts to each, to the next host first."""
    fabric: str
    paths: int = 64
    balance: str = "mixed"
    every_packet: bool = False
    """Whether every packet is acknowledged, instead of each 16,384 B."""
    first_window: int | None = None
    """First window in full frames, where it is not the largest."""
    slow_links: int = 0
    """Links from cores to the first aggregation that have a quarter of their rate, buffer and thresholds."""
    control: str = "nscc"
    """Congestion control."""


ROWS = {
    "single": Row("one", "fat-tree 4"),
    "bidir": Row("bidir", "fat-tree 4"),
    "incast16": Row("incast", "fat-tree 4"),
    "incast128": Row("incast_128", "fat-tree 8"),
    "incast3to1": Row("incast_overlapped", "fat-tree 8", first_window=50),
    "outcast_incast": Row("outcast_incast", "fat-tree 8"),
    "perm16_p128": Row("permutation_16", "fat-tree 4", paths=128),
    "perm16_p128_failed1": Row("permutation_16", "fat-tree 4", paths=128, slow_links=1),
    "perm16_p1": Row("permutation_16", "fat-tree 4", paths=1),
    "own_a2a16": Row("all_to_all_16", "fat-tree 4", paths=128),
    "own_a2a64": Row("all-to-all 64", "fat-tree 8", paths=128),
    "own_a2a64_failed1": Row("all-to-all 64", "fat-tree 8", paths=128, slow_links=1),
    "own_a2a64_failed4": Row("all-to-all 64", "fat-tree 8", paths=128, slow_links=4),
    "own_a2a128": Row("all-to-all 128", "fat-tree 8", paths=128),
    "own_ring8": Row("ring_8_of_16.cm", "fat-tree 4", paths=128),
    "own_phases16": Row("phases_16.cm", "fat-tree 4", paths=128),
    "perm1024_p128": Row("permutation_1024", "fat-tree 16", paths=128),
    "perm1024_p128_failed1": Row("permutation_1024", "fat-tree 16", paths=128, slow_links=1),
    "perm1024_p1": Row("permutation_1024", "fat-tree 16", paths=1),
    "perm1024_ls4to1": Row("permutation_1024", "leaf-spine 8", paths=128),
    "lb_oblivious": Row("permutation_1024", "fat-tree 16", paths=128, balance="oblivious"),
    "lb_bitmap": Row("permutation_1024", "fat-tree 16", paths=128, balance="bitmap"),
    "lb_reps": Row("permutation_1024", "fat-tree 16", paths=128, balance="reps"),
    "lb_reps_1sack": Row("permutation_1024", "fat-tree 16", paths=128, balance="reps", every_packet=True),
    "lb_mixed": Row("permutation_1024", "fat-tree 16", paths=128),
    "lb_mixed_1sack": Row("permutation_1024", "fat-tree 16", paths=128, every_packet=True),
    "lbf8_oblivious": Row("permutation_1024", "fat-tree 16", paths=128, balance="oblivious", slow_links=8),
    "lbf8_bitmap": Row("permutation_1024", "fat-tree 16", paths=128, balance="bitmap", slow_links=8),
    "lbf8_reps_1sack": Row(
        "permutation_1024", "fat-tree 16", paths=128, balance="reps", every_packet=True, slow_links=8
    ),
    "lbf8_mixed_1sack": Row("permutation_1024", "fat-tree 16", paths=128, every_packet=True, slow_links=8),
}
CREDITED = (
    "single",
    "bidir",
    "incast16",
    "incast128",
    "incast3to1",
    "outcast_incast",
    "perm16_p128",
    "perm16_p128_failed1",
    "perm16_p1",
)
"""Rows that were also run with receiver credits, alone (`rcv_`) and beside NSCC (`both_`)."""
ROWS |= {
    f"{prefix}_{name}": dataclasses.replace(ROWS[name], control=control)
    for prefix, control in (("rcv", "rccc"), ("both", "nscc+rccc"))
    for name in CREDITED
}


def recorded() -> pl.DataFrame:
    """Rows of uet-htsim, one for each run and seed."""
    return pl.read_csv(VECTORS / "rows.csv")


def agrees(name: str, theirs: pl.Series, ours: pl.Series) -> bool:
    """Whether the mean over seeds is within 5 % of theirs (30 % for single paths of 16 hosts) or in their range."""
    mean = float(ours.mean())
    allowed = 0.3 if name.endswith("perm16_p1") else 0.05
    return abs(mean / float(theirs.mean()) - 1) <= allowed or theirs.min() <= mean <= theirs.max()


@dataclass
class Outcome:
    """What a run here gave."""

    fct_us: pl.Series
    """Completion times of its flows."""
    retransmitted: int
    timeouts: int
    packet_hops: int
    processor_s: float
    """Processor time of the simulation alone."""

    def statistics(self) -> dict[str, float]:
        """Least, mean, 99th percentile (the value of that rank, as in the rows) and largest completion time."""
        ordered = self.fct_us.sort()
        rank = math.ceil(0.99 * len(ordered)) - 1
        values = (ordered[0], ordered.mean(), ordered[rank], ordered[-1])
        return dict(zip(STATISTICS, map(float, values), strict=True))


def run(row: Row, seed: int) -> Outcome:
    """Runs what a row ran.

    Raises RuntimeError if a flow did not finish.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        setting = scenario(row, folder) | {"seed": seed}
        begun_s = time.process_time()
        found = ab.run(setting, runs=folder / "runs", progress=False)
        processor_s = time.process_time() - begun_s
        flows = found.flows.sort("flow")
        hops = found.ports["sent_packets"].sum()
    if flows["fct_ns"].null_count():
        raise RuntimeError(f"{row}: {flows['fct_ns'].null_count()} flows did not finish")
    return Outcome(
        flows["fct_ns"] / 1000,
        int(flows["retransmitted_packets"].sum()),
        int(flows["timeouts"].sum()),
        int(hops),
        processor_s,
    )


def scenario(row: Row, folder: Path) -> dict[str, Any]:
    """A row as a scenario, whose files are put into `folder`."""
    kind, size = row.fabric.split()
    # Room of a port: what a link carries in a round trip, in full frames. Marks from 0.2 to 0.8 of it.
    frames, low, high = (43, 9, 35) if kind == "fat-tree" else (29, 6, 24)
    link: dict[str, Any] = {"rate": "100 Gbps", "delay": "1 us", **_room(1, frames, low, high)}
    fabric: dict[str, Any] = {"preset": "uec-trimming", "kind": kind, "link": link}
    if row.control != "nscc":
        # With receiver credits, ports to hosts do not mark there (main_uec.cpp, set_ecn_parameters).
        fabric["host_link"] = {"ecn": "off"}
    changes = []
    if kind == "leaf-spine":
        fabric |= {"leaves": 32, "spines": int(size), "hosts_per_leaf": 32}
    elif row.slow_links:
        slow = [f"core{core}" for core in range(row.slow_links)]
        host_link = link | fabric.pop("host_link", {})
        fabric |= {"kind": "graph"} | _graph(int(size), slow, link | _room(4, frames, low, high), host_link)
        changes = [{"link": [f"{core}>agg0.0" for core in slow], "rate": "25 Gbps"}]
    else:
        fabric["k"] = int(size)
    routing: dict[str, Any] = {"balance": "ecmp"}
    if row.paths > 1:
        balance = "reps" if row.balance == "reps" else f"uec-{row.balance}"
        routing = {"balance": balance, "scheme": {"entropies": row.paths}}
    transport: dict[str, Any] = {
        "kind": "uec",
        "control": row.control,
        "completion": "acknowledged",
        "rto": f"{15_000 + 6 * frames * FRAME_BYTES * 8 // 100} ns",
    }
    if row.first_window is not None and row.control != "rccc":
        transport["first_window"] = f"{row.first_window * FRAME_BYTES} B"
    if row.every_packet:
        transport["ack_bytes"] = "4000 B"
    return {
        "name": "uec-row",
        "fabric": fabric,
        "change": changes,
        "routing": routing,
        "transport": transport,
        "host": {"nic": "rdma", "jitter": False},
        "framing": {"mss": "4086 B", "headers": "64 B", "least_frame": "64 B", "gap": "0 B"},
        "traffic": [_traffic(row.matrix, folder)],
        "record": {"interval": "0 s"},
    }


def _room(divisor: int, frames: int, low: int, high: int) -> dict[str, Any]:
    marks = {"low": f"{low * FRAME_BYTES // divisor} B", "high": f"{high * FRAME_BYTES // divisor} B"}
    return {"buffer": f"{frames * FRAME_BYTES // divisor} B", "ecn": marks | {"probability": 1.0}}


def _graph(ports: int, slow: list[str], slow_link: dict[str, Any], host_link: dict[str, Any]) -> dict[str, Any]:
    """A fat-tree whose links from `slow` cores down to the first aggregation have less room."""
    half = ports // 2
    tiers: dict[str, list[str]] = {"host": [], "leaf": [], "aggregation": [], "spine": []}
    edges: list[dict[str, Any]] = []
    for pod in range(ports):
        for one in range(half):
            leaf, aggregation = f"leaf{pod}.{one}", f"agg{pod}.{one}"
            tiers["leaf"].append(leaf)
            tiers["aggregation"].append(aggregation)
            hosts = [f"host{(pod * half + one) * half + host}" for host in range(half)]
            tiers["host"] += hosts
            edges += [{"from": host, "to": leaf} | copy.deepcopy(host_link) for host in hosts]
            edges += [{"from": leaf, "to": f"agg{pod}.{other}"} for other in range(half)]
            edges += [{"from": aggregation, "to": f"core{one * half + core}"} for core in range(half)]
    for edge in edges:
        if edge["from"] == "agg0.0" and edge["to"] in slow:
            edge["back"] = copy.deepcopy(slow_link)
    tiers["spine"] = [f"core{core}" for core in range(half * half)]
    nodes = [{"name": name, "tier": tier} for tier, names in tiers.items() for name in names]
    return {"node": nodes, "edge": edges}


def _traffic(matrix: str, folder: Path) -> dict[str, Any]:
    if matrix.endswith(".cm"):
        return {"kind": "graph", "file": str(VECTORS / matrix)}
    if matrix.startswith("all-to-all "):
        flows = _all_to_all(int(matrix.split()[1]))
    else:
        flows = pl.read_csv(VECTORS / "flows.csv.gz").filter(pl.col("matrix") == matrix)
    file = folder / "flows.csv"
    flows.select(
        pl.int_range(pl.len()).alias("id"),
        "src",
        "dst",
        "size_bytes",
        (pl.col("start_us") * 1000).alias("start_ns"),
    ).write_csv(file)
    return {"kind": "flow-list", "file": str(file)}


def _all_to_all(hosts: int) -> pl.DataFrame:
    pairs = [(host, (host + step) % hosts) for step in range(1, hosts) for host in range(hosts)]
    return pl.DataFrame(pairs, schema=["src", "dst"], orient="row").with_columns(size_bytes=65536, start_us=0)
