"""What jobs cost each other: steps of each with the others and without them, and the links that they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl


@dataclass(frozen=True)
class JobCost:
    """One job among others and alone."""

    job: int
    steps: int
    """Steps that ended in both runs."""
    unfinished: int
    """Steps that did not end among the others."""
    together_ns: float | None
    """Median time of these steps among the others."""
    apart_ns: float | None
    """Median time of the same steps alone."""
    times: float | None
    """The former over the latter: 1 is no interference."""
    completion_together_ns: float | None
    """Time of the whole job among the others; null if it did not end."""
    completion_apart_ns: float | None
    completion_times: float | None


@dataclass(frozen=True)
class SharedLink:
    """One direction of a link that several jobs send over."""

    port: int
    link: str
    """Both its ends, as scenarios name it: `leaf0>spine1`."""
    rate_bps: float
    bytes: dict[int, int]
    """Frame bytes of each job that was alone, acknowledgements included."""


def job_costs(together: pl.DataFrame, apart: Mapping[int, pl.DataFrame]) -> list[JobCost]:
    """Compares `steps.parquet` of all jobs together with those of each alone, job by job."""
    costs = []
    for job, own_steps in apart.items():
        mine, own = _of_job(together, job), _of_job(own_steps, job)
        both = _steps(mine).join(_steps(own), on="step", suffix="_apart").drop_nulls()
        together_ns, apart_ns = (_number(both[column].median()) for column in ("time_ns", "time_ns_apart"))
        whole, whole_apart = (_number(rows.filter(pl.col("kind") == "job")["time_ns"].first()) for rows in (mine, own))
        costs.append(
            JobCost(
                job=job,
                steps=both.height,
                unfinished=_steps(mine)["time_ns"].null_count(),
                together_ns=together_ns,
                apart_ns=apart_ns,
                times=_over(together_ns, apart_ns),
                completion_together_ns=whole,
                completion_apart_ns=whole_apart,
                completion_times=_over(whole, whole_apart),
            )
        )
    return costs


def shared_links(topology: Mapping[str, Any], apart: Mapping[int, pl.DataFrame]) -> list[SharedLink]:
    """Links over which at least two jobs send when alone, by the time that a link serves the second busiest of them."""
    ports, names = topology["ports"], topology["nodes"]["name"]
    sums: dict[int, dict[int, int]] = {}
    for job, frame in apart.items():
        sent = frame.group_by("port").agg(pl.col("sent_bytes").sum()).filter(pl.col("sent_bytes") > 0)
        for port, sent_bytes in sent.iter_rows():
            sums.setdefault(int(port), {})[job] = int(sent_bytes)

    def second(port: int) -> float:
        return sorted(sums[port].values())[-2] / float(ports["rate_bps"][port])

    shared = sorted((port for port in sums if len(sums[port]) > 1), key=lambda port: (-second(port), port))
    return [
        SharedLink(
            port,
            f"{names[ports['from'][port]]}>{names[ports['to'][port]]}",
            float(ports["rate_bps"][port]),
            {job: sums[port].get(job, 0) for job in apart},
        )
        for port in shared
    ]


def _of_job(steps: pl.DataFrame, job: int) -> pl.DataFrame:
    return steps.with_columns(pl.col("kind").cast(pl.String)).filter(pl.col("job") == job)


def _steps(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("kind") == "step").select("step", "time_ns")


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _over(numerator: float | None, denominator: float | None) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None
