"""Bounds on the share of each member that a test accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.split.stats.binomial import at_most, more_than
from anabranch.split.tolerance.extremes import Floats, beyond

ROUNDING = 1e-7
"""Room for the rounding of a share times a number of picks, in picks."""


@dataclass(frozen=True)
class Bounds:
    """Least and most share of each member that is accepted; both have shape (members,)."""

    least: Floats
    most: Floats

    def alarm(self, shares: Floats, picks: int) -> float:
        """Probability that a split of so many picks by these shares has any member beyond its bounds."""
        least = np.maximum(np.ceil(self.least * picks - ROUNDING), 0.0)
        most = np.minimum(np.floor(self.most * picks + ROUNDING), picks)
        return beyond(shares, picks, least, most)


def relative(shares: Floats, band_pct: float) -> Bounds:
    """Bounds of so many percent of each member's own share to either side."""
    return Bounds(shares * max(0.0, 1 - band_pct / 100), np.minimum(shares * (1 + band_pct / 100), 1.0))


def quantiles(shares: Floats, picks: int, false_alarms: float) -> Bounds:
    """Bounds that each member of an ideal split is as likely to break, all together at no more than `false_alarms`."""
    tail = false_alarms / max(int((shares > 0).sum()), 1) / 2
    least, most = extremes(shares, picks, tail)
    return Bounds(least / picks, most / picks)


def extremes(shares: Floats, picks: int, tail: float) -> tuple[Floats, Floats]:
    """Least and most count of each member whose tail, the count itself with it, is more probable than `tail`."""
    # A count whose tail is `tail` itself is beyond: it is the one that was observed.
    limit = min(tail * (1 + 1e-9), 0.5)
    kinds, kind_of = np.unique(shares, return_inverse=True)
    least = _first(lambda counts: at_most(counts, picks, kinds) > limit, kinds.size, picks)
    most = _first(lambda counts: more_than(counts, picks, kinds) <= limit, kinds.size, picks)
    return least[kind_of], np.maximum(most, least)[kind_of]


def _first(holds: Callable[[Floats], npt.NDArray[np.bool_]], size: int, last: int) -> Floats:
    """Least whole numbers from 0 to `last` for which `holds`, by bisection; it holds for `last`."""
    low, high = np.full(size, -1.0), np.full(size, float(last))
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        is_high = holds(middle)
        low, high = np.where(is_high, low, middle), np.where(is_high, middle, high)
    return high
