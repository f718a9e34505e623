"""Figure groups one after the other, with what each will take reported before the first begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

from anabranch.reproduce.backend import Announcement, Context, Evidence, Prepared, backend
from anabranch.reproduce.group import Group
from anabranch.reproduce.judge import LEAST_SEEDS, judge
from anabranch.reproduce.line import Line
from anabranch.study.local import cores
from anabranch.units import coarse_duration


@dataclass(frozen=True)
class Evaluated:
    """A figure group that has run, with its claims judged."""

    prepared: Prepared
    evidence: Evidence
    lines: list[Line]


def run(groups: Sequence[Group], output: Path, quick: bool, context: Context) -> list[Evaluated]:
    """Reads all groups, so that what is wrong with one is found before any runs; then runs and judges them in turn.

    Raises:
        AnabranchError: a group's files are wrong, or results cannot be written.

    """
    # Hundreds of flow lists are drawn to foresee the time.
    steps = track(groups, "reading the studies", console=Console(stderr=True), transient=True, disable=context.quiet)
    prepared = [backend(group.backend).prepare(group, quick, output) for group in steps]
    for line in _announced([one.announcement for one in prepared if one.announcement is not None], quick):
        context.report(line)
    found = []
    for one in prepared:
        evidence = one.run(context)
        least = 2 if one.quick_note else LEAST_SEEDS
        lines = [judge(one.group.label, claim, evidence, least) for claim in one.expected.claims]
        found.append(Evaluated(one, evidence, lines))
    return found


def _announced(works: Sequence[Announcement], quick: bool) -> list[str]:
    """The work of each group, and the time of all."""
    lines = [work.text for work in works]
    if any(work.missing for work in works):
        seconds = sum(work.seconds for work in works)
        how = "at the speed of cells that have run" if any(work.measured for work in works) else "an estimate"
        quicker = "" if quick else "; --quick takes minutes"
        lines.append(f"in all about {coarse_duration(seconds)} on {cores()} cores ({how}{quicker}); Ctrl-C stops, the")
        lines.append("same command goes on from there")
    return lines
