"""Measures, as the judge sees them, and estimates: what one came to, its interval, and what theory expects of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Measure(Protocol):
    """Value to measure, as the judge sees it."""

    @property
    def unit(self) -> str:
        """Unit of its values."""

    @property
    def neutral(self) -> float | None:
        """Value that means no difference; None if it compares nothing."""

    @property
    def across(self) -> str:
        """Combination of points: mean, each, least or most."""

    @property
    def order(self) -> Sequence[Sequence[Any]]:
        """Ranks of schemes, best first; empty if none are ranked."""


@dataclass(frozen=True)
class Band:
    """Value that theory expects, and the central 95 % around it; `high` is infinite where theory gives a bound."""

    value: float
    low: float
    high: float

    def holds(self, published: float, slack: float = 0.0) -> bool:
        """Whether a value printed to within `slack` lies inside."""
        return self.low - slack <= published <= self.high + slack


@dataclass(frozen=True)
class Estimate:
    """A number and its 95 % interval; the ends are None where there is no interval, as for one seed."""

    value: float
    low: float | None
    high: float | None
    point: dict[str, Any] = field(default_factory=dict)
    """Value by axis that is neither held nor compared; empty for a mean over all of them."""


@dataclass(frozen=True)
class Estimates:
    """A measure over a study."""

    points: list[Estimate]
    mean: Estimate | None
    missing: list[str]
    """Reasons of cells that are left out, each once."""
    seeds: int
    unfinished: tuple[int, int] = (0, 0)
    """Flows that did not end, and all, of the cells that count; (0, 0) where they do not matter."""
    theory: Band | None = None
    """Expected mean of as many trials as the paper has; None where theory says nothing."""
    connections: int | None = None
    """Connections behind each trial, where all trials have the same number."""
    smaller: str = ""
    """Reason why a value of a quick study cannot be compared with the paper's; its side still can."""
    timed: bool = False
    """Whether the value is a time on this machine, which no seed repeats."""
