"""Plans for pairs of leaves on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import bit_rate, count, pct
from anabranch.simulate.runs.pair_plan import PairPlan, PlanTable

ROWS_SHOWN = 20
COLUMNS_SHOWN = 12
NAMES_WIDTH = 80
"""Characters of a list of names; what is longer ends with its number of names."""


def show(plan: PairPlan, console: Console) -> None:
    """Prints facts, tables and notes; of long tables the first rows, and no table that is too wide."""
    console.print(Text(f"{plan.balance}: {' to '.join(plan.pair)}", style="bold"), soft_wrap=True)
    facts = Table.grid(padding=(0, 2))
    for fact in plan.facts:
        because = f" = {fact.because}" if fact.because else ""
        facts.add_row(fact.title, Text(f"{_text(fact.key, fact.value)}{because}"))
    console.print(facts)
    for table in plan.tables:
        console.print()
        console.print(Text(table.title, style="bold"), soft_wrap=True)
        _table(table, console)
    for note in plan.notes:
        console.print(f"\nnote: {note}", style="yellow", markup=False, soft_wrap=True)


def _table(table: PlanTable, console: Console) -> None:
    headings = []
    for index, column in enumerate(table.columns):
        number = any(isinstance(row[index], int | float) for row in table.rows)
        parts = [(heading, _numbers(table, index)) for _, heading in column.parts]
        headings += parts or [(column.heading, number)]
    if len(headings) > COLUMNS_SHOWN:
        console.print(f"{len(headings)} columns and {count(len(table.rows))} rows: all are in --json", style="dim")
        return
    lines = max(heading.count("\n") for heading, _ in headings)
    shown = plain_table(*((heading + "\n" * (lines - heading.count("\n")), number) for heading, number in headings))
    for row in table.rows[:ROWS_SHOWN]:
        cells: list[str] = []
        for column, value in zip(table.columns, row, strict=True):
            cells += [_text(column.key, one) for one in value] if column.parts else [_text(column.key, value)]
        shown.add_row(*map(Text, cells))
    console.print(shown)
    if len(table.rows) > ROWS_SHOWN:
        console.print(f"... {count(len(table.rows) - ROWS_SHOWN)} more rows: all are in --json", style="dim")


def _numbers(table: PlanTable, column: int) -> bool:
    """Whether the parts of a column hold numbers."""
    return any(isinstance(part, int | float) for row in table.rows for part in row[column])


def _text(key: str, value: Any) -> str:
    """A value as people read it; the unit is the end of its key."""
    if value is None:
        return "-"
    if isinstance(value, list):
        text = " ".join(map(str, value))
        if len(text) <= NAMES_WIDTH:
            return text
        return f"{text[:NAMES_WIDTH].rpartition(' ')[0]} ... ({count(len(value))})"
    if isinstance(value, str):
        return value
    if key.endswith("_bps"):
        return bit_rate(value)
    return pct(value) if key.endswith("_pct") else count(value)
