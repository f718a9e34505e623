"""Tables of a run on a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import bit_rate, count, duration, pct
from anabranch.report.tables.requests_table import show_requests
from anabranch.report.tables.steps_table import show_steps
from anabranch.simulate.runs.class_table import ABSENT, class_rows
from anabranch.simulate.stats import host_queues, replay, retransmission
from anabranch.simulate.stats.fct import STATISTICS, statistics
from anabranch.simulate.stats.jobs import completion_ns
from anabranch.simulate.stats.size_classes import SizeClass
from anabranch.simulate.stats.starts import last_start_ns
from anabranch.simulate.stats.tier_load import achieved
from anabranch.simulate.stats.tiers import direction_words, tier_counts

if TYPE_CHECKING:
    from anabranch.simulate.runs.results import Run


def show(run: Run, classes: Sequence[SizeClass], console: Console) -> None:
    """Prints FCT and slowdown by class, load by tier, dropped and marked packets, and the cost of the run."""
    manifest = run.manifest
    header, rows = class_rows(run.scanned_flows, classes)
    table = plain_table(
        *((cell.replace(" ", "\n", 1) if index > 2 else f"\n{cell}", index > 0) for index, cell in enumerate(header))
    )
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()
    if run.has_steps:
        show_steps(run, console)
        show_requests(run, console)
    else:
        _show_jobs(run, console)
    _show_load(run, console)
    flows, unfinished, drops, lost, marks = run.sums.values()
    console.print(
        f"{count(drops)} packets dropped, {count(lost)} lost to failures, {count(marks)} marked; "
        f"{count(unfinished)} of {count(flows)} flows unfinished{_counted(run)}",
        markup=False,
        style="yellow" if unfinished else "",
        soft_wrap=True,
    )
    # Folders that an earlier version wrote have none.
    counted = [f"{count(number)} {what}" for what, number in manifest.get("balancer", {}).items()]
    if counted:
        console.print("; ".join(counted), markup=False, soft_wrap=True)
    for warning in manifest["warnings"]:
        if warning.startswith((host_queues.BEGINNING, retransmission.BEGINNING, replay.BEGINNING)):
            console.print(f"warning: {warning}", style="yellow", markup=False, soft_wrap=True)
    for sentence in run.advice(classes):
        console.print(f"advice: {sentence}", markup=False, soft_wrap=True)
    hops, wall_s = int(manifest["packet_hops"]), float(manifest["wall_s"])
    console.print(
        f"{count(hops)} packet-hops in {wall_s:.2f} s: {hops / max(wall_s, 1e-9) / 1e6:.1f} million/s",
        markup=False,
        soft_wrap=True,
    )
    console.print(f"results: {run.folder}", markup=False, soft_wrap=True)


def _counted(run: Run) -> str:
    """Window of measurement and what it leaves out; empty without one."""
    if run.window.whole:
        return ""
    end = "" if math.isinf(run.window.to_ns) else f" to {duration(run.window.to_ns)}"
    others = int(run.manifest["flows_total"]) - run.sums["flows"]
    return f" (of those that begin from {duration(run.window.from_ns)}{end}; {count(others)} others do not count)"


def _show_jobs(run: Run, console: Console) -> None:
    times, unfinished = completion_ns(run.scanned_flows)
    if len(times) + unfinished == 0:
        return
    table = plain_table(
        ("\njobs", True), ("\nunfinished", True), *((f"completion\n{name}", True) for name in STATISTICS)
    )
    cells = [ABSENT if value is None else duration(value) for value in statistics(times).values()]
    table.add_row(count(len(times) + unfinished), count(unfinished), *cells)
    console.print(table)
    console.print()


def _show_load(run: Run, console: Console) -> None:
    until_ns = last_start_ns(run.scanned_flows)
    table = plain_table(
        ("achieved load", False), ("ports", True), ("capacity", True), ("mean %", True), ("busiest %", True)
    )
    counts = tier_counts(run.topology)
    for tier in achieved(run.topology, run.measured_ports, until_ns):
        words = direction_words(tier.direction, counts)
        table.add_row(words, count(tier.ports), bit_rate(tier.capacity_bps), pct(tier.mean_pct), pct(tier.busiest_pct))
    console.print(table)
    console.print()
