"""Slowdown against flow size, for every point."""

from __future__ import annotations

from typing import Any

import numpy as np

from anabranch.report.page.explore.cells import Cells
from anabranch.report.page.explore.packed import pack
from anabranch.report.plot.slowdown_sizes import FLOWS_PER_BIN, SHOWN
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.fct import QUANTILES, by_size
from anabranch.simulate.stats.lazily import joined


def flow_sizes(cells: Cells) -> dict[str, Any]:
    """Bins of equally many flows of all seeds, by point: median size, and slowdown at the quantiles in `names`.

    `sizes` has the shape (points, bins), `slowdown` (points, quantiles, bins); NaN where a point has fewer bins.
    """
    curves = []
    for point in cells.points:
        flows = joined([Run(cell.folder).scanned_flows for cell in cells.at(point)])
        curves.append(by_size(flows, [QUANTILES[name] for name in SHOWN], FLOWS_PER_BIN))
    bins = max(len(sizes) for sizes, _ in curves)
    sizes = np.full((len(curves), bins), np.nan)
    slowdown = np.full((len(curves), len(SHOWN), bins), np.nan)
    for row, (middles, values) in enumerate(curves):
        sizes[row, : len(middles)] = middles
        slowdown[row, :, : values.shape[1]] = values
    return {"names": list(SHOWN), "sizes": pack(sizes, "f4"), "slowdown": pack(slowdown, "f4")}
