"""Jobs: flows that belong together, such as the answers of an incast or the steps of an all-reduce."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl


def completion_ns(flows: pl.DataFrame) -> tuple[npt.NDArray[np.float64], int]:
    """Times from the start of a job's first flow to the end of its last, in nanoseconds, for each that ended.

    Returns these times, in the order of the jobs, and the number of jobs that did not end.
    """
    jobs = (
        flows.filter(pl.col("job").is_not_null())
        .group_by("job")
        .agg(
            pl.col("finished").all(),
            ((pl.col("start_ns") + pl.col("fct_ns")).max() - pl.col("start_ns").min()).alias("completion_ns"),
        )
        .sort("job")
    )
    finished = jobs.filter(pl.col("finished"))
    return finished["completion_ns"].cast(pl.Float64).to_numpy(), jobs.height - finished.height
