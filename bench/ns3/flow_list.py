"""Lists of flows for both programs, from Python's own generator: they depend on neither."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER = "id,src,dst,size_bytes,start_ns,path"

# Web search, DCTCP 2010, as the load-balancing papers run it (snowzjx/ns3-load-balance DCTCP_CDF.txt).
SIZES_BYTES = (0, 10_000, 20_000, 30_000, 50_000, 80_000, 200_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000,
               30_000_000)  # fmt: skip
FRACTIONS = (0.0, 0.15, 0.2, 0.3, 0.4, 0.53, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)
MEAN_BYTES = sum((SIZES_BYTES[k] + SIZES_BYTES[k + 1]) / 2 * (FRACTIONS[k + 1] - FRACTIONS[k]) for k in range(11))


@dataclass(frozen=True)
class Fabric:
    """Leaves, spines, hosts of each leaf; links of one rate."""

    leaves: int = 4
    spines: int = 4
    hosts_per_leaf: int = 8
    rate_bps: int = 10_000_000_000

    def flows_per_s(self, load: float) -> float:
        """Poisson rate at which payload fills this fraction of all uplinks of the leaves."""
        return load * self.leaves * self.spines * self.rate_bps / 8 / MEAN_BYTES


def size_bytes(uniform: float) -> int:
    """The size at this quantile, linear between the points."""
    upper = max(1, bisect_left(FRACTIONS, uniform))
    part = (uniform - FRACTIONS[upper - 1]) / (FRACTIONS[upper] - FRACTIONS[upper - 1])
    return max(1, int(SIZES_BYTES[upper - 1] + part * (SIZES_BYTES[upper] - SIZES_BYTES[upper - 1])))


def flows(fabric: Fabric, load: float, seed: int) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Endless Poisson arrivals between hosts of two leaves, each on a random spine: a row of the list each."""
    draw = random.Random(seed)
    hosts = fabric.leaves * fabric.hosts_per_leaf
    at_s, number = 0.0, 0
    while True:
        at_s += draw.expovariate(fabric.flows_per_s(load))
        src = draw.randrange(hosts)
        dst = draw.randrange(hosts - fabric.hosts_per_leaf)
        if dst >= src - src % fabric.hosts_per_leaf:
            dst += fabric.hosts_per_leaf
        yield number, src, dst, size_bytes(draw.random()), int(at_s * 1e9), draw.randrange(fabric.spines)
        number += 1


def write(rows: Iterator[tuple[int, ...]], file: Path) -> int:
    """Writes the list; how many flows."""
    lines = [",".join(map(str, row)) for row in rows]
    file.write_text("\n".join([HEADER, *lines, ""]))
    return len(lines)
