"""Figure groups one after the other, with what each will take reported before the first begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.progress import track

from anabranch.files.terminal.console import SafeConsole
from anabranch.files.units import coarse_duration
from anabranch.reproduce.backends.backend import Announcement, Context, Evidence, Prepared
from anabranch.reproduce.backends.door import backend
from anabranch.reproduce.backends.unrecorded import unrecorded
from anabranch.reproduce.claims.claim import LEAST_SEEDS, Expected
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import FAILS, Line
from anabranch.reproduce.records.record import identity, keep, recorded
from anabranch.reproduce.records.spot_check import SpotCheck
from anabranch.simulate.study.local import cores


@dataclass(frozen=True)
class Evaluated:
    """A figure group that has run, with its claims judged."""

    group: Group
    expected: Expected
    evidence: Evidence
    lines: list[Line]
    quick_note: str = ""
    """Note on what `--quick` made smaller; empty without it."""
    origin: str = ""
    """When and by what a record was made; empty if it has run now."""

    recorded: bool = False
    """Whether the values are of a record."""

    @property
    def note(self) -> str:
        """What a reader of its numbers must know of the run."""
        return f"--quick: {self.quick_note}" if self.quick_note else self.origin


def run(groups: Sequence[Group], output: Path, quick: bool, context: Context) -> list[Evaluated]:
    """Reads all groups, so that what is wrong with one is found before any runs; then runs and judges them in turn.

    Raises:
        AnabranchError: a group's files are wrong, or results cannot be written.

    """
    # Hundreds of flow lists are drawn to foresee the time.
    steps = track(
        groups, "reading the studies", console=SafeConsole(stderr=True), transient=True, disable=context.quiet
    )
    prepared = [(one, one.announcement) for one in (_prepared(group, quick, output) for group in steps)]
    for line in _announced([work for _, work in prepared if work is not None], quick):
        context.report(line)
    evaluated = []
    for one, _ in prepared:
        evidence = one.run(context)
        least = 2 if one.quick_note else LEAST_SEEDS
        lines = [judge(one.group.label, claim, evidence, least) for claim in one.expected.claims]
        evaluated.append(Evaluated(one.group, one.expected, evidence, lines, one.quick_note))
    return evaluated


def _prepared(group: Group, quick: bool, output: Path) -> Prepared:
    return backend(group).prepare(group, quick, output)


def recall(groups: Sequence[Group]) -> list[Evaluated]:
    """Judges what the records of full runs hold; nothing runs. A group without a record has only claims not run.

    Raises:
        AnabranchError: a group's files, or its record, are wrong.

    """
    return [_recalled(group) for group in groups]


def spot_check(groups: Sequence[Group], cells: int, context: Context) -> Iterator[SpotCheck]:
    """Runs so many cells of each record again, and yields what each study has come to as it ends.

    Raises:
        AnabranchError: a file of a group or of its record is wrong, or a cell cannot be run.

    """
    for group in groups:
        record = recorded(group)
        if record is None:
            one = SpotCheck(group, why_not="no record")
        elif record.study != identity(group):
            one = SpotCheck(group, why_not="study.toml has changed since")
        else:
            one = backend(group).spot_check(group, record, cells, context)
        context.report(f"{group.label}: {one.cells} of {one.of} cells: {one.result}")
        yield one


def record(evaluated: Sequence[Evaluated], report: Callable[[str], None]) -> None:
    """Keeps the numbers of full runs; not those of a study where ours contradicts theory.

    Raises:
        AnabranchError: a record cannot be written.

    """
    for one in evaluated:
        if any(line.check == FAILS for line in one.lines):
            report(f"{one.group.label}: not recorded: ours is wrong")
        else:
            report(f"recorded: {keep(one.group, one.evidence.parts())}")


def _recalled(group: Group) -> Evaluated:
    known = recorded(group)
    evidence: Evidence
    if known is None:
        expected = load_expected(group.folder, read=backend(group).read_measure)
        evidence, origin = unrecorded(group), "no record"
    else:
        expected, evidence = backend(group).recall(group, known)
        origin = known.origin(modelled=backend(group).modelled) + (
            "" if known.study == identity(group) else "; study.toml has changed since"
        )
    lines = [judge(group.label, claim, evidence, LEAST_SEEDS) for claim in expected.claims]
    return Evaluated(group, expected, evidence, lines, origin=origin, recorded=known is not None)


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
