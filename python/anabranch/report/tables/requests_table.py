"""Table of requests of inference: times to first tokens and between tokens, before and after each change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import count, duration
from anabranch.simulate.runs.class_table import ABSENT
from anabranch.simulate.stats.moments import moments
from anabranch.simulate.stats.requests import arrived, served

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from rich.console import Console

    from anabranch.simulate.runs.results import Run

SHOWN = ("mean", "p50", "p99")
REQUESTS = (
    "job",
    "when",
    "requests",
    "unfinished",
    *(f"TTFT {name}" for name in SHOWN),
    "TTFT slowdown",
    *(f"TPOT {name}" for name in SHOWN),
    "TPOT slowdown",
)
WORDS = (
    "TTFT: time to first token, from a request's arrival; TPOT: time per output token after the first; slowdown: "
    "means over those if every message were alone on the fabric as built"
)


def show_requests(run: Run, console: Console) -> None:
    """Prints times to first tokens and between tokens of each job."""
    if not run.has_requests:
        return
    table = plain_table(*((head.replace(" ", "\n", 1), head not in ("job", "when")) for head in REQUESTS))
    for row in request_rows([run]):
        table.add_row(*row)
    console.print(table)
    console.print(WORDS, style="dim", soft_wrap=True)
    console.print()


def request_rows(runs: Sequence[Run]) -> list[list[str]]:
    """Cells of each job and phase over all seeds, in the order of `REQUESTS`."""

    def times(statistics: dict[str, float | None], slowdown: float | None) -> list[str]:
        cells = [_cell(statistics[name]) for name in SHOWN]
        return [*cells, ABSENT if slowdown is None else f"{slowdown:.2f}"]

    return [
        [
            str(one.job),
            one.when,
            count(one.requests),
            count(one.unfinished),
            *times(one.ttft_ns, one.ttft_slowdown),
            *times(one.tpot_ns, one.tpot_slowdown),
        ]
        for one in served(_pooled(runs), moments(runs[0].topology))
    ]


def _pooled(runs: Sequence[Run]) -> pl.DataFrame:
    """Requests that count, of several seeds as of one run, numbered on."""
    import polars as pl

    before, parts = 0, []
    for run in runs:
        requests = arrived(run.requests, run.window)
        parts.append(requests.with_columns(pl.col("request") + before))
        before += run.requests.height
    return pl.concat(parts)


def _cell(value: float | None) -> str:
    return ABSENT if value is None else duration(value)
