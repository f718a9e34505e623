"""VALO on an unmodified Open vSwitch: accuracy (Fig. 10) and flow completion times (Fig. 15)."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch._core import VERSION
from anabranch.atomic_file import write_whole
from anabranch.lab.calibration import contention
from anabranch.lab.calibration.calibrate import ceiling_of
from anabranch.lab.calibration.ceiling import HEADROOM
from anabranch.lab.calibration.processor_time import Meter
from anabranch.reproduce.backend import Context
from anabranch.reproduce.backends.lab.study import LabEvidence, LabStudy, published
from anabranch.reproduce.backends.lab.valo import accuracy, completion, table
from anabranch.reproduce.backends.lab.valo.accuracy import ALL_SCHEMES, KERNEL_SCHEMES, SCHEMES, Line
from anabranch.reproduce.backends.lab.valo.evidence import ValoEvidence, accuracy_cells, completion_cells
from anabranch.reproduce.backends.lab.valo.fabric import Fabric, fabric
from anabranch.reproduce.backends.lab.valo.kernel import kernel_fabric
from anabranch.reproduce.backends.lab.valo.place import Place
from anabranch.targets.ovs.lab import open_vswitch
from anabranch.terminal.bar import Bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

ACCURACY_BUFFER, COMPLETION_BUFFER = 1000, 100
"""Packets of a port's queue. The second is some 150 KB: the 1 MB of `studies/valo/fct` on links of a tenth and less."""
COMPLETION_PATHS = 4
SWITCHES = 3
"""Switches that a packet passes."""


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    paths: tuple[int, ...]
    connections: int
    trials_min: int
    trials_max: int
    budget_s: float
    """Time after which no further round of trials begins; at least `trials_min` are run."""
    workloads: tuple[str, ...]
    hosts: int
    """Hosts of each edge."""
    draws: int
    duration_ms: int
    total_bps: int
    """Rate of all paths together, at most."""
    kernel_completion: bool
    """Whether completion times are measured over datapaths in the kernel too, and the rate by what the machine does."""


SETTINGS = Settings


def run(study: LabStudy, context: Context) -> LabEvidence:
    """Measures, writes figures and numbers.

    The machine's verdict is about completion times: accuracies are counted packets, all of which arrived.

    Raises:
        AnabranchError: no privilege, no Open vSwitch, or a connection lost.

    """
    return asyncio.run(_run(study, context))


async def _run(study: LabStudy, context: Context) -> LabEvidence:
    began = time.monotonic()
    size: Settings = study.settings
    meter = Meter()
    bridges, datapaths = f"valo-{os.getpid()}", f"valo-kernel-{os.getpid()}"
    missing = _missing_in_kernel()
    if missing:
        context.report(f"{study.group.study}: rows kernel-... are left out: {missing}")
    async with fabric(bridges, max(size.paths), 1, ACCURACY_BUFFER) as made:
        version = re.findall(r"\d+\.\d+\.\d+", open_vswitch(made.lab).vsctl("--version"))[0]
        with ExitStack() as stack:
            places: list[tuple[Place, list[str]]] = [(made, list(SCHEMES))]
            if not missing:
                place = kernel_fabric(datapaths, max(size.paths), 1, ACCURACY_BUFFER)
                places.append((stack.enter_context(place), list(KERNEL_SCHEMES)))
            accurate = await _accuracy(places, size, context.quiet)
    found = [line for of_paths in accurate.values() for line in accuracy.lines(of_paths, size.connections)]
    figure = _write(study.folder, found, accurate, [], version)
    async with fabric(bridges, COMPLETION_PATHS, size.hosts, COMPLETION_BUFFER) as made:
        total_bps = size.total_bps
        if size.kernel_completion:
            room = HEADROOM * ceiling_of(made.lab).tcp_bps(SWITCHES) / completion.LOAD
            total_bps = min(total_bps, round(room))
        with ExitStack() as stack:
            more: list[tuple[Place, list[str]]] = []
            if size.kernel_completion and not missing:
                place = kernel_fabric(datapaths, COMPLETION_PATHS, size.hosts, COMPLETION_BUFFER)
                more.append((stack.enter_context(place), list(KERNEL_SCHEMES)))
            complete = await _completion(made, more, size, total_bps, meter, context.quiet)
    figure = _write(study.folder, found, accurate, complete, version)
    machine = contention.judge(meter)
    contention.write(machine, study.folder)
    context.report(f"{time.monotonic() - began:.0f} s")
    claims = study.expected.claims

    def tables(console: Console) -> None:
        table.show_accuracy(found, published(claims, "MAPE", "paths"), version, missing, console)
        table.show_completion(complete, published(claims, "fct", "workload"), total_bps, console)

    return ValoEvidence(
        accuracy_cells(accurate),
        study.expected.figures,
        machine.usable,
        machine,
        tables,
        [("accuracy", "error against the number of paths, with theory as lines", figure)],
        completion_cells(complete),
        {(line.scheme, line.paths): line.expected for line in found},
    )


