"""Overview of a paper: verdicts counted, ours against theory counted, and whether its main claims show here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anabranch.reproduce.judge.line import AGREES, CHECKS, FAILS, KINDS, RANKS, Line
from anabranch.reproduce.session import Evaluated

TURNS, UNTURNED, UNTRIED = "agrees and turns", "agrees, no mutation turns it", "agrees, none tried"
AGREEING = (TURNS, UNTURNED, UNTRIED)
"""Verdicts that agree: with the mechanism, whatever the mechanism does, and where no mechanism was broken."""
SHOWN = (AGREES, RANKS)
"""Verdicts with which a main claim shows here."""


@dataclass(frozen=True)
class Overview:
    """Claims of a paper, or of one of its figure groups."""

    name: str
    lines: Sequence[Line]

    @property
    def counted(self) -> list[Line]:
        """Claims that count; a number that is published once counts once."""
        return [line for line in self.lines if line.counted]

    @property
    def kinds(self) -> Counter[str]:
        """Verdicts on the paper against ours."""
        return Counter(line.kind for line in self.counted)

    @property
    def checks(self) -> Counter[str]:
        """Outcomes of ours against theory."""
        return Counter(line.check for line in self.lines)

    @property
    def failed(self) -> list[Line]:
        """Claims behind which ours is wrong."""
        return [line for line in self.lines if line.check == FAILS]

    @property
    def main(self) -> list[Line]:
        """Claims that carry the paper's main statement."""
        return [line for line in self.lines if line.main]

    @property
    def verdicts(self) -> str:
        """Verdicts in a line."""
        repeated, own = sum(bool(line.repeats) for line in self.lines), sum(line.own for line in self.lines)
        more = f" ({repeated} more repeat a number)" if repeated else ""
        more += f" ({own} more are of no publication)" if own else ""
        claims = f"{len(self.counted)} claim{'s' * (len(self.counted) != 1)}"
        return f"{claims}{more}: {_counts(self.kinds, KINDS)}"

    @property
    def agreement(self) -> Counter[str]:
        """Verdicts that count, those that agree by whether some mutation turns them."""
        return Counter(_agreement(line) for line in self.counted)

    @property
    def tried(self) -> str:
        """How far agreement is with the mechanism, in a line; empty where no mutation was tried."""
        if all(line.turned_by is None for line in self.counted):
            return ""
        return f"with a mechanism broken on purpose: {_counts(self.agreement, AGREEING)}"

    @property
    def checked(self) -> str:
        """Ours against theory in a line."""
        return f"ours against theory: {_counts(self.checks, CHECKS)}"

    @property
    def headline(self) -> str:
        """Whether the main claims show here, in a line; empty without one."""
        if not self.main:
            return ""
        counted = [line for line in self.main if line.counted]
        shown = sum(line.kind in SHOWN for line in counted)
        full = sum(line.kind == AGREES for line in counted)
        return f"main claims: {full} of {len(counted)} agree, {shown - full} more on the same side only"


def papers(evaluated: Iterable[Evaluated]) -> list[Overview]:
    """An overview of each paper, in the order of the studies."""
    by_paper: dict[str, list[Line]] = {}
    for one in evaluated:
        by_paper.setdefault(one.group.paper, []).extend(one.lines)
    return [Overview(name, lines) for name, lines in by_paper.items()]


def _agreement(line: Line) -> str:
    if line.kind != AGREES:
        return line.kind
    return UNTRIED if line.turned_by is None else TURNS if line.turned_by else UNTURNED


def _counts(numbers: Counter[str], order: Sequence[str]) -> str:
    return ", ".join(f"{numbers[one]} {one}" for one in order if numbers[one]) or "none"
