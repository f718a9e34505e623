"""Wino (Rehman et al., IFIP Networking 2025, section IV-B): two unequal paths, real switches, real TCP."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, product
from math import isnan
from pathlib import Path
from typing import Any

from anabranch.atomic_file import write_whole
from anabranch.errors import AnabranchError
from anabranch.hints import nearest
from anabranch.lab.calibration import contention
from anabranch.lab.calibration.calibrate import ceiling_of
from anabranch.lab.calibration.ceiling import HEADROOM, Ceiling, write
from anabranch.lab.calibration.processor_time import Meter
from anabranch.lab.fabric.topology import Lab
from anabranch.marking import nftables as marking
from anabranch.reproduce.backend import Context
from anabranch.reproduce.backends.lab.study import LabEvidence, LabStudy
from anabranch.reproduce.backends.lab.wino import north_south
from anabranch.reproduce.backends.lab.wino.cases import ASYMMETRIES, WORKLOADS
from anabranch.reproduce.backends.lab.wino.measure import DRAIN_S, LAB, Point, Row, run_lab, run_simulator
from anabranch.reproduce.backends.lab.wino.schemes import COMPARED, SCHEMES, Network, Scheme, installed
from anabranch.reproduce.backends.lab.wino.table import as_csv, show
from anabranch.reproduce.cells import Cells
from anabranch.reproduce.quantity import Quantity
from anabranch.terminal.bar import Bar

SWITCHES = 3
"""Switches that a packet passes."""


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    degraded: tuple[str, ...]
    """Fabrics, by their names in `cases`, where all schemes run under web search."""
    compared: tuple[str, ...]
    """`FABRIC, WORKLOAD` where the paper's two schemes run, and one more."""
    loads: tuple[float, ...]
    loads_compared: tuple[float, ...]
    duration_s: int
    seeds: int

    def __post_init__(self) -> None:
        known = [f"{fabric}, {workload}" for fabric in ASYMMETRIES for workload in WORKLOADS]
        for name, given, kinds in (("degraded", self.degraded, ASYMMETRIES), ("compared", self.compared, known)):
            for one in given:
                if one not in kinds:
                    raise AnabranchError(f"settings.{name}: {one}: unknown; {nearest(str(one), list(kinds))}")

    def steps(self, folder: Path) -> list[tuple[Point, Scheme]]:
        """All runs, those of one lab together, one seed after the other."""
        compared = [scheme for scheme in SCHEMES if scheme.name in COMPARED]
        cases = [((name, "web search"), self.loads, list(SCHEMES)) for name in self.degraded]
        cases += [((fabric, sizes), self.loads_compared, compared) for fabric, sizes in self._compared()]
        found = [
            (Point(ASYMMETRIES[fabric], WORKLOADS[workload], load, self.duration_s, seed, folder), scheme)
            for seed in range(1, self.seeds + 1)
            for (fabric, workload), loads, schemes in cases
            for load in loads
            for scheme in schemes
        ]
        return sorted(found, key=lambda step: step[0].asymmetry.scenario)

    def _compared(self) -> list[tuple[str, str]]:
        """Fabrics and workloads of `compared`."""
        return [(fabric, workload) for fabric, _, workload in (one.partition(", ") for one in self.compared)]


SETTINGS = Settings


