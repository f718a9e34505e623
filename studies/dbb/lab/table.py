"""The lines on a terminal: lab, simulator and paper side by side, and what the columns are."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import bit_rate, pct

from .cases import BY_NAME, PAIRS, Recovery
from .rows import TOLERANCE, Line
from .schemes import ONE_PATH, SCHEMES
from .simulate import PAYLOAD, WIRE

LATE_MS = 100.0
"""Two blocks of a slow connection; what is later makes less traffic than asked."""
NO_RFC6675 = (6, 17)
"""Linux from which on `tcp_recovery=0` no longer means three duplicates where there is SACK (commit 1c120191dcec)."""


def table(lines: Sequence[Line]) -> Table:
    """A row per line."""
    made = plain_table(
        ("scheme\n", False),
        ("lab\nMb/s", True),
        ("sim.\nMb/s", True),
        ("paper\nMb/s", True),
        ("lab and\nsim.", False),
        ("early\nlab %", True),
        ("late\nsim. %", True),
        ("seen\nlab /s", True),
        ("again\nlab %", True),
        ("again\nsim. %", True),
        ("needless\nlab %", True),
        ("dropped\nlab %", True),
        ("RTOs\nlab", True),
    )
    for line in lines:
        simulated = line.of_simulator("goodput_mbps")
        made.add_row(
            line.scheme + (", whole" if line.gso else ""),
            Text(f"{line.of_lab('goodput_mbps'):.1f}", "bold"),
            _number(simulated, 1),
            _number(math.nan if line.paper_mbps is None else line.paper_mbps, 1),
            _verdict(line.agrees(simulated)),
            _share(line.of_lab("disorder_pct")),
            _share(line.of_simulator("disorder_pct")),
            _number(line.of_lab("seen_per_s"), 0),
            _share(line.of_lab("again_pct")),
            _share(line.of_simulator("again_pct")),
            _share(line.of_lab("needless_pct")),
            _share(line.of_lab("dropped_pct")),
            _number(line.of_lab("timeouts"), 0),
        )
    return made


def show(lines: Sequence[Line], recoveries: Sequence[Recovery], ceiling_bps: float, console: Console) -> None:
    """Prints a table for each case and way to tell losses, then what columns and names mean."""
    link_bps = lines[0].link_bps
    told = {recovery.name: recovery for recovery in recoveries}
    most = PAIRS * link_bps * PAYLOAD / WIRE
    _say(
        console,
        f"DBB, section IV: four paths of {bit_rate(link_bps)} over datapaths in the kernel, Linux {platform.release()}",
        f"of {bit_rate(PAIRS * link_bps)}, frames leave {bit_rate(most)} to TCP's payload; "
        f"where links bound nothing this machine carries {bit_rate(ceiling_bps)} in single packets",
    )
    for case, recovery in dict.fromkeys((line.case, line.recovery) for line in lines):
        chosen = [line for line in lines if (line.case, line.recovery) == (case, recovery)]
        known = BY_NAME.get(case)
        head = f"{case} ({known.section}): {known.what}" if known else case
        console.print()
        _say(console, f"{head}; {told[recovery].name}: {told[recovery].what}", style="bold")
        console.print(table(chosen))
    console.print()
    _say(console, *_notes(lines), style="dim")


def _notes(lines: Sequence[Line]) -> list[str]:
    gap = TOLERANCE * PAIRS * lines[0].link_bps / 1e6
    found = [
        *(f"{scheme.name}: {scheme.what}" for scheme in (*SCHEMES, ONE_PATH)),
        "whole: GSO left on: packets of up to 64 KB pass switches in one, as flowcells; TCP sees where they are",
        f"agree: goodputs within {gap:.0f} Mb/s, {TOLERANCE:.0%} of a stage's capacity",
        "lab, sim., paper: goodput, all connections together; the paper's with its links' rates as here",
        "early: of segments, those that came behind a gap, by the receivers' kernels, be it loss or reordering",
        "late: of segments, those that came after a later one, which is what the simulator counts",
        "seen: reorderings that senders took note of; again: segments sent again; needless: that receivers had (DSACK)",
        "sim.: simulator; hosts' links stand for the rates of connections",
    ]
    compared = [line.agrees(line.of_simulator("goodput_mbps")) for line in lines]
    given = [agrees for agrees in compared if agrees is not None]
    if given:
        found.append(f"simulator: {sum(given)} of {len(given)} goodputs agree")
    late = [row for line in lines for row in line.lab if row.late_p99_ms > LATE_MS]
    if late:
        worst = max(row.late_p99_ms for row in late)
        found.append(f"{len(late)} runs wrote 1 % of their blocks {LATE_MS:.0f} to {worst:.0f} ms late: a busy machine")
    if any(line.recovery == "recovery=0" for line in lines) and _release() >= NO_RFC6675:
        found.append("recovery=0 does not turn RACK off on this kernel: Linux 6.17 took out what came before it")
    return found


def _release() -> tuple[int, ...]:
    return tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])


def _verdict(agrees: bool | None) -> Text:
    if agrees is None:
        return Text("-")
    return Text("agree", "green") if agrees else Text("differ", "red")


def _share(value: float) -> str:
    return "-" if math.isnan(value) else pct(value)


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def _say(console: Console, *lines: str, style: str = "") -> None:
    console.print("\n".join(lines), style=style, markup=False, highlight=False, soft_wrap=True)
