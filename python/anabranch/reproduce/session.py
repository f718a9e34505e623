"""Figure groups one after the other, with what each will take told before the first begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import track

from anabranch.reproduce.duration import duration_text
from anabranch.reproduce.line import Line
from anabranch.reproduce.selection import Group
from anabranch.reproduce.simulate import Evaluated, Planned, evaluate, plan
from anabranch.study.local import cores
from anabranch.terminal.pass_progress import PassProgress

CELLS = "cells"


@dataclass
class Session:
    """What has been done so far."""

    lines: list[Line] = field(default_factory=list)
    evaluated: list[Evaluated] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    """By group: what a quick study makes smaller."""


def run(
    groups: Sequence[Group], output: Path, quick: bool, quiet: bool, command: Sequence[str], told: Callable[[str], None]
) -> Session:
    """Plans all groups, so that what is wrong with one is found before any runs; then runs them in turn.

    Raises:
        AnabranchError: a group's files are wrong, or results cannot be written.

    """
    cells = output / CELLS
    networks = [group for group in groups if not group.splits]
    # Hundreds of flow lists are drawn to foresee the time.
    steps = track(networks, "reading the studies", console=Console(stderr=True), transient=True, disable=quiet)
    planned = {group.label: plan(group, cells, quick) for group in steps}
    for line in _announcement(list(planned.values()), quick):
        told(line)
    session = Session()
    for group in groups:
        if group.splits:
            lines, note = _split(group, output, quick, quiet, command)
            session.lines += lines
            session.notes.append((group.label, note))
        else:
            done = evaluate(planned[group.label], command, quiet, told)
            session.evaluated.append(done)
            session.lines += done.lines
            session.notes.append((group.label, planned[group.label].quick_note))
    return session


def _announcement(planned: Sequence[Planned], quick: bool) -> list[str]:
    """Cells and time of each group, and of all."""
    lines = []
    for one in planned:
        missing, cells = len(one.sweep.missing), len(one.sweep.jobs)
        unknown = f", {len(one.sweep.refused)} of schemes that there are not" if one.sweep.refused else ""
        time = f": about {duration_text(one.forecast.seconds)}" if missing else ""
        lines.append(f"{one.group.label}: {cells} cells, {cells - missing} complete, {missing} to run{time}{unknown}")
    seconds = sum(one.forecast.seconds for one in planned)
    if planned and any(one.sweep.missing for one in planned):
        how = "at the speed of cells that have run" if any(one.forecast.measured for one in planned) else "an estimate"
        quicker = "" if quick else "; --quick takes minutes"
        lines.append(f"in all about {duration_text(seconds)} on {cores()} cores ({how}{quicker}); Ctrl-C stops, the")
        lines.append("same command goes on from there")
    return lines


def _split(group: Group, output: Path, quick: bool, quiet: bool, command: Sequence[str]) -> tuple[list[Line], str]:
    """A study that splits connections; its own report goes to a folder of its own."""
    from anabranch.reproduce.splitting.job import run as run_splitting
    from anabranch.reproduce.splitting.output import write
    from anabranch.reproduce.splitting.study import load

    study = load(group.folder, quick)
    with PassProgress(group.label, quiet) as progress:
        outcome = run_splitting(study, progress)
    write(outcome, output / group.study, command)
    lines = [
        Line(
            group=group.label,
            id=row.id,
            what=row.what,
            where=row.where,
            paper=row.paper_with_unit,
            ours=row.ours_text,
            kind=row.kind,
            because=row.because,
        )
        for row in outcome.rows
    ]
    return lines, f"{study.trials} trials instead of {study.published_trials}" if quick else ""
