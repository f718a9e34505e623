"""Confidence intervals over seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import t

CONFIDENCE = 0.95


def half_width(values: npt.NDArray[np.float64]) -> float | None:
    """Half the width of Student's 95 % interval of the mean: t(n - 1, 0.975) s / sqrt(n). None for one value."""
    if len(values) < 2:
        return None
    quantile = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    return quantile * float(values.std(ddof=1)) / math.sqrt(len(values))


def jackknife_half_width(without: npt.NDArray[np.float64]) -> float | None:
    """Half the width of the 95 % interval of a statistic, from its values without each observation in turn (Tukey)."""
    size = len(without)
    if size < 2:
        return None
    error = math.sqrt((size - 1) / size * float(((without - without.mean()) ** 2).sum()))
    return float(t.ppf((1 + CONFIDENCE) / 2, size - 1)) * error


@dataclass(frozen=True)
class Ratio:
    """Geometric mean of ratios, and the ends of its interval; these are None for one pair."""

    mean: float
    low: float | None
    high: float | None


def paired_ratio(values: npt.NDArray[np.float64], baseline: npt.NDArray[np.float64]) -> Ratio:
    """Compares `values` with `baseline` of the same seeds, both positive, shape (seeds,).

    Student's 95 % interval of the mean of log ratios, converted back by the exponential: the common effect of the seeds
    cancels, so that it is tighter than the intervals of the two.
    """
    logs = np.log(values / baseline)
    mean, half = float(logs.mean()), half_width(logs)
    if half is None:
        return Ratio(math.exp(mean), None, None)
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))
