"""The labs of this machine as a table, and as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, JustifyMethod
from rich.table import Table

from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric import record
from anabranch.lab.fabric.processes import marked
from anabranch.lab.fabric.record import Record
from anabranch.lab.fabric.topology import Lab

COLUMNS = ("lab", "state", "switches", "namespaces", "scale", "controller", "made_for", "scenario")
NUMBERS = ("namespaces", "scale")


def labs() -> list[dict[str, Any]]:
    """A row per lab; None where it cannot be known, and for the controller where there is none.

    A lab that another process removes meanwhile is left out.
    """
    by_name = ((name, _facts(name)) for name in record.names())
    return [dict.fromkeys(COLUMNS) | {"lab": name} | facts for name, facts in by_name if record.present(name)]


def show(rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Prints them, or how to make one."""
    if not rows:
        console.print("no labs; `anabranch lab up SCENARIO.toml` makes one", markup=False)
        return
    table = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        heading = column.replace("_", " ")
        justify: JustifyMethod = "right" if column in NUMBERS else "left"
        # Only the path gives way, so that a row is found by its words.
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=column != "scenario")
    for row in rows:
        table.add_row(*(_cell(row, column) for column in COLUMNS))
    console.print(table)


def _cell(row: Mapping[str, Any], column: str) -> str:
    value = row[column]
    if value is None:
        return "none" if column == "controller" and row["scenario"] is not None else ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _facts(name: str) -> dict[str, Any]:
    try:
        lab = record.read(name)
        state = "" if lab is None else _state(lab)
    except (AnabranchError, PermissionError):
        return {"state": "not readable"}
    if lab is None:
        return {"state": "empty", "namespaces": 0}
    controlled = any("control" in command for _, command in marked(lab.mark))
    return {
        "state": state,
        "switches": lab.switch,
        "namespaces": len(lab.namespaces),
        "scale": float(lab.scale),
        "controller": f"http://{lab.http}/" if controlled else None,
        "made_for": lab.parent,
        "scenario": lab.scenario_file,
    }


def _state(lab: Record) -> str:
    if not lab.complete:
        return "not whole"
    ended = Lab.of(lab).switching.ended()
    return f"{' and '.join(ended)} ended" if ended else "up"
