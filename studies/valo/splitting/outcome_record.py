"""Outcome of a study of splitting as parts of a record: trials as a table, times as JSON.

Counts of connections and the quality of hashes are computed again: they take a second, and the same seed gives the
same numbers.
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from typing import Any

import polars as pl

from anabranch.reproduce.records.record import Record

from .accuracy import Point
from .cost import ChangeCost, Cost
from .hash_quality import hash_quality
from .job import Outcome, outcome
from .measures import Measured
from .study import Study
from .validation import validate

TRIALS, TIMES = "trials.parquet", "times.json"
POINT = ("experiment", "paths", "connections")
FLOOR = "floor"
BYTES = " by bytes"
"""Ending of the columns of errors by bytes; those by connections are called by the technique alone."""


def parts(outcome: Outcome) -> dict[str, bytes]:
    """Files of a record; errors are percentages, in full precision, for theory expects some exactly."""
    frames = []
    for experiment, points in outcome.measured.accuracy.items():
        for point in points:
            columns = {FLOOR: point.floors, **point.mapes}
            columns |= {label + BYTES: errors for label, errors in point.byte_mapes.items()}
            where = dict(zip(POINT, (experiment, point.paths, point.connections), strict=True))
            frame = pl.DataFrame(columns)
            frames.append(frame.select(*(pl.lit(value).alias(name) for name, value in where.items()), pl.all()))
    table = io.BytesIO()
    pl.concat(frames).write_parquet(table, compression="zstd", compression_level=19)
    measured = outcome.measured
    times = {
        "seconds": outcome.seconds,
        "design_effect": measured.design_effect,
        "cost_by_load": [asdict(cost) for cost in measured.cost_by_load],
        "cost_by_paths": [asdict(cost) for cost in measured.cost_by_paths],
        "changes": [asdict(cost) for cost in measured.changes],
    }
    return {TRIALS: table.getvalue(), TIMES: (json.dumps(times) + "\n").encode()}


def read(study: Study, record: Record) -> Outcome:
    """The outcome of a record.

    Raises:
        AnabranchError: it cannot be read.

    """
    with record.reading():
        return _read(study, record)


def _read(study: Study, record: Record) -> Outcome:
    times = record.document(TIMES)
    accuracy: dict[str, list[Point]] = {}
    table = record.table(TRIALS)
    for (experiment, paths, connections), trials in table.group_by(*POINT, maintain_order=True):
        columns = {name: trials[name].to_numpy() for name in trials.columns if name not in POINT}
        labels = [name for name in columns if name != FLOOR and not name.endswith(BYTES)]
        point = Point(
            paths=int(str(paths)),
            connections=int(str(connections)),
            floors=columns[FLOOR],
            mapes={label: columns[label] for label in labels},
            byte_mapes={label: columns[label + BYTES] for label in labels},
        )
        accuracy.setdefault(str(experiment), []).append(point)
    by_load, by_paths = ([Cost(**_tuples(one)) for one in times[name]] for name in ("cost_by_load", "cost_by_paths"))
    measured = Measured(
        design_effect=times["design_effect"],
        validation=validate(study),
        accuracy=accuracy,
        hashes=hash_quality(study),
        cost_by_load=by_load,
        cost_by_paths=by_paths,
        changes=[ChangeCost(**_tuples(one)) for one in times["changes"]],
    )
    return outcome(study, measured, times["seconds"])


def _tuples(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has lists where the classes have tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
