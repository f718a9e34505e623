"""TCP and small packets end to end through eBPF, Open vSwitch and the kernel's own forwarding: run as root, when idle.

A host, a switch, four paths that weigh 4, 3, 2 and 1, a switch, a host: the same veth pairs and namespaces for all.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from anabranch import AnabranchError
from anabranch.split.stats.mape import mape, mape_floor
from forwarders import Forwarder, all_forwarders
from long_flows import long_flows
from two_hops import WEIGHTS, TwoHops, two_hops
from volleys import CONNECTIONS, Gun, Volley, gun

LOSS_MAX = 0.01
WARM_UP_PPS = 10_000.0
"""Slow enough for every switch to set up every connection."""
BISECTIONS, TRIAL_S = 5, 0.2
SEED = 6
SEGMENT_BYTES = 1448
"""Payload of TCP in a frame of 1500 bytes, with time stamps."""

TABLE_WIDTH = 160

Figures = dict[str, float]


@dataclass(frozen=True)
class Durations:
    """Durations of single measurements."""

    tcp_s: int
    packets_s: float


COLUMNS = {
    "1 conn on": ("Gb/s, 1 conn.", 1e-9),
    "8 conn on": ("8 conn.", 1e-9),
    "1 conn off": ("off: 1 conn.", 1e-9),
    "8 conn off": ("8 conn.", 1e-9),
    "again": ("sent again %", 100.0),
    "pps": ("kpps", 1e-3),
    "flood pps": ("kpps, flood", 1e-3),
    "flood delivered": ("of it arrives %", 100.0),
    "busy": ("µs/packet", 1e6),
    "mape": ("MAPE %", 1.0),
}
"""Columns of the table: the heading, and the factor from SI units to it."""


def main() -> None:
    """Measures in turn, again and again, and prints medians and how far the others are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=1, help="of each measurement of TCP and of packets")
    parser.add_argument("--quick", action="store_true", help="once, and packets for a quarter of the time")
    parser.add_argument("--only", metavar="TEXT", action="append", help="rows with the text in their name; may repeat")
    parser.add_argument("--offloads", choices=("on", "off"), help="measure with these alone; small packets with off")
    parser.add_argument("--json", metavar="FILE", help="every figure of every repetition, in SI units")
    asked = parser.parse_args()
    rows = [row for row in all_forwarders() if not asked.only or any(text in row.name for text in asked.only)]
    if not rows:
        parser.error(f"--only: none of {', '.join(row.name for row in all_forwarders())}")
    if asked.quick:
        asked.repetitions = 1
    console = Console(highlight=False, width=None if sys.stdout.isatty() else TABLE_WIDTH)
    began, load = time.monotonic(), os.getloadavg()[0]
    kinds = [kind for kind in ("on", "off") if asked.offloads in (None, kind)]
    durations = Durations(asked.seconds, asked.seconds / 4 if asked.quick else asked.seconds)
    found, refused = repeated(rows, asked.repetitions, kinds, durations, console)
    if asked.json:
        Path(asked.json).write_text(json.dumps({"figures": found, "refused": refused}, indent=1))
    show(console, found)
    for why in dict.fromkeys(refused.values()):
        names = ", ".join(name for name in refused if refused[name] == why)
        console.print(f"{names}: {why}", markup=False, soft_wrap=True)
    floor = mape_floor(np.array(WEIGHTS) / sum(WEIGHTS), CONNECTIONS)
    console.print(
        f"Linux {platform.release()}, {os.cpu_count()} cores, load average before {load:.1f}; "
        f"{asked.repetitions} x {asked.seconds} s, {time.monotonic() - began:.0f} s in all; "
        f"{CONNECTIONS} connections, which an ideal hash splits {floor:.2g} % off",
        soft_wrap=True,
    )


