"""What Linux's settings of loss detection do to flows over Wino's slices: run as root, on an idle machine.

The lab of `anabranch lab reproduce wino` at 100-50 Mb/s, slices without meters. Flows of 14 segments, and web search;
each with the settings that are said to choose the rule by which a sender takes a segment for lost. Printed are the
kernel's counters and the largest `reordering` that `ss` shows of a connection.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from anabranch.deploy.marking import nftables as marking
from anabranch.files.project.studies.wino.lab.cases import ASYMMETRIES, WORKLOADS
from anabranch.files.project.studies.wino.lab.measure import Point
from anabranch.files.project.studies.wino.lab.schemes import SCHEMES, Network, installed
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.traffic.play import Endpoint, Options, play

STUDY = Path(__file__).parents[2] / "studies" / "wino" / "lab"
SLOW = "100-50"
SETTINGS = ("recovery", "reordering", "max_reordering", "sack")
CASES = (
    (1, 3, 300, 1),
    (0, 3, 300, 1),
    (1, 300, 300, 1),
    (0, 300, 300, 1),
    (1, 3, 3, 1),
    (5, 300, 300, 1),
    (3, 3, 300, 1),
    (1, 3, 3, 0),
    (1, 300, 300, 0),
)
"""Bits of tcp_recovery: RACK 1, a window for reordering that does not adapt 2, no threshold of duplicates 4. Without
SACK senders count duplicates (RFC 6582)."""
COUNTERS = ("RetransSegs", "TCPFastRetrans", "TCPSACKReorder", "TCPDSACKRecv", "TCPLossProbes", "TCPTimeouts")
SAMPLE_NS = 250_000_000
FLOWS, GAP_NS, SIZE_BYTES = 800, 5e6, 20_000


def main() -> None:
    """Makes the lab, measures, prints, and removes the lab."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--load", type=float, default=0.5)
    parser.add_argument("--seconds", type=int, default=8)
    asked = parser.parse_args()
    point = Point(ASYMMETRIES[SLOW], WORKLOADS["web search"], asked.load, asked.seconds, 1, STUDY)
    small = {
        "src": [0, 1] * (FLOWS // 2),
        "dst": [2, 3] * (FLOWS // 2),
        "size_bytes": [SIZE_BYTES] * FLOWS,
        "start_ns": [GAP_NS * number for number in range(FLOWS)],
    }
    table = Table(box=None, pad_edge=False)
    for heading in ("flows", *SETTINGS, "AFCT, ms", *COUNTERS, "ss: reordering"):
        table.add_column(heading, justify="left" if heading == "flows" else "right")
    rates = {frozenset(("leaf0", "spine1")): 1_000_000 * int(SLOW.partition("-")[2])}
    (slices,) = (scheme for scheme in SCHEMES if scheme.name == "slices")
    lab = Lab.up(point.file, f"loss-rule-{os.getpid()}")
    try:
        lab.set_link("leaf0", "spine1", rate_bps=rates[frozenset(("leaf0", "spine1"))])
        for host in lab.hosts.values():
            marking.single_segments(host.interface, enter=host.enter)
        with installed(lab, slices, Network(rates)):
            for name, flows in (("14 segments", small), ("web search", point.scenario().flows())):
                for case in CASES:
                    table.add_row(name, *map(str, case), *measured(lab, flows, case, point.end_s))
    finally:
        lab.down()
    Console(width=180).print(table)


def measured(lab: Lab, flows: dict[str, Any], case: tuple[int, ...], end_s: int) -> list[str]:
    """A row of the table."""
    largest = 0

    def sample(_: int) -> None:
        nonlocal largest
        for host in lab.hosts.values():
            command = [*host.enter, "ss", "-tin"]
            shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
            largest = max([largest, *map(int, re.findall(r"reordering:(\d+)", shown))])

    endpoints = [Endpoint(host.namespace, host.address) for host in lab.hosts.values()]
    sysctls = {f"net.ipv4.tcp_{name}": str(value) for name, value in zip(SETTINGS, case, strict=True)}
    options = Options(end_ns=1e9 * end_s, sysctls=sysctls)
    found = play(endpoints, flows, options, every_ns=SAMPLE_NS, sample=sample)
    mean_ms = float(found.flows["fct_ns"].drop_nulls().to_numpy().mean()) / 1e6
    return [f"{mean_ms:.1f}", *(str(found.counters[name]) for name in COUNTERS), str(largest or 3)]


if __name__ == "__main__":
    main()
