"""DBB (Wu et al., section IV): packets in turn against packets at random, four paths in the kernel, real TCP."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from anabranch._core import VERSION
from anabranch.atomic_file import write_whole
from anabranch.lab.calibration import contention
from anabranch.lab.calibration.contention import Contention
from anabranch.lab.calibration.processor_time import Meter
from anabranch.lab.reproduce.dbb import rows, table
from anabranch.lab.reproduce.dbb.cases import (
    BY_NAME,
    CASES,
    DUPLICATES,
    FULL,
    NO_RACK,
    PAIRS,
    RACK,
    Case,
    Recovery,
)
from anabranch.lab.reproduce.dbb.fabric import PATHS, Fabric, fabric
from anabranch.lab.reproduce.dbb.measure import Row, run_lab
from anabranch.lab.reproduce.dbb.schemes import ONE_PATH, SCHEMES, Scheme
from anabranch.lab.reproduce.dbb.simulate import can, run_simulator
from anabranch.terminal.bar import Bar

ALONE = Case("one path", "what the machine reorders", 1, 0.5 / PATHS)
"""Half the load of one path: nothing should be lost, and nothing overtaken."""
RECOVERIES = (RACK, NO_RACK, DUPLICATES)
SETTLE_S = 0.6
"""That a run takes beside its traffic."""


@dataclass(frozen=True)
class Run:
    """One run in the lab, to be done."""

    scheme: Scheme
    case: Case
    recovery: Recovery
    draw: int = 0
    gso: bool = False


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    cases: Sequence[tuple[Recovery, Sequence[Case]]]
    span: tuple[float, float]
    """Warm-up and window, in seconds."""
    draws: int
    """Of ports in the lab, which a hash sees, ..."""
    seeds: int
    """... and of the simulator's random numbers."""


def _named(*names: str) -> tuple[Case, ...]:
    return tuple(BY_NAME[name] for name in names)


QUICK = Size(
    (
        (RACK, _named("A half", "A full", "B 40", "C 40", "D 40")),
        (NO_RACK, (FULL,)),
        (DUPLICATES, _named("A full", "B 40")),
    ),
    (0.8, 2.0),
    1,
    5,
)
FULL_SIZE = Size(
    ((RACK, CASES), (NO_RACK, _named("A full", "B 40")), (DUPLICATES, CASES)),
    (2.0, 6.0),
    3,
    10,
)


def run(quick: bool, console: Console) -> Contention:
    """Measures, prints the tables, writes them and a figure below `runs/lab-dbb`.

    Raises:
        AnabranchError: no lab with datapaths can be made here, or something in it refuses.

    """
    began = time.monotonic()
    size = QUICK if quick else FULL_SIZE
    steps = list(_steps(size))
    seconds = len(steps) * (sum(size.span) + SETTLE_S)
    console.print(
        f"lab-dbb: {len(steps)} runs over real TCP, about {-(-seconds // 60):.0f} minutes",
        markup=False,
        highlight=False,
    )
    found: list[Row] = []
    meter = Meter()
    with fabric(SCHEMES[-1]) as made, Bar("lab-dbb", len(steps), quiet=False) as bar:
        installed, whole = SCHEMES[-1], False
        for number, step in enumerate(steps):
            bar.draw(number, f"{step.case.name}, {step.scheme.name}, {step.recovery.name}")
            if whole != step.gso:
                made.whole_segments(step.gso)
                whole = step.gso
            if installed != step.scheme:
                made.install(step.scheme)
                installed = step.scheme
            with meter.running(made.lab.record.mark):
                row = run_lab(made, step.case, step.recovery, step.scheme, size.span, draw=step.draw, gso=step.gso)
            found.append(row)
            meter.late_ms.append(row.late_p99_ms)
            found += _simulated(made, step, size)
    machine = contention.judge(meter, late_max_ms=table.LATE_MS)
    _tell(found, made, machine, quick, console)
    console.print(f"{time.monotonic() - began:.0f} s", markup=False, highlight=False)
    return machine


def _steps(size: Size) -> Iterator[Run]:
    """Scheme by scheme, so that datapaths are made anew as rarely as can be."""
    yield Run(ONE_PATH, ALONE, RACK)
    for scheme in SCHEMES:
        for recovery, cases in size.cases:
            for case in cases:
                for draw in range(size.draws):
                    yield Run(scheme, case, recovery, draw)
    for scheme in SCHEMES:
        yield Run(scheme, FULL, RACK, gso=True)


def _simulated(made: Fabric, step: Run, size: Size) -> Iterator[Row]:
    """The simulator's share of a step: all its seeds at the first draw."""
    if step.draw == 0 and not step.gso and step.scheme is not ONE_PATH and can(step.case):
        for seed in range(size.seeds):
            yield run_simulator(made.link_bps, step.case, step.recovery, step.scheme, size.span, draw=seed)


def _tell(found: Sequence[Row], made: Fabric, machine: Contention, quick: bool, console: Console) -> None:
    # matplotlib takes a second to load: not before there is something to draw.
    from anabranch.lab.reproduce.dbb.figure import draw

    lines = rows.lines(found, made.link_bps)
    order = {case.name: number for number, case in enumerate((ALONE, *CASES))}
    names = [recovery.name for recovery in RECOVERIES]
    lines.sort(key=lambda line: (order[line.case], names.index(line.recovery), line.gso))
    table.show(lines, RECOVERIES, made.ceiling_bps, console)
    folder = Path("runs", "lab-dbb-quick" if quick else "lab-dbb")
    folder.mkdir(parents=True, exist_ok=True)
    numbers = {
        "made_by": f"anabranch {VERSION}",
        "link_bps": made.link_bps,
        "pairs": PAIRS,
        "ceiling_bps": made.ceiling_bps,
        "rows": [asdict(row) for row in found],
    }
    write_whole(folder / "result.json", json.dumps(numbers, indent=1) + "\n")
    write_whole(folder / "rows.csv", rows.as_csv(found))
    contention.write(machine, folder)
    draw(lines, [folder / "goodput.png", folder / "goodput.svg"])
    console.print(f"\nfigure and numbers: {folder}", markup=False, highlight=False)