def run(study: LabStudy, context: Context) -> LabEvidence:
    """Makes the labs one after the other, measures, writes rows and a figure, and removes the labs.

    Raises:
        AnabranchError: no lab can be made here, or something in it refuses.

    """
    name = study.group.study
    steps = study.settings.steps(study.group.folder)
    seconds = sum(point.duration_s + DRAIN_S // 2 for point, _ in steps)
    context.report(f"{name}: {len(steps)} runs over real TCP, about {-(-seconds // 60)} minutes")
    rows: list[Row] = []
    meter = Meter()
    with Bar(name, len(steps), quiet=context.quiet) as bar:
        for _, some in groupby(steps, key=lambda step: step[0].asymmetry.scenario):
            ceiling = _run_lab(list(some), bar, rows, meter, context)
    write_whole(study.folder / "rows.csv", as_csv(rows))
    write(ceiling, study.folder)
    machine = contention.judge(meter)
    contention.write(machine, study.folder)
    # matplotlib takes a second to load: not before there is something to draw.
    from anabranch.plot.style import save
    from anabranch.reproduce.backends.lab.wino.figure import draw

    figure = draw(rows)
    save(figure, study.folder / "afct.png")
    return LabEvidence(
        cells(rows),
        study.expected.figures,
        machine.usable,
        machine,
        lambda console: show(rows, console),
        [("afct", "mean flow completion time, lab beside simulator", figure)],
    )


def _run_lab(
    steps: Sequence[tuple[Point, Scheme]], bar: Bar, rows: list[Row], meter: Meter, context: Context
) -> Ceiling:
    """Runs of one lab, which is made and removed; what the machine can forward in it."""
    lab = Lab.up(steps[0][0].file, f"wino-{os.getpid()}")
    try:
        ceiling = ceiling_of(lab)
        _check(ceiling, steps, context)
        for host in lab.hosts.values():
            # Else the segments that TCP sends in one go bear one label.
            marking.single_segments(host.interface, enter=host.enter)
        for asymmetry, some in groupby(steps, key=lambda step: step[0].asymmetry):
            rates = {}
            if asymmetry.degraded_mbps is not None:
                rates = {frozenset(("leaf0", "spine1")): asymmetry.degraded_mbps * 1_000_000}
                lab.set_link("leaf0", "spine1", rate_bps=asymmetry.degraded_mbps * 1_000_000)
            with north_south.beside(lab, asymmetry) as outside_bps:
                north_south.check(outside_bps, asymmetry)
                network = Network(rates, outside_bps)
                for point, scheme in some:
                    bar.draw(len(rows) // 2, f"{scheme.name}, {asymmetry.name}, load {point.load:g}")
                    with installed(lab, scheme, network) as sent_as, meter.running(lab.record.mark):
                        rows.append(run_lab(lab, scheme, point, sent_as))
                    meter.late_ms.append(rows[-1].late_p99_ms)
                    rows.append(run_simulator(scheme, point))
    finally:
        lab.down()
    return ceiling


def _check(ceiling: Ceiling, steps: Sequence[tuple[Point, Scheme]], context: Context) -> None:
    """Refuses what this machine cannot carry."""
    most_mbps = max(p.load * p.asymmetry.left_mbps + sum(p.asymmetry.outside_mbps) for p, _ in steps)
    carried_mbps = ceiling.tcp_bps(SWITCHES) / 1e6
    if most_mbps > HEADROOM * carried_mbps:
        carried = f"TCP over {SWITCHES} switches of this machine reaches {carried_mbps:.0f}"
        raise AnabranchError(f"load: {most_mbps:.0f} Mb/s offered, and {carried}; leave the machine to it")
    context.report(
        f"{most_mbps:.0f} Mb/s offered at most; TCP over {SWITCHES} switches of this machine: {carried_mbps:.0f} Mb/s"
    )


def cells(rows: Sequence[Row]) -> Cells:
    """Runs in the lab."""
    axes: dict[str, list[Any]] = {
        "scheme": [scheme.name for scheme in SCHEMES],
        "fabric": [name for name in ASYMMETRIES if any(row.fabric == name for row in rows)],
        "workload": [name for name in WORKLOADS if any(row.workload == name for row in rows)],
        "load": sorted({row.load for row in rows}),
    }
    known: dict[str, list[Any]] = {"fabric": list(ASYMMETRIES), "workload": list(WORKLOADS)}
    left_out = {axis: [name for name in names if name not in axes[axis]] for axis, names in known.items()}
    made = Cells(axes, sorted({row.seed for row in rows}), left_out=left_out)
    for row in rows:
        if row.where != LAB:
            continue
        cell = made.cell({"scheme": row.scheme, "fabric": row.fabric, "workload": row.workload, "load": row.load})
        values = {
            "fct": row.afct_ms,
            "goodput": row.goodput_mbps / 1e3,
            "reordered": row.out_of_order_pct,
            "retransmitted": row.retransmitted_pct,
        }
        for name, value in values.items():
            made.numbers[cell, row.seed, Quantity(name)] = None if isnan(value) else value
            made.unfinished[cell, row.seed, Quantity(name)] = (row.unfinished, row.flows)
    ran = {(cell, seed) for cell, seed, _ in made.numbers}
    for cell in product(*axes.values()):
        for seed in made.seeds:
            if (cell, seed) not in ran:
                made.missing[cell, seed] = "it has not run"
    return made
