"""Steps of workload graphs, before and after each change of the fabric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from anabranch.simulate.stats.moments import Moment


@dataclass(frozen=True)
class Phase:
    """Steps of one job that a change leaves alone, meets, or follows."""

    job: int
    when: str
    """`before`, the change that happens meanwhile, or `after` it; `all` where nothing changes."""
    steps: int
    unfinished: int
    median_ns: float | None
    """Median time of the steps that ended; those below likewise."""
    longest_ns: float | None
    cost: float | None
    """Median over that of the steps before any change; null if there are none, and for these themselves."""
    bus_bps: float | None
    """Median bus bandwidth of the collectives in these steps."""
    straggler_ns: float | None
    """Median time from the end of the median rank to the end of the last."""


def pooled(seeds: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Rows of `steps.parquet` of several seeds as those of one run: the steps of each seed follow those before it."""
    before = 0
    parts = []
    for steps in seeds:
        parts.append(steps.with_columns(pl.col("step") + before))
        before += int(steps["step"].max() or 0) + 1  # type: ignore[arg-type]
    return pl.concat(parts)


def phases(steps: pl.DataFrame, changes: Sequence[Moment]) -> list[Phase]:
    """Phases of all jobs of `steps.parquet`, in the order of jobs and times; those without steps are left out.

    A step belongs to the first change that falls between its start and its end; a step without end has met
    all changes after its start.
    """
    kinds = steps.with_columns(pl.col("kind").cast(pl.String))
    timed: list[Phase] = []
    for job in kinds["job"].unique(maintain_order=True):
        mine = kinds.filter(pl.col("job") == job)
        each = mine.filter((pl.col("kind") == "step") & pl.col("start_ns").is_not_null())
        parts = mine.filter(pl.col("bus_bps").is_not_null())
        before_ns: float | None = None
        for number, (when, numbers) in enumerate(divided(each.select("step", "start_ns", "end_ns"), changes)):
            rows = each.filter(pl.col("step").is_in(numbers))
            median_ns = _median(rows["time_ns"])
            timed.append(
                Phase(
                    job=int(job),
                    when=when,
                    steps=rows.height,
                    unfinished=rows["time_ns"].null_count(),
                    median_ns=median_ns,
                    longest_ns=rows["time_ns"].max(),  # type: ignore[arg-type]
                    cost=median_ns / before_ns if number and median_ns and before_ns else None,
                    bus_bps=_median(parts.filter(pl.col("step").is_in(numbers))["bus_bps"]),
                    straggler_ns=_median(rows["straggler_ns"]),
                )
            )
            if when == BEFORE:
                before_ns = median_ns
    return timed


BEFORE = "before"


def divided(spans: pl.DataFrame, changes: Sequence[Moment]) -> list[tuple[str, list[int]]]:
    """Name of each phase that has spans, and the numbers of these. Columns are number, start and end in nanoseconds."""
    names = [BEFORE if changes else "all"]
    for change in changes:
        names += [change.words, f"after {change.words}"]
    members: list[list[int]] = [[] for _ in names]
    for number, start_ns, end_ns in spans.iter_rows():
        passed = sum(change.at_ns <= start_ns for change in changes)
        met = passed < len(changes) and (end_ns is None or changes[passed].at_ns < end_ns)
        members[2 * passed + met].append(int(number))
    return [(name, numbers) for name, numbers in zip(names, members, strict=True) if numbers]


def _median(values: pl.Series) -> float | None:
    median = values.median()
    return None if median is None else float(median)  # type: ignore[arg-type]
