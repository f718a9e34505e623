"""Statistics of every point: means over seeds with their intervals, to be drawn against an axis of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anabranch.report.page.explore.cells import Cells
from anabranch.report.page.explore.packed import pack
from anabranch.simulate.stats.fct import MEASURES, QUANTILES, STATISTICS
from anabranch.simulate.stats.size_classes import SizeClass
from anabranch.simulate.study.summary import cell_table, summarise


def over_axis(cells: Cells, classes: Sequence[SizeClass]) -> dict[str, Any]:
    """Means over seeds and half the widths of their 95 % intervals, by measure.

    Each has the shape (points, classes, statistics); NaN where a seed lacks the statistic, or where one seed has no
    interval. `names` are those of the statistics, `levels`
    those of quantiles.
    """
    axes = list(cells.axes)
    table = summarise(cell_table(cells.cells, classes), axes)
    rows = {(tuple(row[axis] for axis in axes), row["size_class"]): row for row in table.iter_rows(named=True)}
    packed: dict[str, Any] = {"names": list(STATISTICS), "levels": [QUANTILES.get(name) for name in STATISTICS]}
    for measure in MEASURES:
        columns = [f"{measure}_{name}" for name in STATISTICS]
        for key, ending in (("mean", ""), ("half", "_ci95")):
            of_points = [[rows[point, one.label] for one in classes] for point in cells.points]
            values = [[[row[f"{column}{ending}"] for column in columns] for row in part] for part in of_points]
            packed.setdefault(key, {})[measure] = pack(np.array(values, dtype=np.float64), "f8")
    return packed
