"""Cells of a figure group: those that are missing run, and all measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from anabranch.files.errors import AnabranchError
from anabranch.files.terminal.read_progress import each
from anabranch.files.terminal.sweep_progress import SweepProgress
from anabranch.files.units import coarse_duration
from anabranch.reproduce.backends.backend import Announcement, Context
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.backends.simulator.bounds import passed
from anabranch.reproduce.backends.simulator.measured import measured, read_simulated, unfinished
from anabranch.reproduce.claims.claim import LEAST_SEEDS, Expected
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import FILE, Group
from anabranch.reproduce.claims.positions import key_line
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.values.cells import Cells
from anabranch.simulate.runs.folder import check_writable, read_manifest
from anabranch.simulate.runs.results import Run
from anabranch.simulate.study.forecast import forecast
from anabranch.simulate.study.job import Job
from anabranch.simulate.study.local import run_local
from anabranch.simulate.study.study import Study, load_study, table_values
from anabranch.simulate.study.sweep import Sweep, finish, resolve

CELLS = "cells"
SCHEME_MISSING = re.compile(r"\b(routing\.(?:balance|table|scheme)[\w.]*|transport\.kind): ")
"""Beginning of an error about a scheme, or one of its parameters, that this version does not have."""


@dataclass(frozen=True)
class SimulatorStudy:
    """A figure group before it runs; see `backend.Prepared`."""

    group: Group
    expected: Expected
    whole: Study
    """The study before it was made small."""
    sweep: Sweep
    kept: Cells | None = None
    """Cells of a record, which do not run again."""

    @property
    def quick_note(self) -> str:
        """Note on what `--quick` makes smaller; empty without it."""
        return self.sweep.study.quick_note

    @cached_property
    def announcement(self) -> Announcement:
        """Cells and time; many flow lists are drawn to foresee it."""
        return announce(self.group.label, self._to_run)

    @property
    def _to_run(self) -> Sweep:
        """The sweep without the cells that are kept."""
        if self.kept is None:
            return self.sweep
        kept = {key[:2] for key in self.kept.numbers}
        cells = [one for one in self.sweep.cells if (self.kept.cell(one.point), one.seed) not in kept]
        return replace(self.sweep, cells=cells, jobs={one.folder: self.sweep.jobs[one.folder] for one in cells})

    def run(self, context: Context) -> CellEvidence:
        """Runs what is missing, and measures. A cell that cannot be run is reported, and the others go on.

        Raises:
            AnabranchError: results cannot be written.

        """
        cells = self.measure(context)
        if not cells.missing and self.kept is None:
            from anabranch.simulate.stats.size_classes import size_classes

            finish(self.sweep, size_classes(), context.command, context.quiet)
        return CellEvidence(cells, self.expected.figures)

    def measure(self, context: Context) -> Cells:
        """Runs what is missing, and measures every cell that is not kept; see `run`."""
        check_writable(self.sweep.folder)
        sweep = self._to_run
        failed = run_cells(self.group.label, sweep.missing, context)
        cells = collect(sweep, self.whole, self.expected.quantities, failed, context.quiet)
        if self.kept is not None:
            numbers, unfinished = self.kept.numbers | cells.numbers, self.kept.unfinished | cells.unfinished
            cells = replace(cells, numbers=numbers, unfinished=unfinished, bounded=self.kept.bounded)
        for cell, reason in cells.missing.items():
            cells.missing[cell] = _shortened(reason)
        return cells


def prepare(group: Group, runs: Path, quick: bool) -> SimulatorStudy:
    """Reads a group and resolves its cells; those whose scheme there is not are left out.

    Raises:
        AnabranchError: a file of the group is wrong.

    """
    file = group.folder / FILE
    expected = load_expected(group.folder, quick, read_simulated)
    study, whole = load_study(file, quick), load_study(file)
    if expected.claims and len(whole.seeds) < LEAST_SEEDS:
        line = key_line(file.read_text(encoding="utf-8"), 0, "seeds")
        raise AnabranchError(f"{file}:{line}: seeds: {len(whole.seeds)}: claims need {LEAST_SEEDS} at least")
    sweep = resolve(study, runs, lambda message: SCHEME_MISSING.search(message) is not None)
    return SimulatorStudy(group, expected, whole, sweep)


def announce(label: str, sweep: Sweep) -> Announcement:
    """Cells of a sweep and their time, under a name."""
    missing, cells = len(sweep.missing), len(sweep.jobs)
    unknown = f", {len(sweep.refused)} of schemes that there are not" if sweep.refused else ""
    done = [folder for folder in sweep.jobs if read_manifest(folder) is not None]
    foreseen = forecast(sweep.missing, done)
    time = f": about {coarse_duration(foreseen.seconds)}" if missing else ""
    text = f"{label}: {cells} cells, {cells - missing} complete, {missing} to run{time}{unknown}"
    return Announcement(text, foreseen.seconds, missing > 0, foreseen.measured)


def run_cells(label: str, jobs: Sequence[Job], context: Context) -> dict[str, str]:
    """Runs cells; returns why some could not be run, by the name of their folder."""
    failed: dict[str, str] = {}

    def hear(job: Job, error: AnabranchError) -> None:
        failed[job.folder.name] = str(error)
        context.report(f"not run: {error}")

    with SweepProgress(label, len(jobs), context.quiet) as watch:
        run_local(jobs, context.command, watch, hear)
    return failed


def collect(
    sweep: Sweep, whole: Study, quantities: Iterable[Quantity], failed: Mapping[str, str], quiet: bool
) -> Cells:
    """Measures every run once; frames are let go of in between.

    Args:
        sweep: What has run.
        whole: The study before it was made small.
        quantities: What to measure.
        failed: Why cells could not be run, by the name of their folder.
        quiet: Whether no progress is drawn.

    """
    axes = table_values(sweep.study.axes)
    left_out = {
        axis: [label for label in labels if label not in axes[axis]]
        for axis, labels in table_values(whole.axes).items()
    }
    cells = Cells(axes, sweep.study.all_seeds, left_out=left_out, bounded=True)
    names = list(dict.fromkeys(quantities))
    for refused in sweep.refused:
        cells.missing[cells.cell(refused.point), refused.seed] = refused.reason
    for one in each(sweep.cells, sweep.study.name, quiet):
        cell = cells.cell(one.point)
        if read_manifest(one.folder) is None:
            cells.missing[cell, one.seed] = failed.get(one.folder.name, "it has not run")
            continue
        run = Run(one.folder)
        if beyond := passed(run):
            cells.broken[cell, one.seed] = beyond
        for quantity in names:
            cells.numbers[cell, one.seed, quantity] = measured(quantity, run)
            cells.unfinished[cell, one.seed, quantity] = unfinished(quantity, run.flows)
    return cells


def _shortened(reason: str) -> str:
    """A reason without the override and the list of everything else there is."""
    words = re.sub(r"^-o .*?: (?=[\w.]+: )", "", reason).partition("; ")[0]
    return re.sub(r"^(?:routing\.balance|transport\.kind): (`.*`) is unknown$", r"no \1 here", words)
