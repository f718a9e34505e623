"""Expectations of theory for an experiment: the mean error of its trials, and the band that chance leaves around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.split.stats.mape import mape_expected, mape_floor

LEVEL = 0.999
"""Level of the band: of a table of 35 rows whose theory holds, one row in thirty tables is outside."""
DRAWS = 20_000
SEED = 20250609

Shares = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Expectation:
    """Expectation of the mean MAPE over trials, in percent."""

    mean: float
    low: float
    high: float
    """Ends of the band in which the mean lies with probability `LEVEL`."""
    floor: float
    """Expected mean of the best splitter: one whose shares are those asked."""

    def has(self, measured: float) -> bool:
        """Whether a measured mean is in the band."""
        return self.low <= measured <= self.high


def expectation(asked: Sequence[Shares], shares: Sequence[Shares], connections: int) -> Expectation:
    """Expectation of trials whose connections each take a path by themselves, with these `shares`, trial by trial."""
    random = np.random.Generator(np.random.PCG64(SEED))
    means = np.zeros(DRAWS)
    for p, q in zip(asked, shares, strict=True):
        drawn = random.multinomial(connections, q / q.sum(), DRAWS)
        means += np.mean(100.0 * np.abs(drawn / connections - p) / p, axis=1)
    low, high = np.quantile(means / len(asked), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Expectation(
        mean=float(np.mean([mape_expected(q, p, connections) for p, q in zip(asked, shares, strict=True)])),
        low=float(low),
        high=float(high),
        floor=float(np.mean([mape_floor(p, connections) for p in asked])),
    )
