"""Tables of what jobs cost each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import bit_rate, count, data_size, duration
from anabranch.simulate.runs.class_table import ABSENT

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.simulate.runs.interference import Interference

HEADER = ("job", "steps", "unfinished", "step together", "step alone", "times", "completion together",
          "completion alone", "completion times")  # fmt: skip
LINKS_SHOWN = 8

Table = tuple[list[str], list[list[str]]]


def cost_rows(outcome: Interference) -> list[list[str]]:
    """Cells of each job, in the order of `HEADER`."""
    return [
        [
            str(one.job),
            count(one.steps),
            count(one.unfinished),
            _time(one.together_ns),
            _time(one.apart_ns),
            _times(one.times),
            _time(one.completion_together_ns),
            _time(one.completion_apart_ns),
            _times(one.completion_times),
        ]
        for one in outcome.jobs
    ]


def link_table(outcome: Interference) -> Table:
    """Header and rows of the links that are shared most."""
    jobs = list(outcome.apart)
    rows = [
        [one.link, bit_rate(one.rate_bps), *(data_size(one.bytes[job]) for job in jobs)]
        for one in (outcome.links or [])[:LINKS_SHOWN]
    ]
    return ["shared link", "rate", *(f"job {job}" for job in jobs)], rows


def links_left_out(outcome: Interference) -> int:
    """Shared links that the table does not have."""
    return max(0, len(outcome.links or []) - LINKS_SHOWN)


def show_interference(outcome: Interference, console: Console) -> None:
    """Prints what each job's steps take with the others and alone, and the links that they share."""
    table = plain_table(*((head.replace(" ", "\n", 1), True) for head in HEADER))
    for row in cost_rows(outcome):
        table.add_row(*row)
    console.print(table)
    console.print()
    if outcome.links is None:
        return
    header, rows = link_table(outcome)
    if not rows:
        console.print("the jobs share no link\n", markup=False)
        return
    table = plain_table(*((cell, index > 0) for index, cell in enumerate(header)))
    for row in rows:
        table.add_row(*row)
    console.print(table)
    more = links_left_out(outcome)
    console.print(f"and {count(more)} more shared links\n" if more else "", markup=False)


def _time(value: float | None) -> str:
    return ABSENT if value is None else duration(value)


def _times(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.3f}"
