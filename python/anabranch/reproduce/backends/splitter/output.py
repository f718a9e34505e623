"""What a run leaves behind: the report, results.json, and CSV of the table and of what the figures show."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from anabranch.atomic_file import write_whole
from anabranch.reproduce.splitting.accuracy import Point
from anabranch.reproduce.splitting.job import Outcome
from anabranch.reproduce.splitting.page import page


def deterministic(outcome: Outcome) -> dict[str, Any]:
    """Everything that is no time: the same seed gives the same numbers."""
    study, found = outcome.study, outcome.found
    return {
        "study": study.name,
        "quick": study.quick,
        "seed": study.seed,
        "trials": study.trials,
        "design_effect": found.design_effect,
        "validation": [asdict(case) for case in found.validation],
        "accuracy": {name: [_point(point) for point in points] for name, points in found.accuracy.items()},
        "hashes": [asdict(over) for over in found.hashes],
        "verdicts": [asdict(row) for row in outcome.rows if not row.timed],
    }


def times(outcome: Outcome) -> dict[str, Any]:
    """What depends on the machine and its mood."""
    found = outcome.found
    return {
        "seconds": outcome.seconds,
        "cost_by_load": [asdict(cost) for cost in found.cost_by_load],
        "cost_by_paths": [asdict(cost) for cost in found.cost_by_paths],
        "changes": [asdict(cost) for cost in found.changes],
        "verdicts": [asdict(row) for row in outcome.rows if row.timed],
    }


def write(outcome: Outcome, folder: Path, command: Sequence[str]) -> list[Path]:
    """Writes everything into `folder`, results.json last; returns what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    found = outcome.found
    files = {
        "report.html": page(outcome, command),
        "verdicts.csv": _csv(
            ("id", "what", "where", "unit", "paper", "ours", "ours_decent", "theory", "low", "high", "verdict"),
            (
                (r.id, r.what, r.where, r.unit, r.paper, r.ours, r.decent, r.theory, r.low, r.high, r.verdict)
                for r in outcome.rows
            ),
        ),
        "accuracy.csv": _csv(
            ("experiment", "paths", "connections", "trial", "technique", "mape_pct", "byte_mape_pct", "floor_pct"),
            (row for name, points in found.accuracy.items() for point in points for row in _trials(name, point)),
        ),
        "cost.csv": _csv(
            ("sweep", *asdict(found.cost_by_load[0])),
            (
                (sweep, *asdict(cost).values())
                for sweep, costs in (("connections", found.cost_by_load), ("paths", found.cost_by_paths))
                for cost in costs
            ),
        ),
        "changes.csv": _csv(asdict(found.changes[0]), (asdict(cost).values() for cost in found.changes)),
        "results.json": json.dumps(
            {"command": list(command), **deterministic(outcome), "times": times(outcome)}, indent=1, allow_nan=False
        )
        + "\n",
    }
    for name, text in files.items():
        write_whole(folder / name, text)
    return [folder / name for name in files]


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


def _csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
