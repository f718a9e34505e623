"""Jobs: flows that belong together, such as the answers of an incast or the steps of an all-reduce."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from anabranch.stats.lazily import collected, columns
from anabranch.stats.window import FLAG


def completion_ns(flows: pl.DataFrame | pl.LazyFrame) -> tuple[npt.NDArray[np.float64], int]:
    """Times from the start of a job's first flow to the end of its last, in nanoseconds, for each that ended.

    A job counts if its first flow does.

    Returns these times, in the order of the jobs, and the number of jobs that did not end.
    """
    # Folders of earlier versions do not say which flows count.
    first = pl.col(FLAG).sort_by("start_ns", nulls_last=True).first()
    counts = first if FLAG in columns(flows) else pl.lit(value=True).alias(FLAG)
    found = (
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
    jobs = collected(found)
    finished = jobs.filter(pl.col("finished"))
    return finished["completion_ns"].cast(pl.Float64).to_numpy(), jobs.height - finished.height
