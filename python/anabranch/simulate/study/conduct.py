"""`anabranch sweep`: a study from its cells to its tables, announced before, run, and summarised."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.files.units import coarse_duration, count
from anabranch.simulate.runs.folder import check_writable, read_manifest
from anabranch.simulate.runs.literal import literal
from anabranch.simulate.study.changed import changed
from anabranch.simulate.study.forecast import forecast
from anabranch.simulate.study.job import Job
from anabranch.simulate.study.local import cores, run_local
from anabranch.simulate.study.outcome import StudyOutcome
from anabranch.simulate.study.study import load_study
from anabranch.simulate.study.sweep import Sweep, finish, leave_out, resolve, shard_of

if TYPE_CHECKING:
    from anabranch.simulate.stats.size_classes import SizeClass

Say = Callable[[str], None]
"""Called with a line for the user."""


@dataclass(frozen=True)
class Where:
    """Which cells run, and on what."""

    part: int = 1
    parts: int = 1
    """Shard: the part-th of so many parts, from 1."""
    dask: str | None = None
    """Address of a Dask scheduler."""
    at_once: int | None = None
    """Number of cores here, and so of cells that run at the same time. Default: all cores."""
    skip_impossible: bool = True
    """Whether cells that cannot be simulated are left out, or refused."""


@dataclass(frozen=True)
class Report:
    """Receivers of what is said meanwhile."""

    say: Say
    """Of cells, time and cells that are left out."""
    warn: Say
    """Of what `anabranch run` would warn of."""
    alert: Say
    """Of what the user has to do something about."""
    progress: bool = True
    """Whether a bar is drawn, if stderr is a terminal."""


CELL_SECONDS = 0.2
"""Time for a cell beside its simulation: its flows drawn for the check, its tables written."""

SILENT = Report(lambda _: None, lambda _: None, lambda _: None)
"""Says nothing, and draws the bar."""


def to_terminal(quiet: bool) -> Report:
    """Says everything on stdout, and alerts on stderr; if quiet, alerts alone."""
    from anabranch.files.terminal.console import terminal

    def alert(line: str) -> None:
        print(line, file=sys.stderr)

    if quiet:
        return Report(SILENT.say, SILENT.warn, alert, progress=False)
    console = terminal()

    def say(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    def warn(line: str) -> None:
        console.print(f"warning: {line}", style="yellow", markup=False, soft_wrap=True)

    return Report(say, warn, alert)


def conduct(
    sweep: Sweep, classes: Sequence[SizeClass], command: Sequence[str], where: Where, report: Report
) -> StudyOutcome | None:
    """Checks and runs the cells that have no results, and writes the tables; None if other shards have cells left.

    Raises:
        AnabranchError: a cell is impossible and must not be left out, or no cell is possible, or it cannot be run.
        KeyboardInterrupt: it was stopped; what is left has been said.

    """
    from anabranch.files.terminal.sweep_progress import SweepProgress

    mine = shard_of(sweep, where.part, where.parts)
    sweep = leave_out(sweep, mine, skip=where.skip_impossible)
    check_writable(sweep.folder)
    jobs = [job for job in mine if job.folder in sweep.jobs]
    report.say(_announced(sweep, jobs, where))
    for line in sweep.warning_lines:
        report.warn(line)
    for one in sweep.refused:
        report.say(f"left out: {one.reason}")
    named = len(sweep.refused)
    if jobs:
        report.say(_estimated(sweep, jobs, where))
    try:
        with SweepProgress(sweep.study.name, len(jobs), not report.progress) as watch:
            if where.dask is not None:
                from anabranch.simulate.study.dask_cluster import run_on_cluster

                run_on_cluster(where.dask, jobs, command, watch, report.alert)
            else:
                run_local(jobs, command, watch, at_once=where.at_once)
    except KeyboardInterrupt:
        report.alert(f"{sweep.folder}: stopped, {len(sweep.missing)} cells left; the same command runs these")
        raise
    missing = sweep.missing
    if missing and where.skip_impossible:
        # These cells are of other shards, which do not report what they leave out.
        sweep = leave_out(sweep, missing, skip=True)
        missing = sweep.missing
    for one in sweep.refused[named:]:
        report.say(f"left out: {one.reason}")
    if missing:
        report.say(f"{len(missing)} cells are left for other shards; the last one to end writes the summary")
        return None
    return finish(sweep, classes, command, quiet=not report.progress)


def sweep(
    study: str | Path | Mapping[str, Any],
    *,
    runs: str | Path = "runs",
    overrides: Mapping[str, Any] | None = None,
    loads: Sequence[float] | None = None,
    seeds: int | Sequence[int] | None = None,
    jobs: int | None = None,
    progress: bool = True,
    skip_impossible: bool = True,
) -> StudyOutcome:
    """Runs a study, or its missing cells, on the cores of this machine, and returns its outcome.

    Args:
        study: The study's TOML file, an `ab.Study`, or a dict of the same keys.
        runs: Results go to `RUNS/NAME`.
        overrides: Keys of the scenario to change, as in `{"traffic.duration": "50 ms"}`.
        loads: Values of the axis `traffic.load`, instead of the study's.
        seeds: Number of seeds, or a list of them, instead of the study's.
        jobs: Number of cores, and so of cells that run at the same time. Default: all cores.
        progress: Draw progress on stderr if that is a terminal.
        skip_impossible: Leave out cells that cannot be simulated, by name in `study.json`, instead of refusing the
            study.

    Raises:
        AnabranchError: the study is wrong, a cell is impossible and not left out, or results cannot be written.

    """
    from anabranch.simulate.stats.size_classes import size_classes

    pairs = [(key, literal(value)) for key, value in (overrides or {}).items()]
    chosen = list(range(1, seeds + 1)) if isinstance(seeds, int) else seeds
    written = changed(load_study(study), pairs, chosen, loads)
    where = Where(at_once=jobs, skip_impossible=skip_impossible)
    outcome = conduct(
        resolve(written, runs), size_classes(), ["anabranch", *sys.argv[1:]], where, replace(SILENT, progress=progress)
    )
    assert outcome is not None, "one shard is all of it"
    return outcome


def _announced(sweep: Sweep, jobs: Sequence[Job], where: Where) -> str:
    """Number of cells, and of those to run."""
    shard = f", shard {where.part}/{where.parts}" if where.parts > 1 else ""
    complete = len(sweep.jobs) - len(sweep.missing)
    return f"{sweep.folder}: {len(sweep.jobs)} cells, {complete} complete, {len(jobs)} to run{shard}"


def _estimated(sweep: Sweep, jobs: Sequence[Job], where: Where) -> str:
    """Size and time of the cells to run."""
    done = [folder for folder in sweep.jobs if read_manifest(folder) is not None]
    at_once = min(where.at_once or cores(), len(jobs))
    estimate = forecast(jobs, done, at_once, trials=where.dask is None)
    seconds = estimate.seconds + CELL_SECONDS * len(jobs) / at_once
    hops = f"about {count(estimate.packet_hops / 1e6)} million packet-hops"
    if where.dask is not None:
        return f"{hops}, {coarse_duration(seconds * at_once)} of one core"
    return f"{hops}, {coarse_duration(seconds)} with {at_once} at once"
