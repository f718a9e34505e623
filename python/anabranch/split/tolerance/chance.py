"""The probability that chance alone puts a split as far off as it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.split.stats.binomial import at_most, more_than
from anabranch.split.tolerance.bounds import extremes
from anabranch.split.tolerance.extremes import Floats, beyond

FALSE_ALARMS = 0.001
"""Rate of false alarms: of a thousand right splits one is taken for wrong."""


def member_chance(shares: Floats, counts: npt.ArrayLike, picks: int) -> Floats:
    """Probability that an ideal hash puts each member as far to either side, shape (members,).

    Args:
        shares: share of each member, shape (members,); their sum is 1.
        counts: packets or flows of each member in any unit, shape (members,).
        picks: number of independent picks behind them.

    """
    got = np.asarray(counts, dtype=np.float64)
    scaled = got * picks / got.sum()
    # A count between two whole ones is as improbable as the nearer to the middle.
    low, high = np.ceil(scaled - 1e-6), np.floor(scaled + 1e-6)
    tails: Floats = 2 * np.minimum(at_most(low, picks, shares), more_than(high - 1, picks, shares))
    return np.minimum(1.0, tails)


def chance(shares: Floats, counts: npt.ArrayLike, picks: int) -> float:
    """Probability that an ideal hash puts any member as far off as the farthest is; arguments as `member_chance`."""
    least_likely = float(member_chance(shares, counts, picks).min())
    if least_likely == 0:
        return 0.0
    return beyond(shares, picks, *extremes(shares, picks, least_likely / 2))


def explained_picks(shares: Floats, counts: npt.ArrayLike, most: int, false_alarms: float = FALSE_ALARMS) -> int:
    """The most picks, up to `most`, with which chance explains the counts; at least 1."""
    least, too_many = 1, most + 1
    while too_many - least > 1:
        middle = (least + too_many) // 2
        likely = chance(shares, counts, middle) >= false_alarms
        least, too_many = (middle, too_many) if likely else (least, middle)
    return least


def percent(probability: float) -> str:
    """A probability in percent, without its sign: 0 and 100 are said of no probability between them."""
    if probability < 1e-12:
        return "0" if probability == 0 else "<1e-10"
    return f"{100 * probability:.3g}" if probability <= 0.999 or probability == 1 else ">99.9"
