"""One simulation by one thread and by several: wall time, and whether the results are the same.

`python bench/parts.py [THREADS] [ROUNDS]`: rounds of one thread and of several in turns, the least time of each. Wall
time counts, so the machine must be idle.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from anabranch._core import Run, Scenario

WORK = {
    "4x4x8, 10 Gb/s, 50 ms": (4, 4, 8, "10 Gbps", "50 ms"),
    "16x16x16, 10 Gb/s, 10 ms": (16, 16, 16, "10 Gbps", "10 ms"),
    "4x4x8, 400 Gb/s, 2 ms": (4, 4, 8, "400 Gbps", "2 ms"),
    "16x16x16, 400 Gb/s, 0.4 ms": (16, 16, 16, "400 Gbps", "400 us"),
    "16x16x16, 400 Gb/s, 2 ms": (16, 16, 16, "400 Gbps", "2 ms"),
    "the same over MPTCP, 0.4 ms": (16, 16, 16, "400 Gbps", "400 us", "mptcp"),
    "the same under CONGA, 0.4 ms": (16, 16, 16, "400 Gbps", "400 us", "dctcp", "conga"),
    "the same under Presto, 0.4 ms": (16, 16, 16, "400 Gbps", "400 us", "dctcp", "presto"),
}
"""Leaf-spine fabrics under web search at a load of 0.6: leaves, spines, hosts per leaf, rate, time of arrivals, and
transport and load balancer if they are not DCTCP and ECMP."""
PODS = """\
name = "pods"
[fabric]
kind = "fat-tree"
k = 12
hosts_per_leaf = 24
[fabric.link]
rate = "100 Gbps"
[[traffic]]
sizes = "web-search"
load = 0.6
duration = "2 ms"
[stop]
at = "2 ms"
"""
"""A fabric of pods, each of which is whole in one part: few links cross."""
RING = f"""\
kind = "ring-all-reduce"
workers = {[8 * leaf + host for host in range(8) for leaf in range(16)]}
size = "16 MB"
"""
"""All-reduce around all hosts, each of another leaf than the one before."""
HALVING_DOUBLING = """\
kind = "graph"
collective = "all-reduce"
algorithm = "halving-doubling"
placement = "spread"
size = "16 MB"
"""
"""All-reduce whose ranks wait for the end of what they send, at hosts of all leaves."""
JOBS = {
    "ring of 128 over RoCE, 16x8x8, 400 Gb/s": ("", RING, 'kind = "roce"'),
    "the same over lossless ports": ('preset = "lossless-roce"', RING, 'kind = "roce"'),
    "the same over lossless ports, HPCC": ('preset = "lossless-roce"', RING, 'kind = "roce"\ncontrol = "hpcc"'),
    "the same over UEC (NSCC) and trimming ports": ('preset = "uec-trimming"', RING, 'kind = "uec"'),
    "the same with credit of receivers (RCCC)": ('preset = "uec-trimming"', RING, 'kind = "uec"\ncontrol = "rccc"'),
    "all-reduce by halving and doubling, 128 over RoCE": ("", HALVING_DOUBLING, 'kind = "roce"'),
}
"""Keys of fabric, traffic and transport."""


def job(fabric: str, traffic: str, transport: str) -> str:
    """Scenario file of a job."""
    return f"""
name = "job"
[fabric]
{fabric}
leaves = 16
spines = 8
hosts_per_leaf = 8
[fabric.link]
rate = "400 Gbps"
[[traffic]]
{traffic}
[transport]
{transport}
"""


def text(
    leaves: int, spines: int, hosts: int, rate: str, duration: str, transport: str = "dctcp", balance: str = "ecmp"
) -> str:
    """Scenario file."""
    return f"""
name = "parts"
[fabric]
leaves = {leaves}
spines = {spines}
hosts_per_leaf = {hosts}
[fabric.link]
rate = "{rate}"
[[traffic]]
sizes = "web-search"
load = 0.6
duration = "{duration}"
[transport]
kind = "{transport}"
[routing]
balance = "{balance}"
"""


def same(one: Run, other: Run) -> bool:
    """Whether two runs have the same rows of flows and ports."""

    def equal(first: Any, second: Any) -> bool:
        columns = ((np.asarray(first[name]), np.asarray(second[name])) for name in first)
        return all(np.array_equal(one, other, equal_nan=one.dtype.kind == "f") for one, other in columns)

    return equal(one.flows, other.flows) and equal(one.ports, other.ports)


def timed(scenario: Scenario, threads: int) -> tuple[float, Run]:
    """Wall time of a run in seconds, and its results."""
    begun = time.perf_counter()
    run = scenario.run(threads=threads, part_anyway=True)
    return time.perf_counter() - begun, run


def main() -> None:
    """Prints a row for each piece of work."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print(f"| work | packet-hops | 1 thread, s | {threads} threads, s | ratio | same rows |")
    print("|---|---|---|---|---|---|")
    files = {name: text(*work) for name, work in WORK.items()} | {"12-pod fat-tree, 1,728 hosts, 100 Gb/s, 2 ms": PODS}
    files |= {name: job(*keys) for name, keys in JOBS.items()}
    for name, file in files.items():
        scenario = Scenario(file, "parts.toml")
        one_s = several_s = float("inf")
        for _ in range(rounds):
            seconds, one = timed(scenario, 1)
            one_s = min(one_s, seconds)
            seconds, several = timed(scenario, threads)
            several_s = min(several_s, seconds)
        equal = "yes" if same(one, several) and several.threads == threads else "no"
        hops = f"{int(one.totals['packet_hops']):,}"
        print(f"| {name} | {hops} | {one_s:.3f} | {several_s:.3f} | {one_s / several_s:.2f} | {equal} |", flush=True)


if __name__ == "__main__":
    main()
