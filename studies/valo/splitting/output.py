"""Files of a run beside the report: every number as JSON, and what the figures show as CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from anabranch.report.page.csv_text import csv_text

from .accuracy import Point
from .job import Outcome


def deterministic(outcome: Outcome) -> dict[str, Any]:
    """Everything that is no time: the same seed gives the same numbers."""
    study, measured = outcome.study, outcome.measured
    return {
        "study": study.name,
        "quick": study.quick,
        "seed": study.seed,
        "trials": study.trials,
        "design_effect": measured.design_effect,
        "validation": [asdict(case) for case in measured.validation],
        "accuracy": {name: [_point(point) for point in points] for name, points in measured.accuracy.items()},
        "hashes": [asdict(over) for over in measured.hashes],
    }


def times(outcome: Outcome) -> dict[str, Any]:
    """Times, which depend on the machine and its mood."""
    measured = outcome.measured
    return {
        "seconds": outcome.seconds,
        "cost_by_load": [asdict(cost) for cost in measured.cost_by_load],
        "cost_by_paths": [asdict(cost) for cost in measured.cost_by_paths],
        "changes": [asdict(cost) for cost in measured.changes],
    }


def files(outcome: Outcome) -> dict[str, str]:
    """Texts by file name."""
    measured = outcome.measured
    return {
        "accuracy.csv": csv_text(
            ("experiment", "paths", "connections", "trial", "technique", "mape_pct", "byte_mape_pct", "floor_pct"),
            (row for name, points in measured.accuracy.items() for point in points for row in _trials(name, point)),
        ),
        "cost.csv": csv_text(
            ("sweep", *asdict(measured.cost_by_load[0])),
            (
                (sweep, *asdict(cost).values())
                for sweep, costs in (("connections", measured.cost_by_load), ("paths", measured.cost_by_paths))
                for cost in costs
            ),
        ),
        "changes.csv": csv_text(asdict(measured.changes[0]), (asdict(cost).values() for cost in measured.changes)),
        "results.json": json.dumps({**deterministic(outcome), "times": times(outcome)}, indent=1, allow_nan=False)
        + "\n",
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "paths": point.paths,
        "connections": point.connections,
        "floor_pct": float(point.floors.mean()),
        "mape_pct": {label: float(column.mean()) for label, column in point.mapes.items()},
        "mape_max_pct": {label: float(column.max()) for label, column in point.mapes.items()},
        "byte_mape_pct": {label: float(column.mean()) for label, column in point.byte_mapes.items()},
    }


def _trials(name: str, point: Point) -> Iterable[tuple[object, ...]]:
    for label, column in point.mapes.items():
        for trial, (error, by_bytes, floor) in enumerate(
            zip(column.tolist(), point.byte_mapes[label].tolist(), point.floors.tolist(), strict=True)
        ):
            yield name, point.paths, point.connections, trial, label, error, by_bytes, floor
