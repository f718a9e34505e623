"""Advice on a study: effects about which its seeds disagree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.stats import t

from anabranch.stats.confidence import CONFIDENCE
from anabranch.study.outcome import short

if TYPE_CHECKING:
    from anabranch.study.outcome import StudyOutcome

STATISTIC = "slowdown_mean"
SEEDS_MAX = 1000
"""Number of seeds from which on nobody would wait for a decision."""


def advice(study: StudyOutcome) -> list[str]:
    """Sentences on comparisons that more seeds, or longer runs, would decide; none if all are decided."""
    compared = study.compared_axis
    if compared is None:
        return []
    if len(study.seeds) == 1:
        return ["one seed: no interval, and no way to tell an effect from luck; hint: seeds = 5"]
    pairs = list(_pairs(study, compared))
    torn = [(words, logs) for words, logs in pairs if np.ptp(logs) > abs(logs.mean())]
    if not torn:
        return []
    words, logs = min(torn, key=lambda pair: abs(pair[1].mean()) / max(np.ptp(pair[1]), 1e-12))
    low, high = math.exp(logs.min()), math.exp(logs.max())
    needed = seeds_needed(logs)
    more = f"about {needed} seeds would decide it" if needed <= SEEDS_MAX else "no number of seeds would decide it soon"
    return [
        f"two seeds disagree more than the effect in {len(torn)} of {len(pairs)} comparisons of the mean slowdown, "
        f"most of all {words}: its ratio is {low:.3g} under one seed and {high:.3g} under another, "
        f"{math.exp(logs.mean()):.3g} on average; {more}; hint: more seeds, or longer runs"
    ]


def seeds_needed(logs: np.ndarray[Any, Any]) -> int:
    """Number of seeds at which the 95 % interval of the mean leaves out zero, if mean and spread stay what they are."""
    mean, spread = abs(float(logs.mean())), float(logs.std(ddof=1))
    number = len(logs)
    while number <= SEEDS_MAX:
        if float(t.ppf((1 + CONFIDENCE) / 2, number - 1)) * spread / math.sqrt(number) < mean:
            return number
        number = max(number + 1, math.ceil(number * 1.05))
    return SEEDS_MAX + 1


def _pairs(study: StudyOutcome, compared: str) -> Any:
    """Points in words, and the logarithms of their ratios to the first value of the compared axis, seed by seed."""
    table = study.table
    table = table.filter(pl.col("size_class") == table["size_class"][0])
    others = [axis for axis in study.axes if axis != compared]
    baseline = table.filter(pl.col(compared) == study.axes[compared][0])
    paired = table.filter(pl.col(compared) != study.axes[compared][0]).join(
        baseline.select(*others, "seed", pl.col(STATISTIC).alias("baseline")), on=[*others, "seed"]
    )
    paired = paired.drop_nulls([STATISTIC, "baseline"]).with_columns(log=(pl.col(STATISTIC) / pl.col("baseline")).log())
    for point, part in paired.group_by([*study.axes], maintain_order=True):
        if part.height > 1:
            said = ", ".join(f"{short(axis)} {value}" for axis, value in zip(study.axes, point, strict=True))
            yield f"{said} against {study.axes[compared][0]}", part["log"].to_numpy()
