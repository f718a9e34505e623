"""Advice on a study: effects about which its seeds disagree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anabranch.split.stats.confidence import paired_ratio

STATISTIC = "slowdown_mean"


def advice(table: pl.DataFrame, axes: Mapping[str, Sequence[Any]], compared: str | None, seeds: int) -> list[str]:
    """Sentences on comparisons that more seeds, or longer runs, would decide; none if all are decided.

    Args:
        table: A row per cell and size class, the class of all flows first.
        axes: Values by axis.
        compared: The axis whose values are compared with its first.
        seeds: Number of seeds.

    """
    if compared is None:
        return []
    if seeds == 1:
        return ["one seed: no interval, and no way to tell an effect from luck; hint: seeds = 5"]
    pairs = list(_pairs(table, axes, compared))
    torn = [(words, ratios) for words, ratios in pairs if np.ptp(np.log(ratios)) > abs(np.log(ratios).mean())]
    if not torn:
        return []
    words, ratios = min(torn, key=lambda pair: abs(np.log(pair[1]).mean()) / max(np.ptp(np.log(pair[1])), 1e-12))
    ratio = paired_ratio(ratios, np.ones_like(ratios))
    needed = ratio.seeds_needed
    more = f"; about {needed} seeds would decide it" if needed else ""
    return [
        f"two seeds disagree more than the effect in {len(torn)} of {len(pairs)} comparisons of the mean slowdown, "
        f"most of all {words}: its ratio is {ratios.min():.3g} under one seed and {ratios.max():.3g} under another, "
        f"{ratio.mean:.3g} on average{more}; hint: more seeds, or longer runs"
    ]


def _pairs(
    table: pl.DataFrame, axes: Mapping[str, Sequence[Any]], compared: str
) -> Iterator[tuple[str, npt.NDArray[np.float64]]]:
    """Points in words, and their ratios to the first value of the compared axis, seed by seed."""
    table = table.filter(pl.col("size_class") == table["size_class"][0])
    others = [axis for axis in axes if axis != compared]
    baseline = table.filter(pl.col(compared) == axes[compared][0])
    paired = table.filter(pl.col(compared) != axes[compared][0]).join(
        baseline.select(*others, "seed", pl.col(STATISTIC).alias("baseline")), on=[*others, "seed"]
    )
    paired = paired.drop_nulls([STATISTIC, "baseline"]).with_columns(ratio=pl.col(STATISTIC) / pl.col("baseline"))
    for point, part in paired.group_by(list(axes), maintain_order=True):
        if part.height > 1:
            words = ", ".join(f"{axis} {value}" for axis, value in zip(axes, point, strict=True))
            yield f"{words} against {axes[compared][0]}", part["ratio"].to_numpy()
