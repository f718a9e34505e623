"""What was written for a fabric's switches, on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from anabranch.deploy.targets.written import WrittenFiles
from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import count

ROWS_SHOWN = 20


def show(written: WrittenFiles, console: Console) -> None:
    """Prints what the switches have, and what the reader should know."""
    table = written.table
    console.print(Text(table.title, style="bold"), soft_wrap=True)
    shown = plain_table(*table.columns)
    for row in table.rows[:ROWS_SHOWN]:
        shown.add_row(*map(Text, row))
    console.print(shown)
    if len(table.rows) > ROWS_SHOWN:
        console.print(f"... {count(len(table.rows) - ROWS_SHOWN)} more: all are in --json", style="dim")
    for note in table.notes:
        console.print(Text.assemble(("note: ", "yellow"), note), soft_wrap=True)
