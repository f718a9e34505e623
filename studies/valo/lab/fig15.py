"""Completion times under VALO and other recipes over real switches and real TCP (the paper's Fig. 15)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from anabranch.files.errors import AnabranchError
from anabranch.files.terminal.bar import Bar
from anabranch.lab.calibration.calibrate import ceiling_of
from anabranch.lab.calibration.ceiling import HEADROOM
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.lab.journal import Journal, still_missing, time_is_up, to_run
from anabranch.reproduce.backends.lab.study import LabBackend, LabEvidence, LabStudy, published

from . import table
from .accuracy import KERNEL_SCHEMES, SCHEMES
from .completion import DRAIN_NS, LOAD, Trial, measure
from .evidence import completion_cells
from .fabric import fabric
from .kernel import kernel_fabric, missing_in_kernel
from .place import Place

if TYPE_CHECKING:
    from rich.console import Console

BUFFER = 100
"""Packets of a port's queue: some 150 KB, the 1 MB of `studies/valo/fct` on links of a tenth and less."""
PATHS = 4
SWITCHES = 3
"""Switches that a packet passes."""


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    workloads: tuple[str, ...]
    """Distributions of flow sizes."""
    hosts: int
    """Hosts of each edge."""
    draws: int
    """Draws of weights; they are the seeds of the claims."""
    duration_ms: int
    """Time in which flows begin."""
    total_bps: int
    """Rate of all paths together, at most."""
    kernel: bool
    """Whether datapaths in the kernel are measured too, and the rate is what the machine carries."""


class CompletionLab(LabBackend):
    """Completion times over real switches."""

    settings = Settings

    def run(self, study: LabStudy, context: Context) -> LabEvidence:
        """Measures what the journal lacks.

        Raises:
            AnabranchError: no privilege or no Open vSwitch.

        """
        size: Settings = study.settings
        name = study.group.study
        unable = missing_in_kernel() if size.kernel else ""
        with_kernel = size.kernel and not unable
        # A machine without datapaths in the kernel has trials of its own, which are no whole ones for others.
        steps = {
            _key(workload, draw, with_kernel=with_kernel): (workload, draw)
            for draw in range(size.draws)
            for workload in size.workloads
        }
        journal = study.journal(context)
        missing = [steps[key] for key in journal.lacks(steps)]
        if unable:
            context.report(f"{name}: rows kernel-... are left out: {unable}")
        schemes = 1 + len(SCHEMES) + len(KERNEL_SCHEMES) * with_kernel
        seconds = len(missing) * schemes * (size.duration_ms / 1e3 + DRAIN_NS / 2e9)
        context.report(to_run(name, missing, list(steps), seconds))
        if missing and not time_is_up(context):
            asyncio.run(_measure(missing, size, journal, context, with_kernel))
        kept = [journal[key] for key in steps if key in journal]
        trials = [Trial(**one["trial"]) for one in kept]
        usable, machine = study.verdict(journal, steps)

        def tables(console: Console) -> None:
            if trials:
                claims = published(study.expected.claims, "fct", "workload")
                table.show_completion(trials, claims, kept[0]["total_bps"], console)

        return LabEvidence(
            completion_cells(trials, size.workloads),
            study.expected.figures,
            usable,
            machine,
            tables,
            journal=journal,
            missing=still_missing(name, journal, list(steps)),
        )


def _rate(size: Settings, journal: Journal, carried_bps: int) -> int:
    """Rate of all paths together: in all pieces that which the first has chosen by what its machine carries.

    Raises:
        AnabranchError: this machine carries less.

    """
    chosen = {entry["found"]["total_bps"] for entry in journal.entries.values() if entry["quiet"]}
    if chosen and carried_bps < min(chosen):
        raise AnabranchError(
            f"paths: of together {min(chosen) / 1e6:.0f} Mb/s in earlier pieces: this machine carries "
            f"{carried_bps / 1e6:.0f} Mb/s; leave it to the study, or remove {journal.file} to begin anew"
        )
    return min(chosen, default=min(size.total_bps, carried_bps))


def _key(workload: str, draw: int, *, with_kernel: bool) -> str:
    """Name of a trial in the journal."""
    return f"{workload}, draw {draw}" + ("" if with_kernel else ", Open vSwitch alone")


async def _measure(
    steps: Sequence[tuple[str, int]], size: Settings, journal: Journal, context: Context, with_kernel: bool
) -> None:
    """Trials of one lab, or two, until the time is up."""
    async with fabric(f"valo-{os.getpid()}", PATHS, size.hosts, BUFFER) as lab_fabric:
        total_bps = size.total_bps
        if size.kernel:
            total_bps = _rate(size, journal, round(HEADROOM * ceiling_of(lab_fabric.lab).tcp_bps(SWITCHES) / LOAD))
        with ExitStack() as stack:
            more: list[tuple[Place, list[str]]] = []
            if with_kernel:
                datapaths = kernel_fabric(f"valo-kernel-{os.getpid()}", PATHS, size.hosts, BUFFER)
                more.append((stack.enter_context(datapaths), list(KERNEL_SCHEMES)))
            marks = [place.lab.record.mark for place in (lab_fabric, *(place for place, _ in more))]
            runs = len(steps) * (1 + len(SCHEMES) + sum(len(schemes) for _, schemes in more))
            bar = stack.enter_context(Bar("completion times", runs, quiet=context.quiet, remembered_seconds=600.0))
            done = 0
            for workload, draw in steps:
                if time_is_up(context):
                    return

                def progress(scheme: str, workload: str = workload) -> None:
                    nonlocal done
                    bar.draw(done, f"{workload} under {scheme}")
                    done += 1

                with journal.running(_key(workload, draw, with_kernel=with_kernel), *marks) as run:
                    trial = await measure(
                        lab_fabric, more, workload, draw, PATHS, total_bps, size.duration_ms, progress
                    )
                    run.late_ms = list(trial.late_p99_ms.values())
                    run.values = {"total_bps": total_bps, "trial": asdict(trial)}
