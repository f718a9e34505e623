"""Results of runs in a lab, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import bit_rate, count, duration, pct
from anabranch.lab.run.beside import Pairs, shares, times, waiting
from anabranch.lab.traffic.flow_results import FlowResults
from anabranch.report.tables.run_table import show
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.size_classes import SizeClass


def one(run: Run, results: FlowResults, classes: Sequence[SizeClass], console: Console) -> None:
    """The tables of a simulated run, and what a lab has beside."""
    show(run, classes, console)
    lab, counters = run.manifest["lab"], results.counters
    console.print(
        f"{lab['switch']}, Linux {lab['kernel'].split()[0]}: {lab['forwarding']}\n"
        f"goodput {bit_rate(results.goodput_bps)}; {count(results.connections)} connections; "
        f"{count(counters.get('RetransSegs', 0))} segments sent again, "
        f"{count(counters.get('TCPTimeouts', 0))} timeouts; "
        f"generator {pct(100 * results.cpu_ns / max(results.elapsed_ns, 1))} % of a core, "
        f"late by {duration(results.late_p99_ns)} or more for 1 % of flows",
        markup=False,
        soft_wrap=True,
    )
    for warning in results.warnings():
        console.print(f"warning: {warning}", style="yellow", markup=False, soft_wrap=True)


def pairs(both: Pairs, classes: Sequence[SizeClass], console: Console) -> None:
    """Lab and simulator side by side."""
    empty = both.unloaded
    console.print(
        f"unloaded, one byte, one way: {duration(empty.near_ns)} over 2 links, {duration(empty.far_ns)} over "
        f"{empty.far_links}; simulated delays: {duration(empty.host_delay_ns)} of a host's link, "
        f"{duration(empty.uplink_delay_ns)} between switches\n",
        markup=False,
        soft_wrap=True,
    )
    table = plain_table(
        ("size class", False),
        ("flows", True),
        ("FCT", False),
        ("lab", True),
        ("+-", True),
        ("simulator", True),
        ("+-", True),
        ("lab / simulator", True),
        ("95 %", True),
    )
    for row in times(both, classes):
        halves = ["-" if half is None else duration(half) for half in (row.lab_half_ns, row.simulated_half_ns)]
        low, high = row.ratio.low, row.ratio.high
        table.add_row(
            row.size_class,
            count(row.flows),
            row.statistic,
            duration(row.lab_ns),
            halves[0],
            duration(row.simulated_ns),
            halves[1],
            f"{row.ratio.mean:.2f}",
            "-" if low is None or high is None else f"{low:.2f} to {high:.2f}",
        )
    console.print(table)
    console.print()
    links = plain_table(
        ("link\n", False),
        ("lab\nshare %", True),
        ("simulator\nshare %", True),
        ("lab\ndropped", True),
        ("simulator\ndropped", True),
    )
    for link in shares(both):
        links.add_row(
            link.port,
            f"{100 * link.lab_share:.1f}",
            f"{100 * link.simulated_share:.1f}",
            count(link.lab_dropped),
            count(link.simulated_dropped),
        )
    console.print(links)
    console.print()
    queues = plain_table(("bytes waiting", False), ("lab", True), ("simulator", True))
    for queue in waiting(both):
        queues.add_row(queue.direction, count(queue.lab_bytes), count(queue.simulated_bytes))
    console.print(queues)
    sides = (both.lab, both.simulated)
    again = [sum(int(run.measured_flows["retransmitted_packets"].sum()) for run in side) for side in sides]
    unfinished = [sum(run.sums["unfinished"] for run in side) for side in sides]
    console.print(
        f"\n{len(both.lab)} seeds; intervals by Student's t over seeds, ratios seed by seed; "
        f"sent again: {count(again[0])} segments in the lab, {count(again[1])} in the simulator; "
        f"unfinished: {count(unfinished[0])} in the lab, {count(unfinished[1])} in the simulator",
        markup=False,
        style="dim",
        soft_wrap=True,
    )
