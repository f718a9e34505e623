"""Interruption of flows when a link of a controlled fabric fails: run as root, on an idle machine.

Failures of a leaf-spine fabric, each with 20 000 packets a second from host0 to the last host:

* local: the link from the sender's leaf to a spine; the leaf's own `watch_port` moves flows, the controller follows.
* remote: the link from a spine to the receiver's leaf; the sender's leaf learns of it by the controller alone.
* silent: as remote, but the carrier stays: BFD between the switches finds out.
* back: a link that comes back; nothing should be lost.

With `--switch ebpf` switches are datapaths in the kernel: the controller moves flows in both cases; there is no BFD.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import outage
from anabranch.deploy.targets.registry import DEFAULT
from anabranch.lab.fabric import controller
from anabranch.lab.fabric.switching import kinds
from anabranch.lab.fabric.topology import Lab

REST_S, BFD_START_S = 1.0, 5.0
FABRIC = """[fabric]
kind = "leaf-spine"
leaves = {leaves}
spines = {spines}
hosts_per_leaf = 1
link = {{ rate = "1 Gbps" }}
"""


def main() -> None:
    """Makes the lab, measures, prints, and removes the lab."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, default in (("leaves", 2), ("spines", 2), ("trials", 10), ("rate", 20_000), ("bfd-ms", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--switch", choices=kinds(), default=DEFAULT)
    asked = parser.parse_args()
    found = measured(asked, None)
    if asked.switch == DEFAULT:
        found |= measured(asked, asked.bfd_ms)
    table = Table(box=None, pad_edge=False)
    for heading in (
        "failure",
        "flows hit",
        "lost packets",
        "outage, median (ms)",
        "longest of a flow (ms)",
        "recovered",
    ):
        table.add_column(heading, justify="left" if heading == "failure" else "right")
    for failure, results in found.items():
        table.add_row(
            failure,
            f"{np.mean([one.flows_hit / one.flows for one in results]):.0%}",
            f"{np.mean([one.lost for one in results]):.0f}",
            f"{np.median([one.mean_ms for one in results]):.1f}",
            f"{max(one.longest_ms for one in results):.1f}",
            f"{sum(one.recovered for one in results)} of {len(results)}",
        )
    Console(highlight=False).print(table)


def measured(asked: argparse.Namespace, bfd_ms: int | None) -> dict[str, list[outage.Outage]]:
    """Results by kind of failure, in a lab of its own: without BFD what ports tell of, with BFD the silent one."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "failover.toml"
        scenario.write_text(FABRIC.format(leaves=asked.leaves, spines=asked.spines))
        lab = Lab.up(scenario, f"failover-{os.getpid()}", switch=asked.switch, bfd_ms=bfd_ms)
        try:
            # Links that fail again and again are what is wanted here.
            with lab.fabric_file.open("a") as file:
                file.write("\n[damping]\nuse = false\n")
            controller.start(lab)
            if bfd_ms is not None:
                # BFD begins at one packet a second (RFC 5880 section 6.8.3): until then links do not count as up.
                time.sleep(BFD_START_S)
            return trials(lab, asked, silent=bfd_ms is not None)
        finally:
            lab.down()


def trials(lab: Lab, asked: argparse.Namespace, *, silent: bool) -> dict[str, list[outage.Outage]]:
    """Results by kind of failure."""
    last = asked.leaves - 1
    source, target = lab.hosts["host0"], lab.hosts[f"host{last}"]
    local, remote = ("leaf0", "spine0"), ("spine0", f"leaf{last}")
    kinds = {"silent": remote} if silent else {"local": local, "remote": remote}
    back = "back from silence" if silent else "back"
    found: dict[str, list[outage.Outage]] = {name: [] for name in (*kinds, back)}

    def turn(link: tuple[str, str], failed: bool) -> Callable[[], None]:
        if silent:
            return lambda: lab.set_link(*link, silent=failed)
        return lambda: lab.set_link(*link, up=not failed)

    for _ in range(asked.trials):
        for kind, link in kinds.items():
            for name, failed in ((kind, True), (back, False)):
                found[name].append(outage.measure(source, target, turn(link, failed), packets_per_s=asked.rate))
                # Waits until the controller is at rest, and a link that is back is used again.
                time.sleep(BFD_START_S if silent else REST_S)
                controller.start(lab)
    return found


if __name__ == "__main__":
    main()
