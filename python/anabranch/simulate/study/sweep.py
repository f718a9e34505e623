"""Cells of a study: resolved, checked, and summarised when they have run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch._core import Scenario
from anabranch.files.errors import AnabranchError
from anabranch.simulate.runs.folder import read_manifest, run_folder
from anabranch.simulate.runs.own_cell import check_own, own_folder
from anabranch.simulate.study.job import Job
from anabranch.simulate.study.local import cores
from anabranch.simulate.study.outcome import CELLS, COMPARISON, STUDY_FILE, SUMMARY, Cell, StudyOutcome, open_study
from anabranch.simulate.study.study import Study, labels_text, table_values

if TYPE_CHECKING:
    from anabranch.simulate.stats.size_classes import SizeClass

NUMBER = re.compile(r"[\d.,]+")


@dataclass(frozen=True)
class Refused:
    """A cell that is left out."""

    point: dict[str, Any]
    seed: int
    reason: str


@dataclass(frozen=True)
class Sweep:
    """A study resolved: its cells, and the jobs behind them by folder."""

    study: Study
    folder: Path
    cells: list[Cell]
    jobs: dict[Path, Job]
    refused: list[Refused] = field(default_factory=list)
    """Cells that are no scenario or cannot be simulated, if that was allowed."""
    warnings: dict[Path, list[str]] = field(default_factory=dict)
    """Warnings that `anabranch run` would print, by the folder of the cell."""

    @property
    def missing(self) -> list[Job]:
        """Jobs without results."""
        return [job for folder, job in self.jobs.items() if read_manifest(folder) is None]

    @property
    def warning_lines(self) -> list[str]:
        """The warnings of all cells, each with the first cell that has it; numbers in them may differ by cell."""
        having: dict[str, list[str]] = {}
        for folder, warnings in self.warnings.items():
            for text in warnings:
                having.setdefault(NUMBER.sub("", text), []).append(f"at {self.jobs[folder].words}: {text}")
        return [f"{lines[0]} (and {len(lines) - 1} more cells)" if lines[1:] else lines[0] for lines in having.values()]

    def without(self, reasons: Mapping[Path, str]) -> Sweep:
        """Sweep without the cells of these folders, which are recorded as refused."""
        kept = [cell for cell in self.cells if cell.folder not in reasons]
        out = [Refused(cell.point, cell.seed, reasons[cell.folder]) for cell in self.cells if cell.folder in reasons]
        jobs = {folder: job for folder, job in self.jobs.items() if folder not in reasons}
        return replace(self, cells=kept, jobs=jobs, refused=[*self.refused, *out])


def resolve(study: Study, runs: str | Path, allowed: Callable[[str], bool] | None = None) -> Sweep:
    """Resolves every cell, so that a wrong one is found before any runs.

    Args:
        study: The study.
        runs: Results go to `RUNS/NAME`.
        allowed: Whether a cell may be refused with that message; without it none may.

    Raises:
        AnabranchError: a cell is no scenario; the message names its point.

    """
    folder = Path(runs) / study.name
    cells: list[Cell] = []
    refused: list[Refused] = []
    jobs: dict[Path, Job] = {}
    for cell in study.points():
        point, seed = cell.labels, cell.seed
        words = labels_text(point, seed)
        try:
            scenario = Scenario(study.scenario_text, study.scenario_file, cell.overrides, lines=study.scenario_lines)
            where = run_folder(folder, scenario) if cell.own is None else own_folder(folder, scenario, cell.own)
        except AnabranchError as error:
            if allowed is not None and allowed(str(error)):
                refused.append(Refused(point, seed, str(error)))
                continue
            raise AnabranchError(f"{study.file}: at {words}: {error}") from None
        cells.append(Cell(point, seed, where))
        # Points that come to the same scenario share its run.
        beside = Path(study.scenario_file).parent
        files = tuple((digest, str(beside / path)) for digest, path in scenario.named_files())
        jobs.setdefault(
            where, Job(scenario.resolved_toml(), study.scenario_file, scenario.identity, files, where, words, cell.own)
        )
    return Sweep(study, folder, cells, jobs, refused)


@dataclass(frozen=True)
class Checked:
    """Findings from drawing the flows of cells, by folder."""

    impossible: dict[Path, str]
    """Reason why a cell cannot be simulated."""
    failed: list[str]
    """Errors of schemes of one's own, which are nothing to leave out."""
    warnings: dict[Path, list[str]]
    """Warnings that `anabranch run` would print."""


