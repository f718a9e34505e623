"""Test of a split, before it runs: flows that it needs, its bounds, its false alarms and what it sees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from anabranch._core import weight_integers
from anabranch.files.errors import AnabranchError
from anabranch.split.splitter import Weight, weight_texts
from anabranch.split.tolerance.bounds import Bounds, quantiles, relative
from anabranch.split.tolerance.chance import FALSE_ALARMS
from anabranch.split.tolerance.extremes import Floats
from anabranch.split.tolerance.faults import Fault
from anabranch.split.tolerance.faults import fault as read_fault
from anabranch.split.tolerance.flow_packets import flow_packets

FLOWS_MAX = 10**12
MEMBERS_MAX = 1024
SEEN = 0.99
"""Probability by which a fault counts as seen."""


@dataclass(frozen=True)
class MemberBounds:
    """Bounds of one member, in flows; packets of equal flows are as many times more."""

    member: int
    """Number of the member, from 1."""
    share: float
    expected: float
    least: int
    """Least number of flows that is no false alarm."""
    most: int
    """Largest number of flows that is no false alarm."""


class Tolerance:
    """A test of weighted members with an ideal hash as its measure.

    The hash puts each flow on a member independently, with the member's share as its probability. Where the hashed
    field has `values` distinct values only, flows take them in turn, and all flows of a value share a member: beyond
    `values` flows a split gets no more even. Unequal flows count as fewer equal ones, by Kish's sum(s)^2 / sum(s^2).

    Args:
        members: number of members of equal weight; left out where `weights` says it.
        weights: one per member; non-negative, at least one positive, at most 1024 of them.
        values: distinct values of the hashed field that the test's flows have; None for one each.
        packets_per_flow: the same number for all, or the name of a distribution of flow sizes, as in `"web-search"`.
        false_alarms: probability by which the test may fail an ideal hash.

    Raises:
        AnabranchError: a value is out of range, or members and weights contradict each other.

    """

    def __init__(
        self,
        members: int | None = None,
        *,
        weights: Sequence[Weight] | None = None,
        values: int | None = None,
        packets_per_flow: float | str = 1,
        false_alarms: float = FALSE_ALARMS,
    ) -> None:
        self._shares = shares_of(members, weights)
        self._values = None if values is None else _whole("values", values, 1, FLOWS_MAX)
        self._packets = flow_packets(packets_per_flow)
        if not 0 < false_alarms < 0.5:
            raise AnabranchError(f"false_alarms: {false_alarms}: out of range; give a probability below 0.5")
        self._false_alarms = false_alarms

    @property
    def shares(self) -> Floats:
        """Share of each member; shape (members,)."""
        return self._shares

    @property
    def values(self) -> int | None:
        """Distinct values of the hashed field; None for one each."""
        return self._values

    @property
    def exact(self) -> bool:
        """Whether probabilities are exact; they are those of a normal limit where flows differ in size."""
        return self._packets.spread == 1

    @property
    def spread(self) -> float:
        """Number of flows that split as evenly as one of equal flows; 1 where flows are equal."""
        return self._packets.spread

    @property
    def packets_mean(self) -> float:
        """Mean number of packets of a flow."""
        return self._packets.mean

    def picks(self, flows: int, values: int | None = None) -> int:
        """Number of independent picks of a member that so many flows come to.

        Args:
            flows: number of flows.
            values: distinct values of the hashed field, where they are other than the test's own.

        """
        limits = [one for one in (self._values, values) if one is not None]
        spread = self._packets.spread
        if not limits or flows <= min(limits):
            return max(1, int(flows / spread))
        return max(1, int(1 / (1 / min(limits) + (spread - 1) / flows)))

    def false_alarm(self, flows: int, band_pct: float) -> float:
        """Probability that an ideal hash puts any member beyond `band_pct` percent of its share."""
        flows, band_pct = _whole("flows", flows, 1, FLOWS_MAX), _band(band_pct)
        return relative(self._shares, band_pct).alarm(self._shares, self.picks(flows))

    def flows_needed(self, band_pct: float) -> int | None:
        """Flows by which a band of so many percent has no more false alarms than asked, to three digits.

        None where no number of flows does it: the hashed field has too few values, or more than 10^12 are needed.
        """
        bounds = relative(self._shares, _band(band_pct))
        return self._least_flows(lambda flows: bounds.alarm(self._shares, self.picks(flows)) <= self._false_alarms)

    def flows_to_see(self, fault: str | Fault) -> int | None:
        """Flows by which a test by its narrowest bounds sees a fault in 99 of 100 trials, to three digits.

        None as in `flows_needed`.
        """
        one = _fault(fault)
        return self._least_flows(lambda flows: self.power(one, flows) >= SEEN)

    def bounds(self, flows: int, band_pct: float | None = None) -> list[MemberBounds]:
        """Bounds of each member.

        Args:
            flows: number of flows.
            band_pct: percent of each member's share; left out for the narrowest bounds that an ideal hash keeps but for
                the false alarms asked for, each member's ends as improbable as the next one's.

        """
        flows = _whole("flows", flows, 1, FLOWS_MAX)
        ends = self._bounds(flows, band_pct)
        picks = self.picks(flows)
        least = np.ceil(ends.least * picks - 1e-7) * flows / picks
        most = np.floor(ends.most * picks + 1e-7) * flows / picks
        return [
            MemberBounds(member, float(share), float(share) * flows, math.floor(low + 1e-7), math.ceil(high - 1e-7))
            for member, (share, low, high) in enumerate(zip(self._shares, least, most, strict=True), 1)
        ]

    def band_pct(self, flows: int) -> float:
        """Narrowest band, in percent of each member's share, that so many flows of an ideal hash keep."""
        flows = _whole("flows", flows, 1, FLOWS_MAX)
        low, high = 0.0, 100.0
        while self.false_alarm(flows, high) > self._false_alarms and high < BAND_MAX_PCT:
            low, high = high, 2 * high
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (low, middle) if self.false_alarm(flows, middle) <= self._false_alarms else (middle, high)
        return high

    def power(self, fault: str | Fault, flows: int, band_pct: float | None = None) -> float:
        """Probability that the test sees a fault, of the member on which it is hardest to see.

        Args:
            fault: `missing` (a member gets nothing), `equal` (weights are ignored), `off:10` (a member is 10 % off,
                whichever side is harder to see) or `values:256` (the hash sees so many values).
            flows: number of flows.
            band_pct: as in `bounds`.

        Raises:
            AnabranchError: an unknown fault, or an amount out of range.

        """
        one, flows = _fault(fault), _whole("flows", flows, 1, FLOWS_MAX)
        ends, picks = self._bounds(flows, band_pct), self.picks(flows, one.values)
        return min((ends.alarm(shares, picks) for shares in one.shares(self._shares)), default=0.0)

    def _bounds(self, flows: int, band_pct: float | None) -> Bounds:
        if band_pct is not None:
            return relative(self._shares, _band(band_pct))
        return quantiles(self._shares, self.picks(flows), self._false_alarms)

    def _least_flows(self, enough: Callable[[int], bool]) -> int | None:
        """Least number of flows of three digits that is enough, by bisection."""
        step = 0
        while not enough(_three_digits(step)):
            step += DECADE // 4
            if _three_digits(step) > FLOWS_MAX:
                return None
        low, high = max(step - DECADE // 4, -1), step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(_three_digits(middle)) else (middle, high)
        return _three_digits(high)


DECADE = 900
"""Numbers of three digits in a decade."""
BAND_MAX_PCT = 1e6


def _three_digits(step: int) -> int:
    """The `step`-th of the numbers with three digits and zeros: 1, 2, ... 999, 1000, 1010, ..."""
    if step < 99:
        return step + 1
    decade, rest = divmod(step - 99, DECADE)
    return (100 + rest) * int(10**decade)


def shares_of(members: int | None, weights: Sequence[Weight] | None) -> Floats:
    """Share of each member, shape (members,), from their number or their weights."""
    if members is None and weights is None:
        raise AnabranchError("members, weights: both missing; give the number of members, or a weight for each")
    if weights is None:
        count = _whole("members", members, 1, MEMBERS_MAX)
        return np.full(count, 1 / count)
    integers = np.array(weight_integers(weight_texts(weights)), dtype=np.float64)
    if members is not None and members != integers.size:
        raise AnabranchError(f"members: {members}: there are {integers.size} weights; leave one of them out")
    shares: Floats = integers / integers.sum()
    return shares


def _whole(key: str, value: float | None, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer) or value != int(value):
        raise AnabranchError(f"{key}: {value}: not a whole number; give one from {least} to {most:,}")
    if not least <= value <= most:
        raise AnabranchError(f"{key}: {value}: out of range; give a whole number from {least} to {most:,}")
    return int(value)


def _band(band_pct: float) -> float:
    if not 0 < band_pct <= BAND_MAX_PCT:
        raise AnabranchError(f"band: {band_pct}: out of range; give percent of a member's share, as in 2")
    return float(band_pct)


def _fault(one: str | Fault) -> Fault:
    return one if isinstance(one, Fault) else read_fault(one)
