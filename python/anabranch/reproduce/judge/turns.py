"""Verdicts under mutations: what becomes of them where a mechanism of a load balancer is broken on purpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.reproduce.judge.line import NOT_RUN, Line


@dataclass(frozen=True)
class Verdict:
    """What the judge said of a claim: the paper against ours, and ours against theory."""

    kind: str
    check: str


@dataclass(frozen=True)
class Turns:
    """A claim's verdict, and the one it gets under each mutation of its study."""

    id: str
    what: str
    whole: Verdict
    broken: Mapping[str, Verdict]

    @property
    def tried(self) -> bool:
        """Whether the claim has runs, so that it can turn."""
        return self.whole.kind != NOT_RUN

    @property
    def turned_by(self) -> tuple[str, ...]:
        """Mutations under which the verdict is another, or ours fails against theory; without runs no claim turns."""
        broken = self.broken if self.tried else {}
        return tuple(name for name, one in broken.items() if one != self.whole and one.kind != NOT_RUN)


@dataclass(frozen=True)
class MutationTable:
    """Verdicts of a study by mutation."""

    mutations: Mapping[str, str]
    """What happens instead of the mechanism, in a sentence, by name."""
    claims: Sequence[Turns]
    note: str = ""
    """When and by what it was made, and what `--quick` made smaller; empty if it has run now, and in full."""

    def marked(self, lines: Sequence[Line]) -> list[Line]:
        """Lines with the mutations that turn them; claims without runs, and those that it lacks, stay without."""
        known = {(one.id, one.what): one.turned_by for one in self.tried}
        return [replace(line, turned_by=known.get((line.id, line.what))) for line in lines]

    @property
    def tried(self) -> list[Turns]:
        """Claims that have runs."""
        return [one for one in self.claims if one.tried]

    def turned(self, mutation: str) -> list[Turns]:
        """Claims that a mutation turns."""
        return [one for one in self.claims if mutation in one.turned_by]


def compare(whole: Sequence[Line], broken: Mapping[str, Sequence[Line]]) -> list[Turns]:
    """Lines of a study as it is beside those under each mutation, which stand in the same order."""
    return [
        Turns(
            line.id,
            line.what,
            Verdict(line.kind, line.check),
            {name: Verdict(lines[place].kind, lines[place].check) for name, lines in broken.items()},
        )
        for place, line in enumerate(whole)
    ]
