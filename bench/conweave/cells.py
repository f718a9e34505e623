"""Runs of the flows that conweave-ns3 was recorded with, through the simulator.

Flows come from `vectors/conweave`; the scenarios beside this file have its fabric, frames, switches and transport, and
`ROUTING` its load balancers. What is a quirk of it is a key here.
"""

from __future__ import annotations

import math
import shutil
import statistics
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from scipy.stats import t as student_t

import anabranch as ab

FOLDER = Path(__file__).parent
VECTORS = FOLDER.parents[1] / "vectors" / "conweave"
RECOVERIES = ("selective", "go-back-n")
LEAVES, SPINES, HOSTS_PER_LEAF = 8, 8, 16
CONGA = {"gap": "100 us", "period": "50 us", "age": "500 us", "candidates": 4, "wrap": False, "data_only": True}
ROUTING: dict[str, dict[str, Any]] = {
    "conweave": {"routing.balance": "conweave", "routing.scheme.control": "48 B"},
    "conga": {"routing.balance": "conga"} | {f"routing.scheme.{key}": value for key, value in CONGA.items()},
    "ecmp": {"routing.balance": "ecmp"},
    "letflow": {"routing.balance": "letflow", "routing.gap": "100 us"},
}


@dataclass
class Cell:
    """Results of a run here."""

    fct_ns: pl.Series
    """Completion times, flow by flow in the order of the list."""
    ports: pl.DataFrame
    processor_s: float

    @property
    def pauses(self) -> int:
        """Pause frames of all ports, repetitions included."""
        return int(self.ports["pauses_sent"].sum())


def udp_ports(flows: pl.DataFrame) -> list[tuple[int, int]]:
    """UDP ports of each flow there: how many its source has begun before, and how many its destination has received."""
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    numbers = []
    for src, dst in flows.select("src", "dst").iter_rows():
        numbers.append((10_000 + sent[src], 100 + received[dst]))
        sent[src] += 1
        received[dst] += 1
    return numbers


def murmur3(words: tuple[int, ...], seed: int) -> int:
    """MurmurHash3 in 32 bits (Austin Appleby, x86_32) of whole words."""
    mask = 0xFFFFFFFF

    def turned(value: int, bits: int) -> int:
        return (value << bits | value >> (32 - bits)) & mask

    value = seed
    for word in words:
        value ^= turned(word * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
        value = (turned(value, 13) * 5 + 0xE6546B64) & mask
    value ^= 4 * len(words)
    value = (value ^ value >> 16) * 0x85EBCA6B & mask
    value = (value ^ value >> 13) * 0xC2B2AE35 & mask
    return value ^ value >> 16


class TheirHash(ab.Scheme):
    """ECMP by the hash of conweave-ns3: the very paths that its flows and their acknowledgements took."""

    version = "1"

    def __init__(self, flows: pl.DataFrame) -> None:
        self.udp_ports = udp_ports(flows)

    def pick(self, packet: ab.Packet, view: ab.View) -> int:
        """The spine: leaves hash with their node's number, of which hosts have the first, and there are 8 ways up."""
        source, destination = self.udp_ports[packet.flow]
        if packet.kind != "data":
            source, destination = destination, source
        leaf = packet.src // HOSTS_PER_LEAF
        words = (_address(packet.src), _address(packet.dst), source | destination << 16)
        return murmur3(words, LEAVES * HOSTS_PER_LEAF + leaf) % len(view.members)


def _address(host: int) -> int:
    return 0x0B000001 + (host // 256 << 16) + (host % 256 << 8)


def run(
    recovery: str,
    routing: dict[str, Any] | ab.Scheme,
    flows: pl.DataFrame,
    seed: int,
    other: dict[str, Any] | None = None,
) -> Cell:
    """Sends `flows` (src, dst, size_bytes, start_ns) through a scenario beside this file, with `other` settings."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        listed = flows.select(pl.int_range(pl.len()).alias("id"), "src", "dst", "size_bytes", "start_ns")
        listed.write_csv(folder / "flows.csv")
        scenario = shutil.copy(FOLDER / f"{recovery}.toml", folder)
        own = routing if isinstance(routing, ab.Scheme) else None
        changes = {"seed": seed} | (ROUTING["ecmp"] if isinstance(routing, ab.Scheme) else routing) | (other or {})
        begun_s = time.process_time()
        found = ab.run(scenario, changes, scheme=own, runs=folder / "runs", progress=False)
        processor_s = time.process_time() - begun_s
        fct_ns, ports = found.flows.sort("flow")["fct_ns"], found.ports
    if fct_ns.null_count():
        raise RuntimeError(f"{recovery}, {routing}: {fct_ns.null_count()} flows did not finish")
    return Cell(fct_ns, ports, processor_s)


def cases() -> dict[tuple[str, str, str], pl.DataFrame]:
    """Small cases as they were recorded: flows with `fct_ns`, by case, load balancer and recovery."""
    recorded = pl.read_csv(VECTORS / "cases.csv")
    keys = ["case", "scheme", "recovery"]
    return {
        (str(case), str(scheme), str(recovery)): flows
        for (case, scheme, recovery), flows in recorded.partition_by(keys, as_dict=True).items()
    }


CASE_SEEDS = 8


@dataclass
class Beside:
    """Mean completion times of a small case."""

    theirs_ns: float
    ours_ns: float
    chance_ns: float
    """Standard deviation of one run here."""
    fits: bool
    """Whether theirs may be one more of ours: within the 99 % interval of Student's t."""


def beside(case: tuple[str, str, str], flows: pl.DataFrame, other: dict[str, Any] | None = None) -> Beside:
    """A small case of theirs beside several seeds here, with `other` settings; ECMP takes their paths."""
    _, scheme, recovery = case
    routing = TheirHash(flows) if scheme == "ecmp" else ROUTING[scheme]
    means_ns = [
        float(run(recovery, routing, flows, seed, other).fct_ns.to_numpy().mean()) for seed in range(1, CASE_SEEDS + 1)
    ]
    theirs_ns = float(flows["fct_ns"].to_numpy().mean())
    ours_ns, chance_ns = statistics.fmean(means_ns), statistics.stdev(means_ns)
    most = student_t.ppf(0.995, CASE_SEEDS - 1) * chance_ns * math.sqrt(1 + 1 / CASE_SEEDS)
    return Beside(theirs_ns, ours_ns, chance_ns, abs(theirs_ns - ours_ns) <= most)


def list_of_flows() -> pl.DataFrame:
    """The 58,474 flows of the eight cells."""
    return pl.read_csv(VECTORS / "flows.csv.gz")


def slowdowns(flows: pl.DataFrame, fct_ns: pl.Series) -> pl.Series:
    """Completion times over those of an empty fabric, at least 1, as the authors of conweave-ns3 define them.

    Their fabric: a round trip of 8,320 ns between racks and half of it within, 100 Gbit/s, packets of 1,000 bytes with
    48 of headers.
    """
    between = pl.col("src") // HOSTS_PER_LEAF != pl.col("dst") // HOSTS_PER_LEAF
    packets = (pl.col("size_bytes") + 999) // 1000
    alone_ns = pl.when(between).then(8320).otherwise(4160) + (pl.col("size_bytes") + 48 * packets) * 8 // 100
    return flows.select(pl.max_horizontal(1.0, fct_ns / alone_ns)).to_series()
