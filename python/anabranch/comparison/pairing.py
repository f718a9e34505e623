"""Which runs have the same flows: only those may be set against each other seed by seed."""

from __future__ import annotations

import sys
from typing import Any

from anabranch.runs.results import Run
from anabranch.stats.lazily import collected
from anabranch.study.outcome import Cell, StudyOutcome

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEMAND = ("traffic", "fabric", "seed")
"""Tables of a scenario that decide when flows begin. Flows that wait for others begin when those let them."""


def unpaired(study: StudyOutcome) -> set[tuple[Any, ...]]:
    """Points, by the values of all axes, whose flows are others than the baseline's at the same point and seed.

    Flows are the same if they have the same hosts and sizes in the same order, and, where the scenarios ask for other
    traffic or have another fabric, the same starts.
    """
    baseline = study.axes["scheme"][0]
    others = [axis for axis in study.axes if axis != "scheme"]
    first = {_key(cell, others): cell for cell in study.cells if cell.point["scheme"] == baseline}
    found = set()
    for cell in study.cells:
        against = first.get(_key(cell, others))
        if against is None or against is cell or _same_flows(Run(cell.folder), Run(against.folder)):
            continue
        found.add(tuple(cell.point[axis] for axis in study.axes))
    return found


def _key(cell: Cell, axes: list[str]) -> tuple[Any, ...]:
    return (*(repr(cell.point[axis]) for axis in axes), cell.seed)


def _same_flows(one: Run, other: Run) -> bool:
    demands = [_demand(run) for run in (one, other)]
    columns = ["src", "dst", "size_bytes", *(["start_ns"] if demands[0] != demands[1] else [])]
    mine, its = (collected(run.scanned_flows.select(columns)) for run in (one, other))
    return mine.equals(its)


def _demand(run: Run) -> dict[str, Any]:
    with (run.folder / "scenario.toml").open("rb") as file:
        resolved = tomllib.load(file)
    return {table: resolved.get(table) for table in DEMAND}
