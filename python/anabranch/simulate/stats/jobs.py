"""Jobs: flows that belong together, such as the answers of an incast or the steps of an all-reduce."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from anabranch.simulate.stats.lazily import collected, columns
from anabranch.simulate.stats.window import FLAG, Window


@dataclass(frozen=True)
class Times:
    """Times of the jobs or steps of a run."""

    ended_ns: npt.NDArray[np.float64]
    """Times of those that ended, in nanoseconds."""
    unfinished: int
    """Number of those that did not."""


def completion_ns(flows: pl.DataFrame | pl.LazyFrame) -> tuple[npt.NDArray[np.float64], int]:
    """Times from the start of a job's first flow to the end of its last, in nanoseconds, for each that ended.

    A job counts if its first flow does.

    Returns these times, in the order of the jobs, and the number of jobs that did not end.
    """
    # Folders of earlier versions do not say which flows count.
    first = pl.col(FLAG).sort_by("start_ns", nulls_last=True).first()
    counts = first if FLAG in columns(flows) else pl.lit(value=True).alias(FLAG)
    times = (
        flows.filter(pl.col("job").is_not_null())
        .group_by("job")
        .agg(
            counts,
            pl.col("finished").all(),
            ((pl.col("start_ns") + pl.col("fct_ns")).max() - pl.col("start_ns").min()).alias("completion_ns"),
        )
        .filter(FLAG)
        .sort("job")
    )
    jobs = collected(times)
    finished = jobs.filter(pl.col("finished"))
    return finished["completion_ns"].cast(pl.Float64).to_numpy(), jobs.height - finished.height


def job_times(flows: pl.DataFrame | pl.LazyFrame, steps: pl.DataFrame | None, window: Window) -> Times:
    """Times of all jobs that count: of workload graphs where there are some, computing included, else of flows' jobs.

    Parts of a graph are jobs in the table of flows as well, so that a run with graphs has no jobs beside them.

    Args:
        flows: Table `flows` of a run.
        steps: Its table `steps`, if it has workload graphs.
        window: Window of measurement.

    """
    return Times(*completion_ns(flows)) if steps is None else _of_graphs(steps, window, "job")


def step_times(steps: pl.DataFrame | None, window: Window) -> Times:
    """Times of all steps of workload graphs that count; the arguments are those of `job_times`."""
    return Times(np.array([]), 0) if steps is None else _of_graphs(steps, window, "step")


def _of_graphs(steps: pl.DataFrame, window: Window, kind: str) -> Times:
    """Times of the rows of a kind that begin in the window; graphs that are idle have none."""
    named = steps.with_columns(pl.col("kind").cast(pl.String))
    began = named.filter((pl.col("kind") == "job") & pl.col("start_ns").is_not_null())["job"]
    rows = named.filter((pl.col("kind") == kind) & pl.col("job").is_in(began.to_list()))
    if not window.whole:
        rows = rows.filter(pl.col("start_ns").is_between(window.from_ns, window.to_ns, closed="left"))
    ended = rows["time_ns"].drop_nulls().cast(pl.Float64).to_numpy()
    return Times(ended, rows.height - len(ended))
