"""Quantiles of completion times and slowdowns at many levels: curves of every point, seed and size class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anabranch.report.page.explore.cells import Cells
from anabranch.report.page.explore.packed import pack
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.fct import MEASURES, QUANTILES
from anabranch.simulate.stats.lazily import collected, joined, numbers
from anabranch.simulate.stats.size_classes import SizeClass
from anabranch.simulate.stats.window import measured

LEVELS = np.unique(
    np.round(np.concatenate([np.arange(100) / 100, 0.99 + np.arange(10) / 1e3, 0.999 + np.arange(10) / 1e4, [1.0]]), 4)
)
"""Fractions of flows at which a curve has a point, closer towards the tail; 1 is the largest value."""
FEW_LEVELS = np.unique(np.concatenate([np.arange(0, 1, 0.05), [0.95, 0.98, 0.99, 0.995, 0.999, 1.0]]).round(4))
BYTES_MAX = 1_500_000
"""Largest size of all curves, before they become text."""


def curves(cells: Cells, classes: Sequence[SizeClass]) -> dict[str, Any]:
    """Curves as data: `levels` and, by measure, values of shape (points, choices, classes, levels).

    Choice 0 is the flows of all seeds together; the seeds follow if there are several, and if the page stays small
    enough (`by_seed`). Values are real flows' (nearest rank), NaN where too few flows finished for a level.
    `flows`, `unfinished` and `mean` have the shape (points, choices, classes).
    """
    points, seeds = cells.points, cells.seeds if len(cells.seeds) > 1 else []
    assert set(QUANTILES.values()) <= set(FEW_LEVELS) <= set(LEVELS)
    levels, by_seed = _resolution(len(points) * len(classes) * len(MEASURES), len(seeds))
    shape = (len(points), 1 + len(seeds) * by_seed, len(classes))
    values = {measure: np.full((*shape, len(levels)), np.nan) for measure in MEASURES}
    means = {measure: np.full(shape, np.nan) for measure in MEASURES}
    flows, unfinished = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for row, point in enumerate(points):
        frames = {cell.seed: _columns(Run(cell.folder).scanned_flows) for cell in cells.at(point)}
        choices = [joined(list(frames.values()))]
        choices += [frames.get(seed, choices[0].clear()) for seed in seeds] if by_seed else []
        for choice, frame in enumerate(choices):
            for number, one in enumerate(classes):
                of_class = frame.filter(one.holds()).select(pl.len(), pl.col("finished").sum())
                total, ended = collected(of_class).row(0)
                flows[row, choice, number] = total
                unfinished[row, choice, number] = total - ended
                for measure in MEASURES if ended else ():
                    sample = numbers(frame, pl.col(measure), one.holds() & pl.col("finished"))
                    means[measure][row, choice, number] = sample.mean()
                    values[measure][row, choice, number] = quantiles(sample, levels)
    return {
        "levels": levels.tolist(),
        "by_seed": by_seed,
        "flows": pack(flows, "u4"),
        "unfinished": pack(unfinished, "u4"),
        "mean": {measure: pack(array, "f8") for measure, array in means.items()},
        "values": {measure: pack(array, "f4") for measure, array in values.items()},
    }


def quantiles(values: npt.NDArray[np.float64], levels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Nearest-rank quantiles at `levels`; NaN where fewer than 1 / (1 - level) values cannot show one.

    The order of `values` changes, which saves a copy of them.
    """
    levels_of = np.quantile(values, levels, method="inverted_cdf", overwrite_input=True)
    few = (len(values) * (1 - levels) < 1 - 1e-9) & (levels < 1)
    return np.where(few, np.nan, levels_of)


def _columns(flows: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame | pl.LazyFrame:
    return measured(flows).select("size_bytes", "finished", *MEASURES)


def _resolution(rows: int, seeds: int) -> tuple[npt.NDArray[np.float64], bool]:
    """Levels, and whether each seed has curves of its own: the most that is small enough."""
    for levels, by_seed in ((LEVELS, True), (FEW_LEVELS, True), (LEVELS, False)):
        if rows * (1 + seeds * by_seed) * len(levels) * 4 <= BYTES_MAX:
            return levels, by_seed and seeds > 0
    return FEW_LEVELS, False
