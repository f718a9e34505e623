"""Zone of the values that agree with a claim, and intervals against it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from anabranch.reproduce.claims.claim import Claim
from anabranch.reproduce.values.estimate import Estimate

NO_EFFECT_PCT = 2.0
"""Relative difference, in percent, up to which an interval that holds no difference shows that there is none."""


@dataclass(frozen=True)
class Zone:
    """Values between two ends, either of which may be open."""

    low: float | None
    high: float | None

    def holds(self, one: Estimate) -> bool | None:
        """Whether the whole interval is inside; None if it is inside in part, or there is none."""
        if one.low is None or one.high is None:
            return None
        if (self.low is None or one.low >= self.low) and (self.high is None or one.high <= self.high):
            return True
        outside = (self.low is not None and one.high < self.low) or (self.high is not None and one.low > self.high)
        return False if outside else None

    def distance(self, one: Estimate) -> float:
        """Distance from the value to the nearer end."""
        return min((abs(one.value - end) for end in (self.low, self.high) if end is not None), default=math.inf)


def side(claim: Claim) -> int:
    """Side of no difference on which the published numbers lie: 1 or -1; 0 if on both or on none."""
    neutral = claim.measure.neutral if claim.measure else None
    if neutral is None:
        return 0
    low, high = claim.low, claim.high
    if low is not None and low >= neutral and (high is None or high > neutral or claim.compare == "sign"):
        return 1
    if high is not None and high <= neutral and (low is None or low < neutral or claim.compare == "sign"):
        return -1
    return 0


def agreeing(claim: Claim) -> Zone:
    """Values within the tolerance or the factor of what is published, on its side of no difference."""
    factor, tolerance = claim.factor or 1.0, claim.tolerance
    low = None if claim.low is None else min(claim.low - tolerance, claim.low / factor)
    high = None if claim.high is None else max(claim.high + tolerance, claim.high * factor)
    neutral = claim.measure.neutral if claim.measure else None
    if neutral is not None and side(claim) > 0:
        low = neutral if low is None else max(low, neutral)
    if neutral is not None and side(claim) < 0:
        high = neutral if high is None else min(high, neutral)
    return Zone(low, high)


def one_side(claim: Claim) -> Zone:
    """All values on the published side of no difference."""
    neutral = claim.measure.neutral if claim.measure else None
    return Zone(neutral, None) if side(claim) > 0 else Zone(None, neutral)


def no_effect(claim: Claim) -> Zone | None:
    """Values that no figure tells from no difference; None if the measure is not relative, or the paper claims less."""
    measure = claim.measure
    if measure is None or measure.neutral is None or not measure.relative:
        return None
    half = NO_EFFECT_PCT * (0.01 if measure.neutral else 1.0)
    zone = Zone(measure.neutral - half, measure.neutral + half)
    published = [end for end in (claim.low, claim.high) if end is not None]
    if claim.compare == "rank" and any(zone.holds(Estimate(end, end, end)) for end in published):
        return None
    return zone
