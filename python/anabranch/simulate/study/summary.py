"""Tables of a study: every cell, and means over seeds with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.fct import by_class, statistics
from anabranch.simulate.stats.jobs import Times, job_times, step_times
from anabranch.simulate.stats.measures import JOB, MEASURES, OF_REQUESTS, STEP, Measure
from anabranch.simulate.stats.requests import arrived
from anabranch.simulate.stats.size_classes import ALL_FLOWS, SizeClass
from anabranch.simulate.study.outcome import Cell, compared_axis
from anabranch.split.stats.confidence import half_width, paired_ratio

STATISTIC_COLUMNS = [column for measure in MEASURES.values() for column in measure.columns()]
COUNT_COLUMNS = [
    "flows",
    "unfinished",
    "jobs",
    "unfinished_jobs",
    "steps",
    "unfinished_steps",
    "requests",
    "unfinished_requests",
]
PACKET_COLUMNS = ["dropped_packets", "lost_packets", "marked_packets"]


def cell_table(cells: Iterable[Cell], classes: Sequence[SizeClass]) -> pl.DataFrame:
    """One row per cell and size class: axes, seed, run, the columns of `by_class`, packets dropped, lost and marked.

    The row of all flows has the times of jobs, steps and requests, too.
    """
    parts = []
    for cell in cells:
        run = Run(cell.folder)
        head = [pl.lit(value).alias(axis) for axis, value in cell.point.items()]
        head += [pl.lit(cell.seed).alias("seed"), pl.lit(cell.folder.name).alias("run")]
        steps = run.steps if run.has_steps else None
        jobs = _times(JOB, "jobs", job_times(run.scanned_flows, steps, run.window))
        jobs += _times(STEP, "steps", step_times(steps, run.window))
        jobs += _requests(run)
        sums = [pl.lit(run.sums[name], pl.Int64).alias(name) for name in PACKET_COLUMNS]
        parts.append(by_class(run.scanned_flows, classes).select(*head, pl.all(), *jobs, *sums))
    return pl.concat(parts, how="vertical_relaxed")


def _times(measure: Measure, word: str, times: Times) -> list[pl.Expr]:
    """Columns of jobs or steps: how many there are, how many did not end, and statistics of the others."""
    numbers = {word: len(times.ended_ns) + times.unfinished, f"unfinished_{word}": times.unfinished}
    return _of_all(numbers, {measure: times.ended_ns})


def _requests(run: Run) -> list[pl.Expr]:
    """Columns of requests: how many came, how many have not got their last token, and statistics of their times."""
    rows = arrived(run.requests, run.window) if run.has_requests else None
    none = np.array([], dtype=np.float64)
    times = {one: none if rows is None else rows[one.column].drop_nulls().to_numpy() for one in OF_REQUESTS}
    unfinished = 0 if rows is None else rows["last_token_ns"].null_count()
    return _of_all({"requests": 0 if rows is None else rows.height, "unfinished_requests": unfinished}, times)


def _of_all(numbers: Mapping[str, int], times: Mapping[Measure, npt.NDArray[np.float64]]) -> list[pl.Expr]:
    """Columns that the row of all flows alone has: numbers, and statistics of times."""
    columns = [pl.lit(number, pl.Int64).alias(name) for name, number in numbers.items()]
    for measure, ended_ns in times.items():
        values = statistics(ended_ns)
        columns += [pl.lit(value, pl.Float64).alias(f"{measure.column}_{name}") for name, value in values.items()]
    of_all = pl.col("size_class") == ALL_FLOWS.label
    return [pl.when(of_all).then(column).alias(column.meta.output_name()) for column in columns]


def summarise(table: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """One row per point and size class, in the order of the cells.

    `flows`, `unfinished` and those of jobs, steps and requests are sums over seeds; each statistic is the mean over
    those seeds that have it, with `<statistic>_ci95` half the width of its 95 % interval (Student's t; null for one
    seed) and `seeds` how many.
    """
    rows: list[dict[str, Any]] = []
    keys = [*axes, "size_class"]
    for point, part in table.group_by(keys, maintain_order=True):
        row = dict(zip(keys, point, strict=True))
        row |= {"seeds": part["seed"].n_unique(), **{column: part[column].sum() for column in COUNT_COLUMNS}}
        for column in STATISTIC_COLUMNS:
            values = part[column].drop_nulls().to_numpy()
            whole = len(values) == part.height
            row[column] = float(np.mean(values)) if whole else None
            row[f"{column}_ci95"] = half_width(values) if whole else None
        for column in PACKET_COLUMNS:
            row[column] = part[column].sum()
        rows.append(row)
    numbers = {name: pl.Float64 for column in STATISTIC_COLUMNS for name in (column, f"{column}_ci95")}
    return pl.DataFrame(rows, schema_overrides=numbers, infer_schema_length=None)


def compare(table: pl.DataFrame, axes: Mapping[str, list[Any]]) -> pl.DataFrame:
    """Ratio of each statistic at each point to that at the first value of the compared axis, seed by seed.

    Columns: the axes, `size_class`, `statistic`, `ratio` (geometric mean over seeds), `ratio_low`, `ratio_high` (its
    95 % interval, Student's t of log ratios; null for one seed), `seeds` (pairs), `verdict` (`lower` or `higher` if the
    interval excludes 1, `equal` if every pair is the same to the last bit, else `undecided`; null for one seed),
    `seeds_needed` (seeds that would decide it, at the spread seen). Statistics that a seed lacks are left out.
    """
    compared = compared_axis(axes)
    schema: dict[str, pl.DataType] = {axis: table.schema[axis] for axis in axes}
    schema |= {"size_class": pl.String(), "statistic": pl.String()}
    schema |= {"ratio": pl.Float64(), "ratio_low": pl.Float64(), "ratio_high": pl.Float64()}
    schema |= {"seeds": pl.Int64(), "verdict": pl.String(), "seeds_needed": pl.Int64()}
    rows: list[dict[str, Any]] = []
    if compared is not None:
        keys = [*(axis for axis in axes if axis != compared), "size_class"]
        for _, group in table.group_by(keys, maintain_order=True):
            series = group.partition_by(compared, maintain_order=True, as_dict=True)
            first = series.pop((axes[compared][0],), None)
            # Cells that cannot be simulated may have been left out: without a first value there is nothing to compare.
            if first is None:
                continue
            for part in series.values():
                ordered = part.sort("seed").join(first, on="seed", how="semi")
                baseline = first.sort("seed").join(part, on="seed", how="semi")
                if not ordered.height:
                    continue
                head = ordered.select(*axes, "size_class").row(0, named=True)
                for column in STATISTIC_COLUMNS:
                    if ordered[column].null_count() + baseline[column].null_count() == 0:
                        ratio = paired_ratio(ordered[column].to_numpy(), baseline[column].to_numpy())
                        ends = {"ratio": ratio.mean, "ratio_low": ratio.low, "ratio_high": ratio.high}
                        verdict = {"seeds": ratio.seeds, "verdict": ratio.verdict, "seeds_needed": ratio.seeds_needed}
                        rows.append({**head, "statistic": column, **ends, **verdict})
    return pl.DataFrame(rows, schema=schema)