def repeated(
    rows: Sequence[Forwarder], repetitions: int, offloads: Sequence[str], durations: Durations, console: Console
) -> tuple[dict[str, list[Figures]], dict[str, str]]:
    """The figures of every repetition by row, and why rows cannot be had here."""
    found: dict[str, list[Figures]] = {row.name: [] for row in rows}
    refused: dict[str, str] = {}
    order = np.random.Generator(np.random.PCG64(SEED))
    with console.status("") as status:
        for repetition in range(repetitions):
            # Another order each time: whatever drifts hits all alike.
            for place, index in enumerate(order.permutation(len(rows))):
                row = rows[index]
                if row.name in refused:
                    continue
                status.update(f"{repetition + 1} of {repetitions}, {place + 1} of {len(rows)}: {row.name}")
                try:
                    found[row.name].append(measured(row, offloads, durations, repetition))
                except AnabranchError as error:
                    refused[row.name] = str(error)
    return {name: figures for name, figures in found.items() if name not in refused}, refused


def measured(row: Forwarder, offloads: Sequence[str], durations: Durations, repetition: int) -> Figures:
    """All figures of one way to forward, in a network of its own for each setting of the offloads.

    Each repetition has other connections: chance favours other rows.

    Raises:
        AnabranchError: it cannot be had here, or does not forward.

    """
    figures: Figures = {}
    for kind in offloads:
        if kind == "on" and row.wiring.frames_only:
            continue
        with (
            tempfile.TemporaryDirectory(prefix="anabranch-bench-") as folder,
            two_hops(Path(folder), row.wiring, offloads=kind == "on") as net,
            row.forwarding(net) as workers,
        ):
            if kind == "off":
                with gun(net, routed=row.wiring.routed, workers=workers, seed=repetition) as made:
                    figures |= packets(made, row.paths, durations.packets_s)
            figures |= streams(net, durations.tcp_s)
    return figures


def streams(net: TwoHops, seconds: int) -> Figures:
    """Payload of one and of eight connections of TCP (CUBIC), in bits a second."""
    figures: Figures = {}
    for count in (1, 8):
        flows = long_flows(net.source, net.target, seconds, streams=count)
        figures[f"{count} conn {'on' if net.offloads else 'off'}"] = flows.goodput_bps
        if count == 8 and not net.offloads:
            segments = flows.goodput_bps * seconds / 8 / SEGMENT_BYTES
            figures["again"] = flows.retransmitted_packets / segments
    return figures


def packets(made: Gun, paths: int, seconds: float) -> Figures:
    """Small packets: as fast as the sender can, and as fast as hardly one is lost."""
    made.fire(0, WARM_UP_PPS)
    flood = made.fire(seconds)
    if flood.arrived == 0:
        raise AnabranchError("nothing arrives; is a rule or a route missing?")
    best = flood if good(flood) else made.fire(seconds, sustained_pps(made, flood.offered / seconds))
    figures = {
        "pps": best.delivered_pps,
        "flood pps": flood.delivered_pps,
        "flood delivered": flood.delivered,
        "busy": best.busy_s / best.arrived,
    }
    if paths > 1:
        figures["mape"] = mape(np.array(WEIGHTS) / sum(WEIGHTS), best.by_path)
    return figures


def sustained_pps(made: Gun, too_much_pps: float) -> float:
    """The rate at which hardly a packet is lost (RFC 2544 section 26.1 with some tolerance), by bisection."""
    low, high = WARM_UP_PPS, too_much_pps
    for _ in range(BISECTIONS):
        middle = (low * high) ** 0.5
        if good(made.fire(TRIAL_S, middle)):
            low = middle
        else:
            high = middle
    return low


def good(volley: Volley) -> bool:
    """Whether hardly a packet was lost."""
    return volley.delivered >= 1 - LOSS_MAX


def show(console: Console, found: dict[str, list[Figures]]) -> None:
    """Prints the table."""
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for heading, _ in COLUMNS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for name, repetitions in found.items():
        table.add_row(
            name,
            *(cell([one[key] * factor for one in repetitions if key in one]) for key, (_, factor) in COLUMNS.items()),
        )
    console.print(table)


def cell(values: Sequence[float]) -> str:
    """The median, and how far off it another repetition was."""
    if not values:
        return "-"
    middle = median(values)
    text = f"{middle:.0f}" if middle >= 100 else f"{middle:.3g}" if middle >= 0.01 else f"{middle:.2f}"
    off = max(abs(value - middle) for value in values)
    return f"{text} ±{off / middle:.0%}" if middle >= 0.01 and off > middle / 200 else text


if __name__ == "__main__":
    main()
