"""Statistics that quantities name: `mean`, a percentile, or one over another."""

from __future__ import annotations

from typing import Any

import numpy as np

from anabranch.simulate.stats.fct import QUANTILES, quantile


def statistic_of(values: Any, statistic: str) -> float | None:
    """A statistic, or one over another; None of no values."""
    if not len(values):
        return None
    first, _, second = statistic.partition("/")
    if second:
        above, below = statistic_of(values, first), statistic_of(values, second)
        return None if above is None or below is None else above / below
    return float(np.mean(values)) if statistic == "mean" else quantile(values, QUANTILES[statistic])
