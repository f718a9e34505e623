"""The labs of this machine as a table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from anabranch.errors import AnabranchError
from anabranch.lab.fabric import record
from anabranch.lab.fabric.processes import marked
from anabranch.lab.fabric.record import Record
from anabranch.lab.fabric.topology import Lab

HEADINGS = ("lab", "state", "switches", "namespaces", "scale", "controller", "made for", "scenario")
NUMBERS = ("namespaces", "scale")


def show(console: Console) -> None:
    """Prints them, or how to make one."""
    names = record.names()
    if not names:
        console.print("no labs; `anabranch lab up SCENARIO.toml` makes one", markup=False)
        return
    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in NUMBERS else "left", overflow="fold")
    for name in names:
        table.add_row(name, *_row(name))
    console.print(table)


def _row(name: str) -> tuple[str, ...]:
    try:
        found = record.read(name)
    except AnabranchError:
        return ("not readable", "", "", "", "", "", "")
    if found is None:
        return ("empty", "", "0", "", "", "", "")
    pages = f"http://{found.http}/" if any("control" in command for _, command in marked(found.mark)) else "none"
    namespaces, scale = str(len(found.namespaces)), f"{found.scale:g}"
    return (_state(found), found.switch, namespaces, scale, pages, found.parent, found.scenario_file)


def _state(found: Record) -> str:
    if not found.complete:
        return "not whole"
    ended = Lab.open(found.name).switching.ended()
    return f"{' and '.join(ended)} ended" if ended else "up"
