"""Requests of inference: times to first tokens and between tokens, before and after each change of the fabric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from anabranch.simulate.stats.fct import statistics
from anabranch.simulate.stats.moments import Moment
from anabranch.simulate.stats.steps import divided
from anabranch.simulate.stats.window import Window


@dataclass(frozen=True)
class Served:
    """Requests of one job that a change leaves alone, meets, or follows."""

    job: int
    when: str
    """`before`, the change that happens meanwhile, or `after` it; `all` where nothing changes."""
    requests: int
    unfinished: int
    ttft_ns: dict[str, float | None]
    """Mean and quantiles of the time to the first token, of the requests that have one."""
    tpot_ns: dict[str, float | None]
    """The same of the time for each token after it, of the requests that ended."""
    ttft_slowdown: float | None
    """Mean time to the first token over that if every message were alone on the fabric as built."""
    tpot_slowdown: float | None


def arrived(requests: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Requests that arrive in the window; those that have not arrived by the end of the run are left out."""
    rows = requests.filter(pl.col("arrival_ns").is_not_null())
    if window.whole:
        return rows
    return rows.filter(pl.col("arrival_ns").is_between(window.from_ns, window.to_ns, closed="left"))


def served(requests: pl.DataFrame, changes: Sequence[Moment]) -> list[Served]:
    """Requests that have arrived, of all jobs, in the order of jobs and times.

    A request belongs to the first change between its arrival and its last token.
    """
    groups = []
    for (job,), mine in requests.group_by("job", maintain_order=True):
        spans = mine.select("request", "arrival_ns", "last_token_ns")
        for when, numbers in divided(spans, changes):
            rows = mine.filter(pl.col("request").is_in(numbers))
            groups.append(
                Served(
                    job=int(job),
                    when=when,
                    requests=rows.height,
                    unfinished=rows["last_token_ns"].null_count(),
                    ttft_ns=statistics(rows["ttft_ns"].drop_nulls().to_numpy()),
                    tpot_ns=statistics(rows["tpot_ns"].drop_nulls().to_numpy()),
                    ttft_slowdown=_slowdown(rows, "ttft_ns"),
                    tpot_slowdown=_slowdown(rows, "tpot_ns"),
                )
            )
    return groups


def _slowdown(rows: pl.DataFrame, column: str) -> float | None:
    sums = rows.drop_nulls(column).select(pl.col(column, f"ideal_{column}").sum())
    taken, alone = sums.row(0)
    return float(taken / alone) if alone else None
