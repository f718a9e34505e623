"""Section of workload graphs on the page of a report: jobs, what changes cost their steps, and what held each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from anabranch.report.page.material import Material
from anabranch.report.plot.critical_path import StepPath
from anabranch.report.plot.step_times import JobPanel, Spans, Steps
from anabranch.report.tables import interference_table
from anabranch.report.tables.requests_table import REQUESTS, request_rows
from anabranch.report.tables.steps_table import (
    HEADER,
    HOLDERS,
    PARTS,
    PHASES,
    holder_rows,
    part_rows,
    phase_rows,
    step_rows,
)
from anabranch.simulate.runs.interference import noted
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.moments import moments

PATHS = 8
"""Most critical paths in the figure."""
LONGEST = 50
"""Most steps of a run in the table of what held them."""

Table = tuple[list[str], list[list[str]]]


@dataclass(frozen=True)
class StepSection:
    """Tables as header and rows; the first columns name the run, where there are several."""

    jobs: Table
    parts: Table | None
    """What the jobs wait for, part by part; None if no job has several."""
    requests: Table | None
    """Times of requests of inference; None if there are none."""
    phases: Table | None
    costs: Table | None
    """What the jobs of each run cost each other; None if no run was compared with its jobs alone."""
    links: list[tuple[str, Table, int]]
    """Links that the jobs of a run share, by the run's name, and how many more there are."""
    holders: Table
    left_out: int
    """Steps that are shorter than those in `holders`."""
    words: int
    """Columns on the left that name the run."""


def step_section(material: Material) -> StepSection | None:
    """Section of a report; `None` if no run has a workload graph."""
    jobs = shown(material)
    if not jobs:
        return None
    several = len(jobs) > 1

    def table(head: tuple[str, ...], rows: list[tuple[str, list[str]]]) -> Table:
        names = ["run"] if several else []
        return [*names, *head], [[label, *row] if several else row for label, row in rows]

    each = [(label, runs, run) for label, runs in jobs for run in runs]
    # With several seeds, steps are told apart by their seed as well.
    seeded = any(len(runs) > 1 for _, runs in jobs)
    sections = [
        (label, [str(run.manifest["seed"]), *row] if seeded else row)
        for label, runs, run in each
        for row in holder_rows(run, max(1, LONGEST // len(runs)))
    ]
    parts = [(label, row) for label, runs in jobs for row in part_rows(runs)]
    served = [(label, runs) for label, runs in jobs if all(run.has_requests for run in runs)]
    requests = [(label, row) for label, runs in served for row in request_rows(runs)]
    phases = [(label, row) for label, runs in jobs for row in phase_rows(runs)]
    compared = [(_of_seed(label, runs, run), costs) for label, runs, run in each if (costs := noted(run)) is not None]
    cost_cells = [(label, row) for label, costs in compared for row in interference_table.cost_rows(costs)]
    steps = sum(int((run.steps["kind"].cast(pl.String) == "step").sum()) for _, _, run in each)
    return StepSection(
        jobs=table(HEADER, [(label, row) for label, runs in jobs for row in step_rows(runs)]),
        parts=table(PARTS, parts) if parts else None,
        requests=table(REQUESTS, requests) if requests else None,
        phases=table(PHASES, phases) if phases else None,
        costs=table(interference_table.HEADER, cost_cells) if cost_cells else None,
        links=[
            (label if several else "", interference_table.link_table(costs), interference_table.links_left_out(costs))
            for label, costs in compared
            if costs.links
        ],
        holders=table(("seed", *HOLDERS) if seeded else HOLDERS, sections),
        left_out=steps - len(sections),
        words=int(several),
    )


def shown(material: Material) -> list[tuple[str, list[Run]]]:
    """Labels of series with workload graphs, and their runs, one for each seed."""
    steps = []
    for group in material.groups:
        for one, runs in zip(group.series, group.of_seeds, strict=True):
            if all(run.has_steps for run in runs):
                steps.append((", ".join(part for part in (one.label, group.title) if part), runs))
    return steps


def _of_seed(label: str, runs: list[Run], run: Run) -> str:
    """Label of one run of a series."""
    return label if len(runs) == 1 else f"{label}, seed {run.manifest['seed']}"


def step_panels(series: list[tuple[str, list[Run]]]) -> list[JobPanel]:
    """One panel for each job."""
    each = [(label, [run.steps.with_columns(pl.col("kind").cast(pl.String)) for run in runs]) for label, runs in series]
    jobs = sorted({job for _, seeds in each for steps in seeds for job in steps["job"]})
    # Changes that not all runs share would be taken for those of all.
    changes = [moments(run.topology) for _, runs in series for run in runs]
    panels = []
    for job in jobs:
        of_series, ideals = [], []
        for label, seeds in each:
            spans = []
            for steps in seeds:
                mine = steps.filter((pl.col("job") == job) & (pl.col("kind") == "step"))
                ended = mine.drop_nulls("time_ns").sort("start_ns")
                spans.append(Spans(ended["start_ns"].to_list(), ended["time_ns"].to_list()))
                ideals.append(mine["ideal_time_ns"].median())
            of_series.append(Steps(label, spans))
        known: list[Any] = [value for value in ideals if value is not None]
        common = changes[0] if all(one == changes[0] for one in changes) else []
        ideal_ns = float(min(known)) if known else None
        panels.append(JobPanel(f"job {job}: {_parts(each[0][1][0], job)}", of_series, ideal_ns, common))
    return panels


def step_paths(series: list[tuple[str, list[Run]]]) -> list[StepPath]:
    """Critical path of the longest step of each job, in the first run of each series; of `PATHS` at most."""
    paths = []
    for label, (run, *_) in series:
        critical = run.critical
        # Runs of earlier versions do not say which part a node is of.
        if "part" not in critical.columns:
            continue
        ended = run.steps.filter((pl.col("kind").cast(pl.String) == "step") & pl.col("time_ns").is_not_null())
        longest = ended.sort("time_ns", "step", descending=[True, False]).unique("job", keep="first").sort("job")
        for step in longest.rows(named=True):
            mine = critical.filter((pl.col("job") == step["job"]) & (pl.col("step") == step["step"])).sort("start_ns")
            mine = mine.with_columns(pl.col("part").cast(pl.String), begin=pl.col("start_ns") - step["start_ns"])
            spans = {
                part: [(begin, end - start) for begin, start, end in of.select("begin", "start_ns", "end_ns").rows()]
                for (part,), of in mine.partition_by("part", as_dict=True, maintain_order=True).items()
            }
            words = [label] if len(series) > 1 else []
            title = ", ".join([*words, f"job {step['job']}, step {step['step']}"])
            paths.append(StepPath(title, list(spans), list(spans.values())))
    return [path for path in paths if len(path.parts) > 1][:PATHS]


def _parts(steps: pl.DataFrame, job: int) -> str:
    """What a step of the job consists of: `compute, all-reduce`."""
    mine = steps.filter((pl.col("job") == job) & ~pl.col("kind").is_in(["job", "step"]))
    return ", ".join(mine["kind"].unique(maintain_order=True))
