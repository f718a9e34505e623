"""Runs the cells of a figure group that are missing, and judges its claims."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import AnabranchError
from anabranch.reproduce.claim import Expected, load_expected
from anabranch.reproduce.duration import Forecast, forecast
from anabranch.reproduce.judge import judge
from anabranch.reproduce.line import Line
from anabranch.reproduce.selection import FILE, Group
from anabranch.reproduce.values import Values, collect
from anabranch.runs.folder import check_writable, read_manifest
from anabranch.study.job import Job
from anabranch.study.local import run_local
from anabranch.study.study import Study, load_study
from anabranch.study.sweep import Sweep, finish, resolve
from anabranch.terminal.sweep_progress import SweepProgress

SCHEME_MISSING = re.compile(r"\b(routing\.(?:balance|table|scheme)[\w.]*|transport\.kind): ")
"""What is said of a scheme, or of one of its parameters, that this version does not have."""


@dataclass(frozen=True)
class Planned:
    """A figure group before it runs."""

    group: Group
    expected: Expected
    whole: Study
    sweep: Sweep
    forecast: Forecast

    @property
    def quick_note(self) -> str:
        """What is smaller."""
        return self.sweep.study.quick_note


@dataclass(frozen=True)
class Evaluated:
    """A figure group that has run."""

    planned: Planned
    values: Values
    lines: list[Line]
    seconds: float


def plan(group: Group, runs: Path, quick: bool) -> Planned:
    """Reads a group and resolves its cells; those whose scheme there is not are left out.

    Raises:
        AnabranchError: a file of the group is wrong.

    """
    file = group.folder / FILE
    expected = load_expected(group.folder, quick)
    study = load_study(file, quick)
    sweep = resolve(study, runs, lambda message: SCHEME_MISSING.search(message) is not None)
    done = [folder for folder in sweep.jobs if read_manifest(folder) is not None]
    return Planned(group, expected, load_study(file), sweep, forecast(sweep.missing, done))


def evaluate(planned: Planned, command: Sequence[str], quiet: bool, told: Callable[[str], None]) -> Evaluated:
    """Runs what is missing, measures, judges. A cell that cannot be run is told of, and the others go on.

    Raises:
        AnabranchError: results cannot be written, or a claim names what the study does not have.

    """
    began = time.perf_counter()
    sweep = planned.sweep
    check_writable(sweep.folder)
    failed: dict[str, str] = {}

    def hear(job: Job, error: AnabranchError) -> None:
        failed[job.folder.name] = str(error)
        told(f"not run: {error}")

    with SweepProgress(planned.group.label, len(sweep.missing), quiet) as watch:
        run_local(sweep.missing, command, watch, hear)
    values = collect(sweep, planned.whole, planned.expected.quantities, failed)
    values = _shortened(values)
    if not values.missing:
        from anabranch.stats.size_classes import size_classes

        finish(sweep, size_classes(), command)
    lines = [judge(planned.group.label, claim, values) for claim in planned.expected.claims]
    return Evaluated(planned, values, lines, time.perf_counter() - began)


def _shortened(values: Values) -> Values:
    """Reasons without the override and the list of everything else there is."""
    for cell, reason in values.missing.items():
        words = re.sub(r"^-o .*?: (?=[\w.]+: )", "", reason).partition("; ")[0]
        values.missing[cell] = re.sub(
            r"^(?:routing\.balance|transport\.kind): (`.*`) is unknown$", r"no \1 here", words
        )
    return values
