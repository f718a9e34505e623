"""All data of an explorable report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.report.page.explore.cells import cells_of
from anabranch.report.page.explore.curves import curves
from anabranch.report.page.explore.fabric_view import fabric_view
from anabranch.report.page.explore.flow_sizes import flow_sizes
from anabranch.report.page.explore.over_axis import over_axis
from anabranch.report.page.explore.traces import packed_traces
from anabranch.report.page.material import Material
from anabranch.simulate.stats.size_classes import SizeClass
from anabranch.simulate.study.outcome import short


def payload(material: Material, classes: Sequence[SizeClass], name: str) -> dict[str, Any]:
    """Data that `scripts/report.js` reads; what it leaves out to stay small, it says."""
    cells = cells_of(material)
    axes = list(cells.axes)
    index = {axis: {value: number for number, value in enumerate(values)} for axis, values in cells.axes.items()}
    return {
        "name": name,
        "axes": [{"name": short(axis), "values": list(map(str, values))} for axis, values in cells.axes.items()],
        "compared": axes.index(cells.compared) if cells.compared is not None else None,
        "swept": axes.index(cells.swept) if cells.swept is not None else None,
        "seeds": list(map(str, cells.seeds)),
        "points": [[index[axis][value] for axis, value in zip(axes, point, strict=True)] for point in cells.points],
        "classes": [one.label for one in classes],
        "curves": curves(cells, classes),
        "statistics": over_axis(cells, classes),
        "sizes": flow_sizes(cells),
        "fabric": fabric_view(cells),
        "traces": packed_traces(material),
    }
