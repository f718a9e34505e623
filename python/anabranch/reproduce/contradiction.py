"""Contradictions of a quick run with the record of a full one: verdicts that say the opposite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.judge.line import AGREES, DIFFERS, RANKS, Line
from anabranch.reproduce.records.record import identity, recorded
from anabranch.reproduce.session import Evaluated, recall


@dataclass(frozen=True)
class Contradiction:
    """A claim on which a small run says the opposite of a full one."""

    quick: Line
    full: Line

    @property
    def text(self) -> str:
        """The contradiction as a sentence."""
        line = self.quick
        return f"{line.group} {line.id} {line.what}: {line.kind} here, {self.full.kind} in full ({self.full.ours})"


def contradictions(ran: Iterable[Evaluated]) -> list[Contradiction]:
    """Those of quick runs whose studies have a record; one of another `study.toml` is of other cells.

    Raises:
        AnabranchError: a record is wrong.

    """
    quick = [one for one in ran if one.quick_note and _has_record(one.group)]
    full = recall([one.group for one in quick])
    return [opposed for few, all_of in zip(quick, full, strict=True) for opposed in _opposed(few, all_of)]


def _has_record(group: Group) -> bool:
    """Whether a group has a record of its study as it stands."""
    known = recorded(group)
    return known is not None and known.study == identity(group)


def _opposed(quick: Evaluated, full: Evaluated) -> Iterator[Contradiction]:
    for claim, few, all_of in zip(quick.expected.claims, quick.lines, full.lines, strict=True):
        # A claim that a quick run replaces is another one.
        opposed = {few.kind, all_of.kind} in ({AGREES, DIFFERS}, {RANKS, DIFFERS})
        if opposed and not claim.replaced:
            yield Contradiction(few, all_of)
