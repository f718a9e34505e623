"""Confidence intervals over seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

CONFIDENCE = 0.95
SEEDS_MAX = 10_000
"""Largest number of seeds that is worth naming."""
LOWER, HIGHER, EQUAL, UNDECIDED = "lower", "higher", "equal", "undecided"
"""Verdicts on a paired ratio; it is equal where it is 1 at every seed, to the last bit."""


def half_width(values: npt.NDArray[np.float64]) -> float | None:
    """Half the width of Student's 95 % interval of the mean: t(n - 1, 0.975) s / sqrt(n). None for one value."""
    if len(values) < 2:
        return None
    return _student(len(values)) * float(values.std(ddof=1)) / math.sqrt(len(values))


def jackknife_half_width(without: npt.NDArray[np.float64]) -> float | None:
    """Half the width of the 95 % interval of a statistic, from its values without each observation in turn (Tukey)."""
    size = len(without)
    if size < 2:
        return None
    error = math.sqrt((size - 1) / size * float(((without - without.mean()) ** 2).sum()))
    return _student(size) * error


def seeds_needed(half: float | None, seeds: int, distance: float) -> int | None:
    """Least number of seeds whose interval would be narrower than `distance` to either side, at the spread seen.

    None where there is no spread to go by, or more than `SEEDS_MAX` would be needed.

    Args:
        half: Half the width of the interval seen, as `half_width` gives it.
        seeds: Number of seeds behind it.
        distance: Distance from the mean to the value that the interval has to exclude.

    """
    if half is None or seeds < 2 or not 0 < distance < math.inf:
        return None
    deviation = half * math.sqrt(seeds) / _student(seeds)
    few, many = 1, 2
    while _student(many) * deviation / math.sqrt(many) >= distance:
        few, many = many, 2 * many
        if few > SEEDS_MAX:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        narrow = _student(middle) * deviation / math.sqrt(middle) < distance
        few, many = (few, middle) if narrow else (middle, many)
    return max(many, seeds + 1)


@dataclass(frozen=True)
class Ratio:
    """Geometric mean of ratios, and the ends of its interval; these are None for one pair."""

    mean: float
    low: float | None
    high: float | None
    seeds: int
    """Number of pairs."""
    equal: bool
    """Whether every ratio is 1 exactly."""

    @property
    def verdict(self) -> str | None:
        """`LOWER` or `HIGHER` if the interval excludes 1, `EQUAL`, or `UNDECIDED`; None without an interval."""
        if self.low is None or self.high is None:
            return None
        if self.equal:
            return EQUAL
        return LOWER if self.high < 1 else HIGHER if self.low > 1 else UNDECIDED

    @property
    def seeds_needed(self) -> int | None:
        """Number of seeds that would decide an undecided ratio, at the spread of the logarithms seen."""
        if self.verdict != UNDECIDED or self.low is None or self.high is None:
            return None
        return seeds_needed(math.log(self.high / self.low) / 2, self.seeds, abs(math.log(self.mean)))


def paired_ratio(values: npt.NDArray[np.float64], baseline: npt.NDArray[np.float64]) -> Ratio:
    """Compares `values` with `baseline` of the same seeds, both positive, shape (seeds,).

    Student's 95 % interval of the mean of log ratios, converted back by the exponential: the common effect of the seeds
    cancels, so that it is tighter than the intervals of the two.
    """
    logs = np.log(values / baseline)
    mean, half = float(logs.mean()), half_width(logs)
    equal = bool((logs == 0).all())
    if half is None:
        return Ratio(math.exp(mean), None, None, len(logs), equal)
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs), equal)


@cache
def _student(seeds: int) -> float:
    """Quantile of Student's t that half a 95 % interval of so many seeds is a multiple of."""
    return float(stdtrit(seeds - 1, (1 + CONFIDENCE) / 2))
