"""Quality of a packet hash: lost identities, even bins, and independence between paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

BINS = 256


@dataclass(frozen=True)
class Uniformity:
    """Chi-square test of even bins: the statistic over its degrees of freedom, and its p-value."""

    chi2_per_df: float
    p_value: float


def chi_square(values: npt.NDArray[np.uint64], bits: int) -> Uniformity:
    """Tests that hash values of `bits` bits fill their range evenly, in 256 bins by their top 8 bits."""
    bins = (values >> np.uint64(bits - 8)).astype(np.int64)
    counts = np.bincount(bins, minlength=BINS)
    expected = values.size / BINS
    statistic = float(np.sum((counts - expected) ** 2) / expected)
    return Uniformity(statistic / (BINS - 1), float(chdtrc(BINS - 1, statistic)))


def lost_pct(values: npt.NDArray[np.uint64]) -> float:
    """Percentage of connections whose hash value another one already has: 100 (1 - distinct / N)."""
    return 100.0 * (1.0 - np.unique(values).size / values.size)


def lost_expected_pct(connections: int, bits: int) -> float:
    """Expected `lost_pct` of a perfect hash (birthday problem): 1 - M (1 - (1 - 1/M)^N) / N, M = 2^bits."""
    space = 2.0**bits
    distinct = -space * np.expm1(connections * np.log1p(-1.0 / space))
    return float(100.0 * max(0.0, 1.0 - distinct / connections))


def correlation(first: npt.NDArray[np.uint64], second: npt.NDArray[np.uint64]) -> float:
    """Pearson's correlation of two columns of hash values; 0 if a column is constant."""
    a, b = first.astype(np.float64), second.astype(np.float64)
    a -= a.mean()
    b -= b.mean()
    norm = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.sum(a * b)) / norm if norm > 0 else 0.0
