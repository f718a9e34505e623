"""Tables of workload graphs: jobs, their steps before and after each change, and what held each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import bit_rate, count, data_size, duration, pct
from anabranch.simulate.runs.class_table import ABSENT
from anabranch.simulate.stats.lazily import collected
from anabranch.simulate.stats.moments import moments
from anabranch.simulate.stats.steps import phases, pooled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from anabranch.simulate.runs.results import Run

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

BUS_BANDWIDTH = (
    "bus bandwidth: as nccl-tests defines it, by what a flat ring would move; where servers move a part inside, it may "
    "be above a card's rate"
)
WAITED_FOR = "waited for: time of the part on the critical path of the job, all steps together"
PHASES = ("job", "when", "steps", "unfinished", "step median", "step longest", "cost", "bus bandwidth", "behind median")
PARTS = ("job", "part", "size", "waited for", "of the time")
HOLDERS = (
    "job",
    "step",
    "time",
    "slowdown",
    "bus bandwidth",
    "last host",
    "behind median",
    "in messages",
    "slowest message",
    "size",
    "took",
    "times alone",
)


def show_steps(run: Run, console: Console) -> None:
    """Prints, for each job, its completion, its steps, what held its longest step, and what each change costs it."""
    if not run.has_steps:
        return
    table = plain_table(*((head.replace(" ", "\n", 1), True) for head in HEADER))
    for row in step_rows([run]):
        table.add_row(*row)
    console.print(table)
    if run.steps["bus_bps"].count():
        console.print(BUS_BANDWIDTH, style="dim", soft_wrap=True)
    console.print()
    parts = part_rows([run])
    if parts:
        table = plain_table(*((head.replace(" ", "\n", 1), head not in ("job", "part")) for head in PARTS))
        for row in parts:
            table.add_row(*row)
        console.print(table)
        console.print(WAITED_FOR, style="dim", soft_wrap=True)
        console.print()
    rows = phase_rows([run])
    if rows:
        table = plain_table(*((head.replace(" ", "\n", 1), head not in ("job", "when")) for head in PHASES))
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()


def part_rows(runs: Sequence[Run]) -> list[list[str]]:
    """Cells of each part of jobs that have several, in the order of `PARTS`: means over the runs that ended."""
    import polars as pl

    steps = pooled([run.steps for run in runs]).with_columns(pl.col("kind").cast(pl.String))
    on_path = pl.col("path_network_ns") + pl.col("path_compute_ns")
    rows = []
    for (job,), of_job in steps.group_by("job", maintain_order=True):
        wholes = of_job.filter(pl.col("kind") == "job")
        parts = of_job.filter(~pl.col("kind").is_in(["job", "step"])).with_columns(on_path.alias("on_path_ns"))
        sums = parts.group_by("kind", maintain_order=True).agg(pl.col("size_bytes", "on_path_ns").sum())
        whole_ns = sums["on_path_ns"].sum()
        if sums.height < 2 or wholes["time_ns"].null_count() or whole_ns <= 0:
            continue
        for kind, size_bytes, on_path_ns in sums.filter(pl.col("on_path_ns") > 0).iter_rows():
            cells = [
                data_size(size_bytes / wholes.height) if size_bytes else ABSENT,
                duration(on_path_ns / wholes.height),
            ]
            rows.append([str(job), str(kind), *cells, f"{pct(100 * on_path_ns / whole_ns)} %"])
    return rows


def phase_rows(runs: Sequence[Run]) -> list[list[str]]:
    """Cells of each phase over all seeds, in the order of `PHASES`; none if the fabric stays as it is."""
    changes = moments(runs[0].topology)
    if not changes:
        return []
    return [
        [
            str(one.job),
            one.when,
            count(one.steps),
            count(one.unfinished),
            _time(one.median_ns),
            _time(one.longest_ns),
            ABSENT if one.cost is None else f"{100 * (one.cost - 1):+.1f} %",
            ABSENT if one.bus_bps is None else bit_rate(one.bus_bps),
            _time(one.straggler_ns),
        ]
        for one in phases(pooled([run.steps for run in runs]), changes)
    ]


def holder_rows(run: Run, most: int) -> list[list[str]]:
    """Cells of the `most` longest steps, in the order of `HOLDERS`: which message of the critical path held each."""
    import polars as pl

    kinds = run.steps.with_columns(pl.col("kind").cast(pl.String))
    each = kinds.filter(pl.col("kind") == "step").sort(
        "time_ns", descending=True, nulls_last=False, maintain_order=True
    )
    rates = kinds.filter(pl.col("bus_bps").is_not_null()).group_by("job", "step").agg(pl.col("bus_bps").median())
    of_step = {(job, step): rate for job, step, rate in rates.iter_rows()}
    shown = each.head(most)
    messages = collected(run.scanned_flows.filter(pl.col("flow").is_in(shown["slowest_flow"].drop_nulls().to_list())))
    flows = {flow["flow"]: flow for flow in messages.iter_rows(named=True)}
    names = run.topology["nodes"]["name"]
    rows = []
    for row in shown.iter_rows(named=True):
        flow = None if row["slowest_flow"] is None else flows[row["slowest_flow"]]
        rate = of_step.get((row["job"], row["step"]))
        on_path = row["path_network_ns"] + row["path_compute_ns"]
        rows.append(
            [
                str(row["job"]),
                str(row["step"]),
                "unfinished" if row["time_ns"] is None else duration(row["time_ns"]),
                ABSENT if row["slowdown"] is None else f"{row['slowdown']:.2f}",
                ABSENT if rate is None else bit_rate(rate),
                ABSENT if row["last_host"] is None else str(names[row["last_host"]]),
                _time(row["straggler_ns"]),
                ABSENT if on_path <= 0 else f"{pct(100 * row['path_network_ns'] / on_path)} %",
                ABSENT if flow is None else f"{flow['src_name']} to {flow['dst_name']}",
                ABSENT if flow is None else data_size(flow["size_bytes"]),
                _time(row["slowest_ns"]),
                ABSENT if flow is None or flow["slowdown"] is None else f"{flow['slowdown']:.2f}",
            ]
        )
    return rows


def _time(value: float | None) -> str:
    return ABSENT if value is None else duration(value)


def step_rows(runs: Sequence[Run]) -> list[list[str]]:
    """Cells of each job over all seeds, in the order of `HEADER`: of its completion the median, of its steps all."""
    import polars as pl

    rows = []
    for (job,), of_job in pooled([run.steps for run in runs]).group_by("job", maintain_order=True):
        kinds = of_job["kind"].cast(pl.String)
        wholes, each = of_job.filter(kinds == "job"), of_job.filter(kinds == "step")
        ended = wholes["time_ns"].null_count() == 0
        slowdown = wholes["slowdown"].median() if wholes["slowdown"].null_count() == 0 else None
        done = each.drop_nulls("time_ns").sort("time_ns", descending=True, maintain_order=True)
        # What held the longest step; of an unfinished job, the longest that ended.
        longest = (done if done.height else wholes).row(0, named=True)
        rate = of_job["bus_bps"].median()

        rows.append(
            [
                str(job),
                count(wholes["ranks"][0]),
                count(each.height) if done.height == each.height else f"{count(done.height)} of {count(each.height)}",
                _time(wholes["time_ns"].median() if ended else None),  # type: ignore[arg-type]
                ABSENT if slowdown is None else f"{slowdown:.2f}",  # type: ignore[str-bytes-safe]
                _time(done["time_ns"].median()),  # type: ignore[arg-type]
                _time(longest["time_ns"]),
                ABSENT if rate is None else bit_rate(rate),  # type: ignore[arg-type]
                ABSENT if longest["last_host"] is None else str(longest["last_host"]),
                _time(longest["straggler_ns"]),
                ABSENT if longest["slowest_flow"] is None else str(longest["slowest_flow"]),
                _time(longest["slowest_ns"]),
            ]
        )
    return rows
