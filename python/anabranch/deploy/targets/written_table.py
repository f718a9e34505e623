"""What was written for a fabric's switches, on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from anabranch.deploy.targets.written import Written
from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import count

SWITCHES_SHOWN = 20
PORTS_SHOWN = 6


def show(written: Written, console: Console) -> None:
    """Prints each switch with its ports, the pairs of leaves that send through it, and the turns of their lists."""
    switches = written.switches
    console.print(
        Text(f"{written.folder}: {count(len(switches))} switches, lists of {written.balance}", style="bold"),
        soft_wrap=True,
    )
    shown = plain_table(("switch", False), ("ports", False), ("pairs", True), ("turns", True))
    for switch in switches[:SWITCHES_SHOWN]:
        ports = [f"{number}: {neighbour}" for neighbour, number in switch.ports.items()]
        more = f", {count(len(ports) - PORTS_SHOWN)} more" if len(ports) > PORTS_SHOWN else ""
        turns = sum(map(len, switch.lists.values()))
        row = (switch.name, ", ".join(ports[:PORTS_SHOWN]) + more, count(len(switch.lists)), count(turns))
        shown.add_row(*map(Text, row))
    console.print(shown)
    if len(switches) > SWITCHES_SHOWN:
        console.print(f"... {count(len(switches) - SWITCHES_SHOWN)} more: all are in --json", style="dim")
