"""Extremes of a multinomial split: the probability that no member is beyond its bounds, exactly.

An ideal hash puts each of `picks` flows on a member independently. The counts are then those of independent Poisson
variables under the condition that their sum is `picks` (B. Levin, *A representation for multinomial cumulative
distribution functions*, Annals of Statistics 9, 1981): the probability that all stay in bounds is the coefficient of
the convolution of the Poisson probabilities cut at the bounds, over the probability of the sum.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammaln, xlogy

from anabranch.split.stats.binomial import at_most, more_than

Floats = npt.NDArray[np.float64]

POINTS_MAX = 1 << 20
"""Longest convolution; beyond it the bound of `beyond` is taken, which is within a few percent at 5 %."""
RARE = 1e-6
"""Sum of the members' probabilities up to which it is that of any: two at once add no more than half its square."""
DEVIATIONS, COUNTS = 14.0, 60.0
"""Distance from the mean beyond which a Poisson probability is below 1e-40: so many deviations, and so many counts."""


def tails(shares: Floats, picks: int, least: Floats, most: Floats) -> Floats:
    """Probability that each member is below `least` or above `most`, both whole; shape (members,)."""
    return np.asarray(np.minimum(at_most(least - 1, picks, shares) + more_than(most, picks, shares), 1.0))


def beyond(shares: Floats, picks: int, least: Floats, most: Floats) -> float:
    """Probability that any member of a multinomial split is below its least or above its most count.

    Args:
        shares: probability of each member, shape (members,); their sum is 1.
        picks: number of independent picks.
        least: least count of each member that is in bounds, whole, shape (members,).
        most: most count of each member that is in bounds, whole, shape (members,).

    """
    total = float(tails(shares, picks, least, most).sum())
    if total <= RARE:
        return total
    within = _inside(shares, picks, least, most)
    return min(total, 1.0) if within is None else float(np.clip(1.0 - within, 0.0, 1.0))


def _inside(shares: Floats, picks: int, least: Floats, most: Floats) -> float | None:
    """Probability that all are in bounds; None where the convolution would be too long."""
    means = picks * shares
    reach = DEVIATIONS * np.sqrt(means) + COUNTS
    low = np.maximum(np.maximum(least, np.floor(means - reach)), 0.0)
    high = np.minimum(np.minimum(most, np.ceil(means + reach)), picks)
    if (high < low).any() or not low.sum() <= picks <= high.sum():
        return 0.0
    length = next_fast_len(int((high - low).sum()) + 1, real=True)
    if length > POINTS_MAX:
        return None
    alike, times = np.unique(np.stack([means, low, high]), axis=1, return_counts=True)
    product = np.ones(length // 2 + 1, dtype=np.complex128)
    for (mean, first, last), many in zip(alike.T, times, strict=True):
        product *= rfft(_poisson(np.arange(first, last + 1), mean), length) ** int(many)
    convolved = irfft(product, length)[int(picks - low.sum())]
    return float(convolved / _poisson(np.array([float(picks)]), float(picks))[0])


def _poisson(counts: Floats, mean: float) -> Floats:
    return np.asarray(np.exp(xlogy(counts, mean) - mean - gammaln(counts + 1)))
