"""Table of workload graphs on a terminal: one row per job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.runs.class_table import ABSENT
from anabranch.terminal.plain_table import plain_table
from anabranch.units import bit_rate, count, duration

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from anabranch.runs.results import Run

HEADER = (
    "job",
    "ranks",
    "steps",
    "completion",
    "slowdown",
    "step median",
    "step longest",
    "bus bandwidth",
    "last host",
    "behind median",
    "slowest flow",
    "for",
)


def has_steps(run: Run) -> bool:
    """Whether the run had a workload graph."""
    return "steps.parquet" in run.manifest["files"]


def show_steps(run: Run, console: Console) -> None:
    """Prints, for each job, its completion, its steps, and what held its longest step."""
    if not has_steps(run):
        return
    table = plain_table(*((head.replace(" ", "\n", 1), True) for head in HEADER))
    for row in step_rows(run.steps):
        table.add_row(*row)
    console.print(table)
    console.print()


def step_rows(steps: pl.DataFrame) -> list[list[str]]:
    """Cells of each job, in the order of `HEADER`."""
    import polars as pl

    rows = []
    for (job,), found in steps.group_by("job", maintain_order=True):
        whole = found.row(0, named=True)
        each = found.filter(pl.col("kind").cast(pl.String) == "step")
        done = each.drop_nulls("time_ns").sort("time_ns", descending=True, maintain_order=True)
        # What held the longest step; of an unfinished job, the longest that ended.
        longest = done.row(0, named=True) if done.height else whole
        rate = found["bus_bps"].median()

        def time(value: float | None) -> str:
            return ABSENT if value is None else duration(value)

        rows.append(
            [
                str(job),
                count(whole["ranks"]),
                count(each.height) if done.height == each.height else f"{count(done.height)} of {count(each.height)}",
                time(whole["time_ns"]),
                ABSENT if whole["slowdown"] is None else f"{whole['slowdown']:.2f}",
                time(done["time_ns"].median()),  # type: ignore[arg-type]
                time(longest["time_ns"]),
                ABSENT if rate is None else bit_rate(rate),  # type: ignore[arg-type]
                ABSENT if longest["last_host"] is None else str(longest["last_host"]),
                time(longest["straggler_ns"]),
                ABSENT if longest["slowest_flow"] is None else str(longest["slowest_flow"]),
                time(longest["slowest_ns"]),
            ]
        )
    return rows
