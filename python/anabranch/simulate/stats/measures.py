"""Measures that load balancers are compared by: of flows, of jobs, of steps of workload graphs, and of requests."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.files.units import bit_rate, duration, significant
from anabranch.simulate.stats.fct import STATISTICS


@dataclass(frozen=True)
class Measure:
    """Quantity of which each run has a mean and quantiles."""

    name: str
    """Name on command lines and in Python."""
    column: str
    """Beginning of its columns in the tables of a study, as `fct_ns` in `fct_ns_mean`."""
    words: str
    """Name in tables and figures."""
    scale: float
    """Size of the unit that figures use, in the unit of the column."""
    unit: str
    """Unit that figures use; empty for a ratio."""
    lower_is_better: bool
    by_class: bool
    """Whether flows have it, so that each size class has its own values."""
    usual: tuple[str, ...] = ("mean", "p99")
    """Statistics that are shown unless others are asked for."""

    def columns(self) -> list[str]:
        """Columns of its statistics."""
        return [f"{self.column}_{statistic}" for statistic in STATISTICS]

    def text(self, value: float) -> str:
        """Formats a value with its unit."""
        if self.column.endswith("_ns"):
            return duration(value)
        return bit_rate(value) if self.column.endswith("_bps") else significant(value)

    @property
    def floor(self) -> float:
        """Least value: a slowdown of 1, for nothing is faster than on an empty fabric, or 0."""
        return 1.0 if self.column == "slowdown" else 0.0

    @property
    def axis(self) -> str:
        """Name with the unit of figures, as `FCT, ms`."""
        return f"{self.words}, {self.unit}" if self.unit else self.words


SLOWDOWN = Measure("slowdown", "slowdown", "slowdown", 1.0, "", lower_is_better=True, by_class=True)
FCT = Measure("fct", "fct_ns", "FCT", 1e6, "ms", lower_is_better=True, by_class=True)
THROUGHPUT = Measure(
    "throughput", "throughput_bps", "throughput", 1e9, "Gb/s", lower_is_better=False, by_class=True, usual=("mean",)
)
JOB = Measure("job", "job_ns", "job time", 1e6, "ms", lower_is_better=True, by_class=False, usual=("mean",))
STEP = Measure("step", "step_ns", "step time", 1e6, "ms", lower_is_better=True, by_class=False, usual=("mean",))
TTFT = Measure("ttft", "ttft_ns", "time to first token", 1e6, "ms", lower_is_better=True, by_class=False)
TPOT = Measure("tpot", "tpot_ns", "time per output token", 1e6, "ms", lower_is_better=True, by_class=False)

MEASURES = {one.name: one for one in (SLOWDOWN, FCT, THROUGHPUT, JOB, STEP, TTFT, TPOT)}
"""All measures by name. Throughput is a flow's payload over its completion time."""
OF_REQUESTS = (TTFT, TPOT)
"""Measures of requests of inference."""
