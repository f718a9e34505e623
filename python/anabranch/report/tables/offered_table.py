"""Offered load and warnings, before a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import bit_rate, count, duration, pct
from anabranch.simulate.stats.tiers import direction_words, tier_counts

if TYPE_CHECKING:
    from anabranch._core import Scenario


def show_before(scenario: Scenario, console: Console) -> None:
    """Prints the offered load, and warnings, before the run."""
    for warning in scenario.warnings():
        console.print(f"warning: {warning}", style="yellow", markup=False, soft_wrap=True)
    counts = tier_counts(scenario.topology())
    loads = [{**row, "tier": direction_words(row["tier"], counts)} for row in scenario.offered_load()]
    show_records("offered", loads, console)


def show_records(title: str, records: Sequence[dict[str, Any]], console: Console) -> None:
    """Prints records as rows that name their own columns, with units by the columns' endings."""
    if not records:
        return
    header, rows = record_rows(records)
    table = plain_table(*((cell if index else title, index > 0) for index, cell in enumerate(header)))
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()


def record_rows(records: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of plain records."""
    header = [_word(key) for key in records[0]]
    return header, [[_cell(key, value) for key, value in record.items()] for record in records]


def _word(key: str) -> str:
    for ending, unit in (("_bps", ""), ("_pct", " %"), ("_bytes", ""), ("_ns", "")):
        key = key.removesuffix(ending) + unit if key.endswith(ending) else key
    return key.replace("_", " ")


def _cell(key: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if key.endswith("_bps"):
        return bit_rate(value)
    if key.endswith("_ns"):
        return duration(value)
    if key.endswith("_pct"):
        return pct(value)
    return count(value) if isinstance(value, int) else f"{value:.3f}"
