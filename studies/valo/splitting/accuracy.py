"""Accuracy: trials with random weights and freshly sampled connections, every technique on the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.split.splitter import Splitter
from anabranch.split.stats.mape import mape_floor

from .connections import Pool, draw_weights
from .study import Study, Sweep
from .theory import mapes

Floats = npt.NDArray[np.float64]
Report = Callable[[int], None]
"""Called after a trial with the decisions it took."""


@dataclass(frozen=True)
class Point:
    """All trials at one number of paths and connections; arrays have shape (trials,), errors are in percent."""

    paths: int
    connections: int
    floors: Floats
    mapes: dict[str, Floats]
    """MAPEs by the technique's label."""
    byte_mapes: dict[str, Floats]


def sweep(study: Study, pool: Pool, asked: Sweep, workers: ThreadPoolExecutor, report: Report) -> list[Point]:
    """Runs a sweep; the order in which threads finish changes nothing."""
    return [_point(study, pool, asked.name, point, workers, report) for point in asked.points]


def _point(
    study: Study, pool: Pool, name: str, point: tuple[int, int], workers: ThreadPoolExecutor, report: Report
) -> Point:
    paths, connections = point

    def trial(number: int) -> Floats:
        row = _trial(study, pool, name, paths, connections, number)
        report(connections * len(study.techniques))
        return row

    rows = np.stack(list(workers.map(trial, range(study.trials))))
    labels = [technique.label for technique in study.techniques]
    return Point(
        paths=paths,
        connections=connections,
        floors=rows[:, 0, 0],
        mapes={label: rows[:, 1 + at, 0] for at, label in enumerate(labels)},
        byte_mapes={label: rows[:, 1 + at, 1] for at, label in enumerate(labels)},
    )


def _trial(study: Study, pool: Pool, name: str, paths: int, connections: int, number: int) -> Floats:
    """Floor, then MAPE by connections and by bytes of each technique; shape (1 + techniques, 2)."""
    weights = draw_weights(study, paths, number, name, connections)
    asked = np.array(weights) / sum(weights)
    rows = pool.rows(connections, number, name, paths)
    keys, sizes = pool.keys(rows, number), pool.bytes[rows]
    sums = np.array(list(_sums(study, weights, keys, sizes)))
    return np.vstack([[mape_floor(asked, connections), 0.0], mapes(asked, sums)])


def _sums(
    study: Study, weights: list[int], keys: npt.NDArray[np.uint64], sizes: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Connections and bytes on each path, by every technique."""
    paths = len(weights)
    for technique in study.techniques:
        picked = Splitter(technique.name, weights, None, **dict(technique.parameters)).pick(keys).astype(np.intp)
        yield (
            np.bincount(picked, minlength=paths).astype(np.float64),
            np.bincount(picked, sizes, paths).astype(np.float64),
        )
