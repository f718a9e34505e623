"""Estimates: what a measure came to, its interval, and what an oracle expects of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from anabranch.split.stats.confidence import seeds_needed


@dataclass(frozen=True)
class Band:
    """Value, and the central 95 % around it; `high` is infinite where theory gives a bound."""

    value: float
    low: float
    high: float

    def holds(self, published: float, slack: float = 0.0) -> bool:
        """Whether a value printed to within `slack` lies inside."""
        return self.low - slack <= published <= self.high + slack

    def moved(self, by: float) -> Band:
        """The band elsewhere."""
        return Band(self.value + by, self.low + by, self.high + by)


@dataclass(frozen=True)
class Spread:
    """Central 95 % of means over as many trials as the paper has, as ours have them; its place is known to `slack`."""

    band: Band
    slack: float
    """Half the 95 % interval of how far the band may lie to either side."""

    def holds(self, published: float, rounding: float) -> bool | None:
        """Whether a published value lies inside; None if the place of the band decides it."""
        sure, possible = rounding - self.slack, rounding + self.slack
        if self.band.holds(published, sure):
            return True
        return None if self.band.holds(published, possible) else False

    def margin(self, published: float, rounding: float) -> float:
        """How well the band's place has to be known for a published value to lie inside or outside."""
        beyond = max(self.band.low - published, published - self.band.high)
        return abs(beyond - rounding)


@dataclass(frozen=True)
class Oracle:
    """Values that ours must have if the code is right, from something that shares no code with it."""

    ours: float
    low: float
    high: float
    source: str
    """Theory or implementation that expects them, in a few words."""
    value: float | None = None
    """Expected value, where there is one between the ends."""

    @property
    def holds(self) -> bool:
        """Whether ours lies inside; rounding of floating-point sums is given away."""
        rounding = 1e-9 * max(1.0, abs(self.low), abs(self.high) if self.high != float("inf") else 0.0)
        return self.low - rounding <= self.ours <= self.high + rounding


@dataclass(frozen=True)
class Estimate:
    """A number and its 95 % interval; the ends are None where there is no interval, as for one seed."""

    value: float
    low: float | None
    high: float | None
    point: dict[str, Any] = field(default_factory=dict)
    """Value by axis that is neither held nor compared; empty for a mean over all of them."""
    seeds: int | None = None
    """Number of values behind it, where points may have different ones."""


@dataclass(frozen=True)
class Estimates:
    """A measure over a study."""

    points: list[Estimate]
    mean: Estimate | None
    missing: list[str]
    """Reasons of cells that are left out, each once."""
    seeds: int
    """Number of values behind the mean."""
    unfinished: tuple[int, int] = (0, 0)
    """Flows that did not end, and all, of the cells that count; (0, 0) where they do not matter."""
    oracle: Oracle | None = None
    """Theory's expectation of ours; None where there is none."""
    bounds: bool = False
    """Whether every run behind the measure was checked against the bounds that no network can pass."""
    broken: str = ""
    """Bound that a run has passed."""
    spread: Spread | None = None
    """Spread of as many trials as the paper's, for `compare = "trials"`."""
    repeated: str = "seeds"
    """What the interval is over, in the plural."""
    connections: int | None = None
    """Connections behind each trial, where all trials have the same number."""
    smaller: str = ""
    """Reason why a value of a quick study cannot be compared with the paper's; its side still can."""
    timed: bool = False
    """Whether the value is a time on this machine, which no seed repeats."""

    def seeds_of(self, one: Estimate) -> int:
        """Number of values behind one of them."""
        return self.seeds if one.seeds is None else one.seeds

    def chosen(self, across: str) -> list[Estimate]:
        """Estimates that a measure's `across` names: all points of `each`, from the least on, or one."""
        if across == "mean" or self.mean is None:
            return [self.mean] if self.mean else []
        by_value = sorted(self.points, key=lambda one: one.value)
        return {"each": by_value, "least": by_value[:1], "most": by_value[-1:]}[across]


def seeds_deciding(one: Estimate, seeds: int, distance: float) -> int | None:
    """Least number of seeds whose interval would be narrower than `distance` to either side, at the spread seen."""
    half = None if one.low is None or one.high is None else (one.high - one.low) / 2
    return seeds_needed(half, seeds, distance)


def most_needed(numbers: Sequence[int | None]) -> int | None:
    """Largest of several numbers of seeds; None if one is not known."""
    return None if None in numbers or not numbers else max(one for one in numbers if one is not None)
