"""Table of `anabranch split table` on a terminal: the entries of each path, not each entry."""

from __future__ import annotations

from rich.console import Console

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import count, pct
from anabranch.split.table import Table


def show(table: Table, console: Console) -> None:
    """Prints a row per path, and what moved since the state before."""
    rows = plain_table(
        ("path\n", True),
        ("backend\n", True),
        ("weight\n", True),
        ("asked\n%", True),
        ("slots\n", True),
        ("error\n%", True),
    )
    length = table.paths.size
    for path, (asked, slots) in enumerate(zip(table.asked.tolist(), table.counts.tolist(), strict=True)):
        error = pct(100 * abs(slots / length - asked) / asked) if asked > 0 else "-"
        backend = "-" if table.backends is None else str(table.backends[path])
        weight = table.weights[path] if table.up[path] else f"{table.weights[path]} (down)"
        rows.add_row(str(path + 1), backend, weight, f"{100 * asked:.2f}", count(slots), error)
    console.print(f"{table.technique}: {count(length)} slots; hash h goes to slot h % {length}\n", markup=False)
    console.print(rows)
    if table.moved is not None and table.minimum is not None:
        console.print(
            f"\n{count(table.moved)} slots moved since the state before; {count(table.minimum)} had to", markup=False
        )