def check(jobs: Sequence[Job]) -> Checked:
    """Checks what cells would simulate. Uses all cores, because each cell draws its flows for it."""

    def look(job: Job) -> tuple[str | None, str | None, list[str]]:
        try:
            scenario = job.scenario()
            scenario.check()
        except AnabranchError as error:
            return f"at {job.words}: {error}", None, []
        try:
            if job.own is not None:
                check_own(job.own, scenario)
        except AnabranchError as error:
            return None, f"at {job.words}: {error}", []
        return None, None, scenario.warnings()

    with ThreadPoolExecutor(cores(), thread_name_prefix="check") as pool:
        manifests = dict(zip((job.folder for job in jobs), pool.map(look, jobs), strict=True))
    return Checked(
        {folder: reason for folder, (reason, _, _) in manifests.items() if reason is not None},
        [failure for _, failure, _ in manifests.values() if failure is not None],
        {folder: warnings for folder, (_, _, warnings) in manifests.items() if warnings},
    )


def leave_out(sweep: Sweep, jobs: Sequence[Job], *, skip: bool) -> Sweep:
    """Sweep without those of `jobs` that cannot be simulated.

    Raises:
        AnabranchError: some cannot be simulated and must not be skipped, or no cell is left, or a scheme of one's own
            has failed.

    """
    checked = check(jobs)
    if checked.failed:
        more = f" (and {len(checked.failed) - 1} more cells)" if len(checked.failed) > 1 else ""
        raise AnabranchError(f"{sweep.study.file}: {checked.failed[0]}{more}")
    reasons = checked.impossible
    if reasons and not skip:
        more = f" (and {len(reasons) - 1} more cells)" if len(reasons) > 1 else ""
        first = next(iter(reasons.values()))
        raise AnabranchError(f"{sweep.study.file}: {first}{more}; hint: --skip-impossible leaves such cells out")
    left = sweep.without(reasons)
    if not left.cells:
        raise AnabranchError(f"{sweep.study.file}: no cell can be simulated: {next(iter(reasons.values()))}")
    return replace(left, warnings=left.warnings | checked.warnings)


def shard_of(sweep: Sweep, part: int, parts: int) -> list[Job]:
    """Missing jobs of one shard. Shards are cut from all jobs: finished ones do not change the shards of others."""
    mine = set(list(sweep.jobs)[part - 1 :: parts])
    return [job for job in sweep.missing if job.folder in mine]


def finish(sweep: Sweep, classes: Sequence[SizeClass], command: Sequence[str], quiet: bool) -> StudyOutcome:
    """Writes the tables, and the study's own file last; draws how far it is, if not quiet."""
    # Polars takes a while to load.
    from anabranch.files.atomic_file import write_whole
    from anabranch.files.terminal.read_progress import each
    from anabranch.simulate.study.summary import cell_table, compare, summarise

    axes = table_values(sweep.study.axes)
    table = cell_table(each(sweep.cells, sweep.study.name, quiet), classes)
    for name, frame in ((CELLS, table), (SUMMARY, summarise(table, list(axes))), (COMPARISON, compare(table, axes))):
        for ending, writer in (("parquet", frame.write_parquet), ("csv", frame.write_csv)):
            table_bytes = BytesIO()
            writer(table_bytes)
            write_whole(sweep.folder / f"{name}.{ending}", table_bytes.getvalue())
    written = {
        "name": sweep.study.name,
        "command": list(command),
        "axes": axes,
        "seeds": sweep.study.all_seeds,
        "interval": "95 %, Student's t over seeds",
        "size_classes": [one.label for one in classes],
        "left_out": [{"point": one.point, "seed": one.seed, "reason": one.reason} for one in sweep.refused],
        "cells": [{"point": cell.point, "seed": cell.seed, "folder": cell.folder.name} for cell in sweep.cells],
    }
    write_whole(sweep.folder / STUDY_FILE, json.dumps(written, indent=1) + "\n")
    return open_study(sweep.folder)
