"""One line of the table: what the paper says, what came out, what theory expects, the verdict."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.reproduce.estimate import Band

AGREES, RANKS, DIFFERS = "agrees", "agrees in rank only", "differs"
UNDECIDED, INCOMPARABLE, NOT_RUN = "undecided", "cannot be compared", "not run"
KINDS = (AGREES, RANKS, DIFFERS, UNDECIDED, INCOMPARABLE, NOT_RUN)

WITH_BECAUSE = (DIFFERS, INCOMPARABLE)
"""Verdicts that a reason follows as a clause."""


@dataclass(frozen=True)
class Line:
    """A claim judged."""

    group: str
    """`luopan/fig9`"""
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
    fair: float | None = None
    """Ours with a fair competitor in place of the published one."""
    theory: Band | None = None
    timed: bool = False
    """Whether `value` is a time on this machine, which no seed repeats."""

    @property
    def reason(self) -> str:
        """Reason that follows the verdict."""
        return f"because {self.because}" if self.because and self.kind in WITH_BECAUSE else self.because
