"""The lines on a terminal: lab, simulator and paper side by side, and what the columns are."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from anabranch.files.units import bit_rate
from anabranch.reproduce.backends.lab import cell_table
from anabranch.reproduce.backends.lab.cell_table import SIMULATOR, Column, figure, shown

from .cases import BY_NAME, PAIRS, Recovery
from .rows import TOLERANCE, Line
from .schemes import ONE_PATH, SCHEMES
from .simulate import PAYLOAD, WIRE

LATE_MS = 100.0
"""Two blocks of a slow connection; what is later makes less traffic than asked."""
NO_RFC6675 = (6, 17)
"""Linux from which on `tcp_recovery=0` no longer means three duplicates where there is SACK (commit 1c120191dcec)."""

COLUMNS: tuple[Column[Line], ...] = (
    Column("scheme\n", lambda line: line.cell.scheme + (", whole" if line.cell.gso else ""), number=False),
    Column("lab\nMb/s", lambda line: Text(f"{line.mean('goodput_mbps'):.1f}", "bold")),
    figure("sim.\nMb/s", "goodput_mbps", ".1f", SIMULATOR),
    Column("paper\nMb/s", lambda line: shown(line.paper_mbps, ".1f")),
    Column("lab and\nsim.", lambda line: _verdict(line.agrees(line.mean("goodput_mbps", SIMULATOR))), number=False),
    figure("early\nlab %", "disorder_pct", "%"),
    figure("late\nsim. %", "disorder_pct", "%", SIMULATOR),
    figure("seen\nlab /s", "seen_per_s", ".0f"),
    figure("again\nlab %", "again_pct", "%"),
    figure("again\nsim. %", "again_pct", "%", SIMULATOR),
    figure("needless\nlab %", "needless_pct", "%"),
    figure("dropped\nlab %", "dropped_pct", "%"),
    figure("RTOs\nlab", "timeouts", ".0f"),
)


def show(lines: Sequence[Line], recoveries: Sequence[Recovery], ceiling_bps: float, console: Console) -> None:
    """Prints a table for each case and way to tell losses, then what columns and names mean."""
    link_bps = lines[0].link_bps
    of_name = {recovery.name: recovery for recovery in recoveries}
    most = PAIRS * link_bps * PAYLOAD / WIRE
    console.print(
        f"DBB, section IV: four paths of {bit_rate(link_bps)} over datapaths in the kernel, Linux "
        f"{platform.release()}\nof {bit_rate(PAIRS * link_bps)}, frames leave {bit_rate(most)} to TCP's payload; "
        f"where links bound nothing this machine carries {bit_rate(ceiling_bps)} in single packets\n",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    parts: dict[str, list[Line]] = {}
    for line in lines:
        case, recovery = BY_NAME.get(line.cell.case), of_name[line.cell.recovery]
        head = f"{case.name} ({case.section}): {case.what}" if case else line.cell.case
        parts.setdefault(f"{head}; {recovery.name}: {recovery.what}", []).append(line)
    cell_table.show(parts.items(), COLUMNS, _notes(lines), console)


def _notes(lines: Sequence[Line]) -> list[str]:
    gap = TOLERANCE * PAIRS * lines[0].link_bps / 1e6
    notes = [
        *(f"{scheme.name}: {scheme.what}" for scheme in (*SCHEMES, ONE_PATH)),
        "whole: GSO left on: packets of up to 64 KB pass switches in one, as flowcells; TCP sees where they are",
        f"agree: goodputs within {gap:.0f} Mb/s, {TOLERANCE:.0%} of a stage's capacity",
        "lab, sim., paper: goodput, all connections together; the paper's with its links' rates as here",
        "early: of segments, those that came behind a gap, by the receivers' kernels, be it loss or reordering",
        "late: of segments, those that came after a later one, which is what the simulator counts",
        "seen: reorderings that senders took note of; again: segments sent again; needless: that receivers had (DSACK)",
        "sim.: simulator; hosts' links stand for the rates of connections",
    ]
    compared = [line.agrees(line.mean("goodput_mbps", SIMULATOR)) for line in lines]
    given = [agrees for agrees in compared if agrees is not None]
    if given:
        notes.append(f"simulator: {sum(given)} of {len(given)} goodputs agree")
    notes += cell_table.late([row for line in lines for row in line.lab], LATE_MS)
    if any(line.cell.recovery == "recovery=0" for line in lines) and _release() >= NO_RFC6675:
        notes.append("recovery=0 does not turn RACK off on this kernel: Linux 6.17 took out what came before it")
    return notes


def _release() -> tuple[int, ...]:
    return tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])


def _verdict(agrees: bool | None) -> Text:
    if agrees is None:
        return Text("-")
    return Text("agree", "green") if agrees else Text("differ", "red")
