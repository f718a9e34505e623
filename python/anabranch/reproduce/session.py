"""Figure groups one after the other, with what each will take reported before the first begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.progress import track

from anabranch.files.errors import AnabranchError
from anabranch.files.terminal.console import SafeConsole
from anabranch.files.units import coarse_duration
from anabranch.reproduce.backends.backend import Announcement, Context, Evidence, Mutated, Prepared
from anabranch.reproduce.backends.door import backend
from anabranch.reproduce.backends.unrecorded import unrecorded
from anabranch.reproduce.claims.claim import LEAST_SEEDS, Expected
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.judge import turns_record
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import FAILS, Line
from anabranch.reproduce.judge.turns import MutationTable, compare
from anabranch.reproduce.records.record import Kept, identity, keep, recorded
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
    mutations: MutationTable | None = None
    """Verdicts with each mechanism broken on purpose; None where that was not tried."""
    kept: Kept | None = None
    """Cells of a record that did not run again; None if all have."""

    @property
    def note(self) -> str:
        """What a reader of its numbers must know of the run."""
        return f"--quick: {self.quick_note}" if self.quick_note else self.origin


def run(
    groups: Sequence[Group], output: Path, quick: bool, context: Context, mutations: bool = False, grow: int = 0
) -> list[Evaluated]:
    """Reads all groups, so that what is wrong with one is found before any runs; then runs and judges them in turn.

    With `mutations` each group runs with each mechanism of its load balancers broken, too. With `grow` so many cells of
    each record run again, and if they are the same, all that it has stay.

    Raises:
        AnabranchError: a group's files are wrong, or results cannot be written.

    """
    # Hundreds of flow lists are drawn to foresee the time.
    console = SafeConsole(stderr=True)
    # Elsewhere than on a terminal a bar that goes away leaves an empty line.
    hidden = context.quiet or not console.is_terminal
    steps = track(groups, "reading the studies", console=console, transient=True, disable=hidden)
    prepared = [_prepared(group, quick, output, mutations) for group in steps]
    kept: list[Kept | None] = [None] * len(prepared)
    if grow:
        for place, (one, mutated) in enumerate(prepared):
            grown, kept[place] = _grown(one, grow, context)
            prepared[place] = grown, mutated
    works = [one.announcement for pair in prepared for one in pair if one is not None]
    for line in _announced([work for work in works if work is not None], quick):
        context.report(line)
    evaluated = [_evaluated(one, broken, context) for one, broken in prepared]
    return [replace(one, kept=its) for one, its in zip(evaluated, kept, strict=True)]


def _grown(one: Prepared, count: int, context: Context) -> tuple[Prepared, Kept]:
    """The study with the cells of its record, of which so many run again."""
    known = recorded(one.group)
    if known is None:
        raise AnabranchError(f"{one.group.label}: --grow: no record; leave --grow out")
    return backend(one.group).grown(one, known, count, context)


def _prepared(group: Group, quick: bool, output: Path, mutations: bool) -> tuple[Prepared, Mutated | None]:
    one = backend(group).prepare(group, quick, output)
    return one, backend(group).mutated(one) if mutations else None


def _evaluated(one: Prepared, mutated: Mutated | None, context: Context) -> Evaluated:
    evidence = one.run(context)
    least = 2 if one.quick_note else LEAST_SEEDS

    def judged(evidence: Evidence) -> list[Line]:
        return [judge(one.group.label, claim, evidence, least) for claim in one.expected.claims]

    lines = judged(evidence)
    if mutated is None:
        return Evaluated(one.group, one.expected, evidence, lines, one.quick_note)
    broken = {name: judged(values) for name, values in mutated.run(context, evidence)}
    table = MutationTable(mutated.mutations, compare(lines, broken))
    return Evaluated(one.group, one.expected, evidence, table.marked(lines), one.quick_note, mutations=table)


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
            report(f"recorded: {keep(one.group, one.evidence.parts(), one.kept)}")


def record_mutations(evaluated: Sequence[Evaluated], report: Callable[[str], None]) -> None:
    """Keeps the verdicts under mutations, beside the records.

    Raises:
        AnabranchError: a table cannot be written.

    """
    for one in evaluated:
        if one.mutations is not None:
            report(f"recorded: {turns_record.keep(one.group, one.mutations, one.quick_note)}")


def _recalled(group: Group) -> Evaluated:
    known = recorded(group)
    evidence: Evidence
    changed = known is not None and known.study != identity(group)
    if known is None:
        expected = load_expected(group.folder, read=backend(group).read_measure)
        evidence, origin = unrecorded(group), "no record"
    else:
        expected, evidence = backend(group).recall(group, known)
        origin = known.origin(modelled=backend(group).modelled) + ("; study.toml has changed since" if changed else "")
    try:
        lines = [judge(group.label, claim, evidence, LEAST_SEEDS) for claim in expected.claims]
    except AnabranchError as error:
        if not changed:
            raise
        raise AnabranchError(
            f"{group.label}: study.toml has changed since its record, which the claims do not fit: {error}; hint: "
            f"`anabranch reproduce {group.label} --record` makes another"
        ) from None
    table = turns_record.kept(group)
    if table is not None:
        lines = table.marked(lines)
    return Evaluated(group, expected, evidence, lines, origin=origin, recorded=known is not None, mutations=table)


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
