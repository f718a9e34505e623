"""Wino (Rehman et al., IFIP Networking 2025, section IV-B): two unequal paths, real switches, real TCP."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan
from pathlib import Path
from typing import Any

from anabranch.atomic_file import write_whole
from anabranch.errors import AnabranchError
from anabranch.lab.calibration import contention
from anabranch.lab.calibration.calibrate import ceiling_of
from anabranch.lab.calibration.ceiling import HEADROOM, write
from anabranch.lab.calibration.processor_time import Meter
from anabranch.lab.fabric.topology import Lab
from anabranch.marking import nftables as marking
from anabranch.reproduce.backend import Context
from anabranch.reproduce.backends.lab.study import LabEvidence, LabStudy
from anabranch.reproduce.backends.lab.wino.measure import DRAIN_S, LAB, Point, Row, run_lab, run_simulator
from anabranch.reproduce.backends.lab.wino.schemes import SCHEMES, installed
from anabranch.reproduce.backends.lab.wino.table import as_csv, show
from anabranch.reproduce.cells import Cells
from anabranch.reproduce.quantity import Quantity
from anabranch.terminal.bar import Bar

SWITCHES = 3
"""Switches that a packet passes."""
SCENARIO = "scenario.toml"


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    degraded_mbps: tuple[int, ...]
    loads: tuple[float, ...]
    duration_s: int
    seeds: int

    def points(self, fabric: Path) -> list[Point]:
        """All runs of a scheme, one seed after the other."""
        return [
            Point(slow, load, self.duration_s, seed, fabric)
            for seed in range(1, self.seeds + 1)
            for slow in self.degraded_mbps
            for load in self.loads
        ]


SETTINGS = Settings


def run(study: LabStudy, context: Context) -> LabEvidence:
    """Makes the lab, measures, writes rows and a figure, and removes the lab.

    Raises:
        AnabranchError: no lab can be made here, or something in it refuses.

    """
    name = study.group.study
    fabric = study.group.folder / SCENARIO
    points = study.settings.points(fabric)
    steps = [(point, scheme) for point in points for scheme in SCHEMES]
    seconds = sum(point.duration_s + DRAIN_S // 2 for point, _ in steps)
    context.report(f"{name}: {len(steps)} runs over real TCP, about {-(-seconds // 60)} minutes")
    rows: list[Row] = []
    meter = Meter()
    lab = Lab.up(fabric, f"wino-{os.getpid()}")
    try:
        ceiling = ceiling_of(lab)
        most_bps = max(point.load * (100 + point.degraded_mbps) * 1e6 for point in points)
        if most_bps > HEADROOM * ceiling.tcp_bps(SWITCHES):
            carried = f"TCP over {SWITCHES} switches of this machine reaches {ceiling.tcp_bps(SWITCHES) / 1e6:.0f}"
            raise AnabranchError(f"load: {most_bps / 1e6:.0f} Mb/s offered, and {carried}; leave the machine to it")
        for host in lab.hosts.values():
            # Else the segments that TCP sends in one go bear one label.
            marking.single_segments(host.interface, enter=host.enter)
        with Bar(name, len(steps), quiet=context.quiet) as bar:
            for number, (point, scheme) in enumerate(steps):
                bar.draw(number, f"{scheme.name}, load {point.load:g}")
                rate_bps = {frozenset(("leaf0", "spine1")): point.degraded_mbps * 1_000_000}
                lab.set_link("leaf0", "spine1", rate_bps=point.degraded_mbps * 1_000_000)
                with installed(lab, scheme, rate_bps), meter.running(lab.record.mark):
                    rows.append(run_lab(lab, scheme, point))
                meter.late_ms.append(rows[-1].late_p99_ms)
                rows.append(run_simulator(scheme, point))
    finally:
        lab.down()
    most, carries = f"{most_bps / 1e6:.0f} Mb/s offered at most", f"{ceiling.tcp_bps(SWITCHES) / 1e6:.0f} Mb/s"
    context.report(f"{most}; TCP over {SWITCHES} switches of this machine: {carries}")
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


def cells(rows: Sequence[Row]) -> Cells:
    """Runs in the lab."""
    axes: dict[str, list[Any]] = {
        "scheme": [scheme.name for scheme in SCHEMES],
        "degraded": sorted({row.degraded_mbps for row in rows}, reverse=True),
        "load": sorted({row.load for row in rows}),
    }
    made = Cells(axes, sorted({row.seed for row in rows}))
    for row in rows:
        if row.where != LAB:
            continue
        cell = made.cell({"scheme": row.scheme, "degraded": row.degraded_mbps, "load": row.load})
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
