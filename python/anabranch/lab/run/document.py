"""Results of runs in a lab as plain data, for `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from anabranch.lab.calibration.contention import Contention
from anabranch.lab.run.beside import Pairs, shares, times, waiting
from anabranch.report.tables.run_record import record
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.size_classes import SizeClass


def one(run: Run, classes: Sequence[SizeClass], machine: Contention) -> dict[str, Any]:
    """The document of a simulated run, and whether the machine was quiet enough."""
    return record(run, classes) | {"machine": asdict(machine)}


def pairs(both: Pairs, classes: Sequence[SizeClass], machine: Contention) -> dict[str, Any]:
    """Lab and simulator side by side, and whether the machine was quiet enough."""
    return {
        "scale": both.scale,
        "runs": [
            {"seed": seed, "lab": str(lab.folder), "simulated": str(simulated.folder)}
            for seed, (lab, simulated) in enumerate(zip(both.lab, both.simulated, strict=True), 1)
        ],
        "unloaded": asdict(both.unloaded),
        "times": [asdict(row) for row in times(both, classes)],
        "links": [asdict(row) for row in shares(both)],
        "waiting": [asdict(row) for row in waiting(both)],
        "machine": asdict(machine),
    }
