"""Accuracy of VALO and other recipes on an unmodified Open vSwitch and in the kernel (the paper's Fig. 10)."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch._core import VERSION
from anabranch.files.atomic_file import write_whole
from anabranch.files.terminal.bar import Bar
from anabranch.lab.switches.ovs.switching import open_vswitch
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.lab.journal import Journal, still_missing, time_is_up
from anabranch.reproduce.backends.lab.study import LabBackend, LabEvidence, LabStudy, published

from . import table
from .accuracy import (
    KERNEL_SCHEMES,
    SCHEMES,
    Line,
    Trial,
    lines,
    measure,
    senders,
)
from .evidence import AccuracyEvidence, accuracy_cells, with_theory
from .fabric import fabric
from .kernel import kernel_fabric, missing_in_kernel
from .place import Place

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from anabranch.reproduce.backends.cell_evidence import CellEvidence
    from anabranch.reproduce.claims.claim import Expected
    from anabranch.reproduce.claims.group import Group
    from anabranch.reproduce.records.record import Record

BUFFER = 1000
"""Packets of a port's queue."""


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    paths: tuple[int, ...]
    """Numbers of paths."""
    connections: int
    """Connections of a trial."""
    trials_min: int
    trials_max: int
    budget_s: float
    """Time after which no further round of trials begins; at least `trials_min` are run."""


class AccuracyLab(LabBackend):
    """Errors of splits over real switches."""

    settings = Settings

    def recall(self, group: Group, record: Record) -> tuple[Expected, CellEvidence]:
        """Claims of a group, with the cells and theory's bands of its record."""
        expected, evidence = super().recall(group, record)
        return expected, with_theory(evidence, record)

    def run(self, study: LabStudy, context: Context) -> LabEvidence:
        """Measures what the journal lacks, and writes a figure and numbers.

        There is no verdict on the machine: packets are counted, and all of them arrived, on whatever machine.

        Raises:
            AnabranchError: no privilege, no Open vSwitch, or a connection lost.

        """
        size: Settings = study.settings
        name = study.group.study
        unable = missing_in_kernel()
        # A machine without datapaths in the kernel has trials of its own, which are no whole ones for others.
        steps = {
            _key(paths, number, with_kernel=not unable): (paths, number)
            for number in range(size.trials_max)
            for paths in size.paths
        }
        journal = study.journal(context, counted=True)
        missing = [steps[key] for key in journal.lacks(steps)]
        context.report(f"{name}: {len(missing)} of {len(steps)} trials of {size.connections} connections")
        if unable:
            context.report(f"{name}: rows kernel-... are left out: {unable}")
        if missing and not time_is_up(context):
            asyncio.run(_measure(missing, size, journal, context, not unable))
        trials = {
            paths: [
                Trial(**journal[key]["trial"]) for key, (own, _) in steps.items() if own == paths and key in journal
            ]
            for paths in size.paths
        }
        whole = min(map(len, trials.values()))
        if not whole:
            return LabEvidence(
                accuracy_cells(trials, size.trials_min),
                [],
                journal=journal,
                missing=still_missing(name, journal, [*steps]),
            )
        version = next(journal[key]["open_vswitch"] for key in steps if key in journal)
        rows = [line for of_paths in trials.values() for line in lines(of_paths, size.connections)]

        def tables(console: Console) -> None:
            table.show_accuracy(rows, published(study.expected.claims, "MAPE", "paths"), version, unable, console)

        return AccuracyEvidence(
            accuracy_cells(trials, size.trials_min),
            study.expected.figures,
            tables=tables,
            drawn=[
                (
                    "accuracy",
                    "error against the number of paths, with theory as lines",
                    _write(study.folder, rows, version),
                )
            ],
            journal=journal,
            missing=still_missing(
                name, journal, [key for key, (_, number) in steps.items() if number < size.trials_min]
            ),
            theory={(line.scheme, line.paths): line.expected for line in rows},
        )


def _key(paths: int, number: int, *, with_kernel: bool) -> str:
    """Name of a trial in the journal."""
    return f"{paths} paths, trial {number}" + ("" if with_kernel else ", Open vSwitch alone")


async def _measure(
    steps: Sequence[tuple[int, int]], size: Settings, journal: Journal, context: Context, with_kernel: bool
) -> None:
    """Trials, a round of one for each number of paths after the other, until the time is up."""
    began, done = time.monotonic(), 0
    async with fabric(f"valo-{os.getpid()}", max(size.paths), 1, BUFFER) as lab_fabric:
        version = re.findall(r"\d+\.\d+\.\d+", open_vswitch(lab_fabric.lab).vsctl("--version"))[0]
        with ExitStack() as stack:
            places: list[tuple[Place, list[str]]] = [(lab_fabric, list(SCHEMES))]
            if with_kernel:
                datapaths = kernel_fabric(f"valo-kernel-{os.getpid()}", max(size.paths), 1, BUFFER)
                places.append((stack.enter_context(datapaths), list(KERNEL_SCHEMES)))
            sending = stack.enter_context(senders([place for place, _ in places]))
            passes = len(steps) * sum(len(schemes) for _, schemes in places)
            bar = stack.enter_context(Bar("accuracy", passes, quiet=context.quiet))

            def progress() -> None:
                nonlocal done
                done += 1
                bar.draw(done, f"{done} of {passes} passes")

            for paths, number in steps:
                enough = number >= size.trials_min and time.monotonic() - began > size.budget_s
                if enough or time_is_up(context):
                    return
                with journal.running(_key(paths, number, with_kernel=with_kernel)) as run:
                    trial = await measure(places, sending, (paths, number), size.connections, progress)
                    run.values = {"open_vswitch": version, "trial": asdict(trial)}


def _write(folder: Path, rows: Sequence[Line], version: str) -> Figure:
    """Writes numbers and the figure."""
    # matplotlib takes a second to load: not before there is something to draw.
    from anabranch.report.plot.style import save

    from .figure import draw

    numbers: Mapping[str, object] = {
        "made_by": f"anabranch {VERSION}",
        "open_vswitch": version,
        "accuracy": [asdict(line) | {"as_expected": line.as_expected} for line in rows],
    }
    write_whole(folder / "result.json", json.dumps(numbers, indent=1) + "\n")
    figure = draw(rows)
    for ending in ("svg", "png"):
        save(figure, folder / f"accuracy.{ending}")
    return figure
