"""Which runs have the same flows: only those may be set against each other seed by seed."""

from __future__ import annotations

from typing import Any

import polars as pl

from anabranch.files.toml_document import read_toml
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.lazily import collected
from anabranch.simulate.study.outcome import Cell, StudyOutcome

DEMAND = ("seed", "traffic", "fabric", "framing", "measure")
"""Tables of a scenario that decide which flows there are, when they begin, and which of them count."""


def unpaired(study: StudyOutcome) -> set[tuple[Any, ...]]:
    """Points, by the values of all axes, whose flows are others than the baseline's at the same point and seed.

    What asks for the same flows has them: equal tables are equal flows. Where they differ, flows are the same if they
    have the same hosts, sizes and starts in the same order, and the same of them are measured. Messages of jobs begin
    when those before them let them: their starts count only where other traffic is asked for.
    """
    baseline = study.axes["scheme"][0]
    others = [axis for axis in study.axes if axis != "scheme"]
    first = {_key(cell, others): cell for cell in study.cells if cell.point["scheme"] == baseline}
    schemes = set()
    for cell in study.cells:
        against = first.get(_key(cell, others))
        if against is None or against is cell or _same_flows(Run(cell.folder), Run(against.folder)):
            continue
        schemes.add(tuple(cell.point[axis] for axis in study.axes))
    return schemes


def _key(cell: Cell, axes: list[str]) -> tuple[Any, ...]:
    return (*(repr(cell.point[axis]) for axis in axes), cell.seed)


def _same_flows(one: Run, other: Run) -> bool:
    mine, its = _demand(one), _demand(other)
    if mine == its:
        return True
    start = pl.col("start_ns")
    if mine["traffic"] == its["traffic"]:
        start = pl.when(pl.col("job").is_null()).then(start)
    columns = ("src", "dst", "size_bytes", "measured", start.alias("start_ns"))
    flows, others = (collected(run.scanned_flows.select(columns)) for run in (one, other))
    return flows.equals(others)


def _demand(run: Run) -> dict[str, Any]:
    resolved = read_toml(run.folder / "scenario.toml")
    return {table: resolved.get(table) for table in DEMAND}
