"""Wino (Rehman et al., IFIP Networking 2025, section IV-B): two unequal paths, real switches, real TCP."""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console

from anabranch.atomic_file import write_whole
from anabranch.errors import AnabranchError
from anabranch.lab.calibration import contention
from anabranch.lab.calibration.calibrate import ceiling_of
from anabranch.lab.calibration.ceiling import HEADROOM, write
from anabranch.lab.calibration.contention import Contention
from anabranch.lab.calibration.processor_time import Meter
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.reproduce.wino.figure import draw
from anabranch.lab.reproduce.wino.measure import DRAIN_S, SCENARIO, Point, Row, run_lab, run_simulator
from anabranch.lab.reproduce.wino.schemes import SCHEMES, installed
from anabranch.lab.reproduce.wino.table import as_csv, show
from anabranch.marking import nftables as marking
from anabranch.terminal.bar import Bar

SWITCHES = 3
"""That a packet passes."""
QUICK = [Point(50, load, 6, 1) for load in (0.4, 0.8)]
FULL = [Point(slow, load, 10, seed) for seed in (1, 2, 3) for slow in (50, 10) for load in (0.3, 0.6, 0.8)]


def run(quick: bool, console: Console) -> Contention:
    """Makes the lab, measures, prints the table, writes it and a figure below `runs/lab-wino`, and removes the lab.

    Raises:
        AnabranchError: no lab can be made here, or something in it refuses.

    """
    points = QUICK if quick else FULL
    steps = [(point, scheme) for point in points for scheme in SCHEMES]
    seconds = sum(point.duration_s + DRAIN_S // 2 for point, _ in steps)
    console.print(
        f"lab-wino: {len(steps)} runs over real TCP, about {-(-seconds // 60)} minutes", markup=False, highlight=False
    )
    rows: list[Row] = []
    meter = Meter()
    lab = Lab.up(SCENARIO, f"wino-{os.getpid()}")
    try:
        ceiling = ceiling_of(lab)
        most_bps = max(point.load * (100 + point.degraded_mbps) * 1e6 for point in points)
        if most_bps > HEADROOM * ceiling.tcp_bps(SWITCHES):
            carried = f"TCP over {SWITCHES} switches of this machine reaches {ceiling.tcp_bps(SWITCHES) / 1e6:.0f}"
            raise AnabranchError(f"load: {most_bps / 1e6:.0f} Mb/s offered, and {carried}; leave the machine to it")
        for host in lab.hosts.values():
            # Else the segments that TCP sends in one go bear one label.
            marking.single_segments(host.interface, enter=host.enter)
        with Bar("lab-wino", len(steps), quiet=not console.is_terminal) as bar:
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
    folder = Path("runs", "lab-wino-quick" if quick else "lab-wino")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "rows.csv", as_csv(rows))
    write(ceiling, folder)
    machine = contention.judge(meter)
    contention.write(machine, folder)
    draw(rows, folder / "afct.png")
    show(rows, console)
    most, carries = f"{most_bps / 1e6:.0f} Mb/s offered at most", f"{ceiling.tcp_bps(SWITCHES) / 1e6:.0f} Mb/s"
    console.print(f"{most}; TCP over {SWITCHES} switches of this machine: {carries}", markup=False, highlight=False)
    console.print(f"{folder}/rows.csv and afct.png have all of it", markup=False, highlight=False)
    return machine
