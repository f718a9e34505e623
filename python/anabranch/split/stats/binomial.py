"""Probabilities of a binomial variable, elementwise, by logarithms and the incomplete beta function (DLMF 8.17.5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, gammaln, xlog1py, xlogy

Floats = npt.NDArray[np.float64]


def exactly(k: Floats, n: int, p: Floats) -> Floats:
    """P(X = k) for X ~ Bin(n, p); zero beyond n."""
    inside = np.minimum(k, n)
    ways = gammaln(n + 1) - gammaln(inside + 1) - gammaln(n - inside + 1)
    return np.where(k <= n, np.exp(ways + xlogy(inside, p) + xlog1py(n - inside, -p)), 0.0)


def at_most(k: Floats, n: int, p: Floats) -> Floats:
    """P(X <= k) for X ~ Bin(n, p)."""
    inside = np.clip(k, 0, max(n - 1, 0))
    return np.where(k < 0, 0.0, np.where(k >= n, 1.0, betainc(n - inside, inside + 1, 1.0 - p)))


def more_than(k: Floats, n: int, p: Floats) -> Floats:
    """P(X > k) for X ~ Bin(n, p), as exact where it is small."""
    inside = np.clip(k, 0, max(n - 1, 0))
    return np.where(k < 0, 1.0, np.where(k >= n, 0.0, betainc(inside + 1, n - inside, p)))
