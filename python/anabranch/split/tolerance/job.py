"""One job of `anabranch tolerance`: what the user gave, and all that is computed from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.split.tolerance.faults import Fault
from anabranch.split.tolerance.judge import Judgement
from anabranch.split.tolerance.tolerance import MemberBounds, Tolerance

BANDS_PCT = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0)
"""Bands of the table where neither a band nor a number of flows is given."""
DEFAULT_FAULTS = (Fault("missing"), Fault("equal"), Fault("off", 10.0), Fault("values", 256.0))


@dataclass(frozen=True)
class Seen:
    """A fault, and how likely it is to be seen."""

    fault: Fault
    power: float | None
    """Probability that this test sees it; None without a number of flows."""
    flows: int | None
    """Flows by which the narrowest bounds see it in 99 of 100 trials; None where none do."""


@dataclass(frozen=True)
class Report:
    """Everything about one test."""

    test: Tolerance
    flows: int | None
    band_pct: float | None
    """Band asked for."""
    false_alarms: float
    """Rate of false alarms asked for."""
    false_alarm: float | None
    """Probability that an ideal hash fails the test."""
    narrowest_pct: float | None
    """Narrowest band that as many flows keep, where no band is given or it is not kept."""
    bands: list[tuple[float, int | None]]
    """Bands in percent, each with the flows it needs."""
    bounds: list[MemberBounds]
    faults: list[Seen]

    @property
    def is_kept(self) -> bool:
        """Whether an ideal hash passes the test as often as asked: there are flows enough, or can be."""
        if self.false_alarm is not None:
            return self.false_alarm <= self.false_alarms
        return self.band_pct is None or self.flows is not None

    @property
    def record(self) -> dict[str, Any]:
        """Plain data, for `--json`."""
        return {
            "exact": self.test.exact,
            "flows": self.flows,
            "picks": None if self.flows is None else self.test.picks(self.flows),
            "band_pct": self.band_pct,
            "false_alarms": self.false_alarms,
            "false_alarm": self.false_alarm,
            "narrowest_pct": self.narrowest_pct,
            "bands": [{"band_pct": band, "flows": flows} for band, flows in self.bands],
            "members": [vars(one) for one in self.bounds],
            "faults": [{"fault": one.fault.text, "power": one.power, "flows": one.flows} for one in self.faults],
        }


def report(
    test: Tolerance, flows: int | None, band_pct: float | None, false_alarms: float, faults: list[Fault]
) -> Report:
    """Computes all that is known of a test: its flows, unless given, are those that its band needs."""
    bands = [(one, test.flows_needed(one)) for one in ((band_pct,) if band_pct else BANDS_PCT)]
    if flows is None and band_pct is not None:
        flows = bands[0][1]
    if not faults:
        faults = [one for one in DEFAULT_FAULTS if one.differs(test.shares, test.values)]
    seen = [
        Seen(one, None if flows is None else test.power(one, flows, band_pct), test.flows_to_see(one)) for one in faults
    ]
    if flows is None:
        return Report(test, None, band_pct, false_alarms, None, None, bands, [], seen)
    alarm = None if band_pct is None else test.false_alarm(flows, band_pct)
    narrowest = test.band_pct(flows) if alarm is None or alarm > false_alarms else None
    bounds = test.bounds(flows, band_pct)
    return Report(test, flows, band_pct, false_alarms, alarm, narrowest, bands, bounds, seen)


def verdict_record(judgement: Judgement) -> dict[str, Any]:
    """Plain data of a verdict, for `--json`."""
    return {
        "cause": judgement.cause.value,
        "reason": judgement.reason,
        "chance": judgement.chance,
        "picks": judgement.picks,
        "values": judgement.values,
        "members": [vars(one) for one in judgement.members],
    }
