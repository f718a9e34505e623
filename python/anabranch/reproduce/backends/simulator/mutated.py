"""Cells of a study with a mechanism of their load balancer broken on purpose; all others stay as they have run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from anabranch._core import Scenario
from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends.backend import Announcement, Context, Evidence
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.backends.simulator.simulate import SimulatorStudy, announce, collect, run_cells
from anabranch.reproduce.values.cells import Cells
from anabranch.simulate.load_balancers import schemes
from anabranch.simulate.runs.folder import check_writable, run_folder
from anabranch.simulate.runs.literal import literal
from anabranch.simulate.study.job import Job
from anabranch.simulate.study.outcome import Cell
from anabranch.simulate.study.sweep import Sweep

KEY = "routing.mutation"


@dataclass(frozen=True)
class MutatedStudy:
    """A study's cells under each mutation that they can have; see `backend.Mutated`."""

    study: SimulatorStudy
    sweeps: Mapping[str, Sweep]
    """Cells that a mutation changes, by its name."""

    @property
    def mutations(self) -> Mapping[str, str]:
        """What happens instead of each mechanism, by name."""
        broken = {one.name: one.broken for balancer in schemes() for one in balancer.mutations}
        return {name: broken[name] for name in self.sweeps}

    @cached_property
    def _jobs(self) -> dict[Path, Job]:
        return {folder: job for sweep in self.sweeps.values() for folder, job in sweep.jobs.items()}

    @cached_property
    def announcement(self) -> Announcement:
        """Cells under all mutations, and their time."""
        count = len(self.sweeps)
        label = f"{self.study.group.label} under {count} mutation{'s' * (count != 1)}"
        return announce(label, replace(self.study.sweep, cells=[], jobs=self._jobs, refused=[]))

    def run(self, context: Context, whole: Evidence) -> Iterator[tuple[str, Evidence]]:
        """Runs what is missing; yields the evidence under each mutation, that of other cells from the whole study."""
        assert isinstance(whole, CellEvidence)
        study = self.study
        check_writable(study.sweep.folder)
        missing = replace(study.sweep, jobs=self._jobs).missing
        failed = run_cells(f"{study.group.label} broken", missing, context)
        for name, sweep in self.sweeps.items():
            cells = collect(sweep, study.whole, study.expected.quantities, failed, context.quiet)
            yield name, CellEvidence(_in_place(whole.cells, cells, sweep.cells), study.expected.figures)


def mutated(study: SimulatorStudy) -> MutatedStudy | None:
    """A study under every mutation of the load balancers of its cells; None if they have none."""
    cells: dict[str, list[Cell]] = {}
    jobs: dict[str, dict[Path, Job]] = {}
    known: dict[Path, dict[str, Job]] = {}
    for cell in study.sweep.cells:
        if cell.folder not in known:
            known[cell.folder] = _broken(study.sweep.jobs[cell.folder])
        for name, job in known[cell.folder].items():
            cells.setdefault(name, []).append(replace(cell, folder=job.folder))
            jobs.setdefault(name, {})[job.folder] = job
    order = [one.name for balancer in schemes() for one in balancer.mutations]
    sweeps = {
        name: replace(study.sweep, cells=cells[name], jobs=jobs[name], refused=[])
        for name in dict.fromkeys(order)
        if name in cells
    }
    return MutatedStudy(study, sweeps) if sweeps else None


def _broken(job: Job) -> dict[str, Job]:
    """A cell under each of its mutations; schemes of one's own have none."""
    if job.own is not None:
        return {}
    broken = {}
    for name in job.scenario().mutations:
        words = f"{job.words}, {KEY} {name}"
        try:
            scenario = Scenario(job.text, job.file, [(KEY, literal(name))], lines=False)
        except AnabranchError as error:
            raise AnabranchError(f"at {words}: {error}") from None
        folder = run_folder(job.folder.parent, scenario)
        text, identity = scenario.resolved_toml(), scenario.identity
        broken[name] = replace(job, text=text, identity=identity, folder=folder, words=words)
    return broken


def _in_place(whole: Cells, broken: Cells, cells: list[Cell]) -> Cells:
    """The cells of a study with some of them broken."""
    changed = {(whole.cell(cell.point), cell.seed) for cell in cells}
    kept = {key: value for key, value in whole.numbers.items() if key[:2] not in changed}
    unfinished = {key: value for key, value in whole.unfinished.items() if key[:2] not in changed}
    return replace(
        whole,
        numbers=kept | broken.numbers,
        unfinished=unfinished | broken.unfinished,
        missing={key: why for key, why in whole.missing.items() if key not in changed} | broken.missing,
        broken={key: why for key, why in whole.broken.items() if key not in changed} | broken.broken,
    )
