"""A ceiling as a table for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from anabranch.lab.calibration.ceiling import HEADROOM, Ceiling

QUIET_LOAD = 0.5


def show(ceiling: Ceiling, console: Console) -> None:
    """Prints what was measured, and what it is for."""
    table = Table(box=None, pad_edge=False)
    headings = (
        "switches",
        "60 B frames (kpps)",
        "1514 B frames (kpps)",
        "(Mbps)",
        "TCP payload (Mbps)",
        "ns/frame/switch",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for path in ceiling.paths:
        rates = (path.small_pps / 1e3, path.full_pps / 1e3, path.full_pps * 1514 * 8 / 1e6, path.tcp_bps / 1e6)
        cpu = "-" if path.switch_cpu_ns is None else f"{path.switch_cpu_ns:,.0f}"
        table.add_row(str(path.switches), *(f"{rate:,.0f}" for rate in rates), cpu)
    console.print(table)
    segments = "segments whole" if ceiling.tso else "segments of an MTU"
    lines = [
        f"{ceiling.switch}, Linux {ceiling.kernel}, {ceiling.cores} cores, {segments}; {ceiling.measured_at}",
        f"loads above {HEADROOM:.0%} of TCP's figures are refused; all switches share the machine's cores",
    ]
    if ceiling.load_before > QUIET_LOAD:
        lines.append(
            f"others were busy (load {ceiling.load_before:.1f}): a quiet machine forwards more; --again measures"
        )
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
