"""One line of the table: what the paper says, what came out, ours against theory, and the paper against ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.reproduce.values.estimate import Oracle, Spread

AGREES, RANKS, DIFFERS = "agrees", "same side only", "differs"
UNDECIDED, BLIND = "undecided", "cannot discriminate"
INCOMPARABLE, NOT_RUN, VOID = "cannot be compared", "not run", "ours is wrong"
KINDS = (AGREES, RANKS, DIFFERS, UNDECIDED, BLIND, INCOMPARABLE, NOT_RUN, VOID)
"""Verdicts on the paper against ours."""

HOLDS, BOUNDED, NO_ORACLE, FAILS = "holds", "within bounds", "no oracle", "fails"
CHECKS = (HOLDS, BOUNDED, NO_ORACLE, FAILS)
"""Outcomes of ours against theory or an independent implementation."""

WITH_BECAUSE = (DIFFERS, INCOMPARABLE)
"""Verdicts that a reason follows as a clause."""


@dataclass(frozen=True)
class Line:
    """A claim judged."""

    group: str
    """Name of the study, `PAPER/FIGURE`."""
    id: str
    what: str
    where: str
    paper: str
    ours: str
    kind: str
    because: str
    unit: str = ""
    paper_low: float | None = None
    paper_high: float | None = None
    value: float | None = None
    """Ours; of a range its mean."""
    low: float | None = None
    high: float | None = None
    """The 95 % interval of `value`."""
    seeds: int = 0
    repeated: str = "seeds"
    """What `seeds` counts."""
    needed: int | None = None
    """Seeds that would decide an undecided claim, by the spread that was seen."""
    fair: float | None = None
    """Ours with a fair competitor in place of the published one."""
    check: str = NO_ORACLE
    """Ours against theory, one of `CHECKS`."""
    checked_by: str = ""
    """What ours was checked against, with its numbers."""
    oracle: Oracle | None = None
    spread: Spread | None = None
    compare: str = ""
    fixed: str = ""
    """Date on which statistic and tolerance were fixed."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Settings that were chosen knowing the published answer: their texts by name."""
    main: bool = False
    """Whether the claim carries the paper's main statement."""
    repeats: str = ""
    """Claim where the same published number counts; empty if it counts here."""
    own: bool = False
    """Whether the claim is this project's, of no publication."""
    timed: bool = False
    """Whether `value` is a time on this machine, which no seed repeats."""
    turned_by: tuple[str, ...] | None = None
    """Mutations of the study's load balancers under which the verdict is another; None where none was tried."""

    @property
    def counted(self) -> bool:
        """Whether the verdict counts; a number that is published once counts once, and one of our own nowhere."""
        return not self.repeats and not self.own

    @property
    def turns(self) -> str:
        """Mutations that turn the verdict, in words; `-` if none does, and empty where none was tried."""
        return "" if self.turned_by is None else ", ".join(self.turned_by) or "-"

    @property
    def reason(self) -> str:
        """Reason that follows the verdict."""
        return f"because {self.because}" if self.because and self.kind in WITH_BECAUSE else self.because