def _missing_in_kernel() -> str:
    """The reason why this machine has no datapaths in the kernel; empty if it has."""
    return next((f"{feature}: {note}" for feature, there, note in _core.probe_kernel() if not there), "")


async def _accuracy(
    places: Sequence[tuple[Place, list[str]]], size: Settings, quiet: bool
) -> dict[int, list[accuracy.Trial]]:
    """Trials by number of paths, a round of one each until enough is enough."""
    found: dict[int, list[accuracy.Trial]] = {paths: [] for paths in size.paths}
    passes = len(size.paths) * size.trials_max * sum(len(schemes) for _, schemes in places)
    done = 0
    began = time.monotonic()
    with Bar("accuracy", passes, quiet=quiet) as bar:

        def progress() -> None:
            nonlocal done
            done += 1
            bar.draw(done, f"{done} of {passes} passes")

        async with AsyncExitStack() as stack:
            endless = {paths: accuracy.measure(places, paths, size.connections, progress) for paths in size.paths}
            for trials in endless.values():
                stack.push_async_callback(trials.aclose)
            for number in range(size.trials_max):
                if number >= size.trials_min and time.monotonic() - began > size.budget_s:
                    break
                for paths, trials in endless.items():
                    found[paths].append(await anext(trials))
    return found


async def _completion(
    made: Fabric, more: Sequence[tuple[Place, list[str]]], size: Settings, total_bps: int, meter: Meter, quiet: bool
) -> list[completion.Trial]:
    found = []
    marks = [place.lab.record.mark for place in (made, *(place for place, _ in more))]
    runs = len(size.workloads) * size.draws * (1 + len(SCHEMES) + sum(len(schemes) for _, schemes in more))
    done = 0
    with Bar("completion times", runs, quiet=quiet, remembered_seconds=600.0) as bar:

        def progress(scheme: str) -> None:
            nonlocal done
            bar.draw(done, f"{workload} under {scheme}")
            done += 1

        for workload in size.workloads:
            for draw in range(size.draws):
                with meter.running(*marks):
                    trial = await completion.measure(
                        made, more, workload, draw, COMPLETION_PATHS, total_bps, size.duration_ms, progress
                    )
                found.append(trial)
                meter.late_ms += trial.late_p99_ms.values()
    return found


def _write(
    folder: Path,
    found: Sequence[Line],
    accurate: dict[int, list[accuracy.Trial]],
    complete: Sequence[completion.Trial],
    version: str,
) -> Figure:
    # matplotlib takes a second to load: not before there is something to draw.
    from anabranch.plot import lab_accuracy
    from anabranch.plot.style import save

    numbers = {
        "made_by": f"anabranch {VERSION}",
        "open_vswitch": version,
        "accuracy": [asdict(line) | {"as_expected": line.as_expected} for line in found],
        "trials": [asdict(trial) for of_paths in accurate.values() for trial in of_paths],
        "completion": [asdict(line) for line in completion.lines(complete)],
        "completion_trials": [asdict(trial) for trial in complete],
    }
    write_whole(folder / "result.json", json.dumps(numbers, indent=1) + "\n")
    points = [
        lab_accuracy.Point(
            line.paths,
            line.scheme,
            line.measured_pct,
            line.expected.mean,
            line.expected.low,
            line.expected.high,
            line.expected.floor,
        )
        for line in found
    ]
    figure = lab_accuracy.draw(points, ALL_SCHEMES)
    for ending in ("svg", "png"):
        save(figure, folder / f"accuracy.{ending}")
    return figure
