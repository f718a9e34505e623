"""Wino (Rehman et al., IFIP Networking 2025, section IV-B): two unequal paths, real switches, real TCP."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import count, groupby, product
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.deploy.marking import nftables as marking
from anabranch.files.atomic_file import write_whole
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.terminal.bar import Bar
from anabranch.lab.calibration.calibrate import ceiling_of
from anabranch.lab.calibration.ceiling import HEADROOM, Ceiling, write
from anabranch.lab.fabric.topology import Lab
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.lab.cell_table import LAB, as_csv
from anabranch.reproduce.backends.lab.journal import Journal, still_missing, time_is_up, to_run
from anabranch.reproduce.backends.lab.study import LabBackend, LabEvidence, LabStudy
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.values.cells import Cells

from . import north_south
from .cases import ASYMMETRIES, WORKLOADS
from .measure import DRAIN_S, Point, Row, run_lab, run_simulator
from .schemes import COMPARED, SCHEMES, Network, Scheme, installed
from .table import show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    """Loads where all schemes run, of what is left."""
    loads_compared: tuple[float, ...]
    """Loads where three schemes run."""
    duration_s: int
    """Time in which flows begin."""
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
        planned = [
            (Point(ASYMMETRIES[fabric], WORKLOADS[workload], load, self.duration_s, seed, folder), scheme)
            for seed in range(1, self.seeds + 1)
            for (fabric, workload), loads, schemes in cases
            for load in loads
            for scheme in schemes
        ]
        return sorted(planned, key=lambda step: step[0].asymmetry.scenario)

    def _compared(self) -> list[tuple[str, str]]:
        """Fabrics and workloads of `compared`."""
        return [(fabric, workload) for fabric, _, workload in (one.partition(", ") for one in self.compared)]


class WinoLab(LabBackend):
    """Completion times of the paper's testbed over Open vSwitch."""

    settings = Settings

    def run(self, study: LabStudy, context: Context) -> LabEvidence:
        """Makes the labs one after the other, measures what the journal lacks, and writes rows and a figure.

        Raises:
            AnabranchError: no lab can be made here, or something in it refuses.

        """
        name = study.group.study
        steps = {_key(point, scheme): (point, scheme) for point, scheme in study.settings.steps(study.group.folder)}
        journal = study.journal(context)
        missing = [steps[key] for key in journal.lacks(steps)]
        seconds = sum(point.duration_s + DRAIN_S // 2 for point, _ in missing)
        context.report(to_run(name, missing, list(steps), seconds))
        number = count()
        with Bar(name, len(missing), quiet=context.quiet) as bar:

            def progress(text: str) -> None:
                bar.draw(next(number), text)

            for _, some in groupby(missing, key=lambda step: step[0].asymmetry.scenario):
                if not time_is_up(context):
                    write(_run_lab(list(some), progress, journal, context), study.folder)
        rows = [Row(**row) for key in steps if key in journal for row in journal[key]]
        write_whole(study.folder / "rows.csv", as_csv(rows, Row))
        usable, machine = study.verdict(journal, steps)
        return LabEvidence(
            cells(rows, list(steps.values())),
            study.expected.figures,
            usable,
            machine,
            lambda console: show(rows, console),
            _drawn(rows, study.folder),
            journal,
            still_missing(name, journal, list(steps)),
        )


def _key(point: Point, scheme: Scheme) -> str:
    """Name of a run in the journal."""
    return f"{point.asymmetry.name}, {point.workload.name}, load {point.load:g}, {scheme.name}, seed {point.seed}"


def _drawn(rows: Sequence[Row], folder: Path) -> list[tuple[str, str, Figure]]:
    """The experiment's figure; none where nothing has been measured."""
    if not rows:
        return []
    # matplotlib takes a second to load: not before there is something to draw.
    from anabranch.report.plot.style import save

    from .figure import draw

    figure = draw(rows)
    save(figure, folder / "afct.png")
    return [("afct", "mean flow completion time, lab beside simulator", figure)]


def _run_lab(
    steps: Sequence[tuple[Point, Scheme]], progress: Callable[[str], None], journal: Journal, context: Context
) -> Ceiling:
    """Runs of one lab, which is made and removed; what the machine can forward in it."""
    with Lab.temporary(steps[0][0].file, f"wino-{os.getpid()}") as lab:
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
                    if time_is_up(context):
                        return ceiling
                    progress(f"{scheme.name}, {asymmetry.name}, load {point.load:g}")
                    simulated = run_simulator(scheme, point)
                    key = _key(point, scheme)
                    with installed(lab, scheme, network) as sent_as, journal.running(key, lab.record.mark) as run:
                        row = run_lab(lab, scheme, point, sent_as)
                        run.late_ms = [row.late_p99_ms]
                        run.values = [asdict(row), asdict(simulated)]
    return ceiling


def _check(ceiling: Ceiling, steps: Sequence[tuple[Point, Scheme]], context: Context) -> None:
    """Refuses what this machine cannot carry."""
    most_mbps = max(p.load * p.asymmetry.left_mbps + sum(p.asymmetry.outside_mbps) for p, _ in steps)
    ceiling_mbps = ceiling.tcp_bps(SWITCHES) / 1e6
    if most_mbps > HEADROOM * ceiling_mbps:
        reached = f"TCP over {SWITCHES} switches of this machine reaches {ceiling_mbps:.0f}"
        raise AnabranchError(f"load: {most_mbps:.0f} Mb/s offered, and {reached}; leave the machine to it")
    context.report(
        f"{most_mbps:.0f} Mb/s offered at most; TCP over {SWITCHES} switches of this machine: {ceiling_mbps:.0f} Mb/s"
    )


def cells(rows: Sequence[Row], planned: Sequence[tuple[Point, Scheme]] = ()) -> Cells:
    """Runs in the lab, those that are there and those that are to come."""
    points = [point for point, _ in planned]
    fabrics = {row.fabric for row in rows} | {point.asymmetry.name for point in points}
    workloads = {row.workload for row in rows} | {point.workload.name for point in points}
    axes: dict[str, list[Any]] = {
        "scheme": [scheme.name for scheme in SCHEMES],
        "fabric": [name for name in ASYMMETRIES if name in fabrics],
        "workload": [name for name in WORKLOADS if name in workloads],
        "load": sorted({row.load for row in rows} | {point.load for point in points}),
    }
    known: dict[str, list[Any]] = {"fabric": list(ASYMMETRIES), "workload": list(WORKLOADS)}
    left_out = {axis: [name for name in names if name not in axes[axis]] for axis, names in known.items()}
    seeds = {row.seed for row in rows} | {point.seed for point in points}
    table = Cells(axes, sorted(seeds), left_out=left_out)
    for row in rows:
        if row.where != LAB:
            continue
        cell = table.cell({"scheme": row.scheme, "fabric": row.fabric, "workload": row.workload, "load": row.load})
        values = {
            "fct": row.afct_ms,
            "goodput": row.goodput_mbps / 1e3,
            "reordered": row.out_of_order_pct,
            "retransmitted": row.retransmitted_pct,
        }
        for name, value in values.items():
            table.numbers[cell, row.seed, Quantity(name)] = None if isnan(value) else value
            table.unfinished[cell, row.seed, Quantity(name)] = (row.unfinished, row.flows)
    ran = {(cell, seed) for cell, seed, _ in table.numbers}
    planned_keys = {(scheme.name, point.asymmetry.name, point.workload.name, point.load) for point, scheme in planned}
    for cell in product(*axes.values()):
        why = (
            "it has not run" if cell in planned_keys else f"{', '.join(map(str, cell[1:]))}: the study does not have it"
        )
        for seed in table.seeds:
            if (cell, seed) not in ran:
                table.missing[cell, seed] = why
    return table
