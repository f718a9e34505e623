"""Fabrics over time: every run that the page has room for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.report.page.explore.cells import Cells
from anabranch.report.page.explore.fabric_shape import Carrier, carriers, shape
from anabranch.report.page.explore.port_times import BYTES, port_times
from anabranch.report.page.explore.slowest_flows import slowest_flows
from anabranch.report.plot.heat import STOPS
from anabranch.simulate.runs.results import Run
from anabranch.simulate.study.outcome import Cell, short

BYTES_MAX = 1_200_000
"""Largest size of all times, before they become text."""
INTERVALS_MIN = 40
"""Intervals that a run should have, or fewer runs are shown; a run with fewer has them all."""
RUNS_MAX = 8
"""Number of runs that are shown however coarse their intervals become."""


def fabric_view(cells: Cells) -> dict[str, Any]:
    """Shapes of the fabrics, and runs with the number of their shape, their times and slowest flows.

    `left_out` says how many runs there was no room for.
    """
    drawn: dict[str, int] = {}
    shapes: list[dict[str, Any]] = []
    lines: list[list[Carrier]] = []
    of_cell: list[int] = []
    for cell in cells.cells:
        topology = Run(cell.folder).topology
        key = json.dumps(topology, sort_keys=True)
        if key not in drawn:
            drawn[key] = len(shapes)
            shapes.append(shape(topology))
            lines.append(carriers(topology))
        of_cell.append(drawn[key])
    sizes = [len(lines[number]) * BYTES for number in of_cell]
    chosen, intervals_max = _chosen(cells, sizes)
    runs = []
    for index in chosen:
        cell, run = cells.cells[index], Run(cells.cells[index].folder)
        runs.append(
            {
                "label": _label(cells, cell),
                "shape": of_cell[index],
                "times": port_times(run.ports, lines[of_cell[index]], intervals_max),
                "flows": slowest_flows(run),
            }
        )
    return {"shapes": shapes, "runs": runs, "left_out": len(cells.cells) - len(chosen), "heat": list(STOPS)}


def _chosen(cells: Cells, sizes: Sequence[int]) -> tuple[list[int], int]:
    """Numbers of the shown cells, and intervals of each: all cells, or one of each point, or a few of these."""
    first = {cells.point_of(cell): index for index, cell in reversed(list(enumerate(cells.cells)))}
    of_points = sorted(first.values())
    for indexes in (list(range(len(sizes))), of_points):
        intervals = BYTES_MAX // sum(sizes[index] for index in indexes)
        if intervals >= INTERVALS_MIN:
            return indexes, intervals
    few = _compared(cells, first)
    return few, max(1, BYTES_MAX // sum(sizes[index] for index in few))


def _compared(cells: Cells, first: Mapping[tuple[Any, ...], int]) -> list[int]:
    """Numbers of a few cells that differ in what is compared alone, its first value, the baseline, among them.

    All other axes have their last values, as in figures: the highest load. `first` has a cell of each point.
    """
    names = list(cells.axes)
    at = names.index(cells.compared) if cells.compared in names else None
    last = max(first, key=lambda point: first[point])

    def alike(point: tuple[Any, ...]) -> bool:
        return all(index == at or value == last[index] for index, value in enumerate(point))

    of_values = sorted(index for point, index in first.items() if alike(point))
    return of_values[:1] + of_values[1:][-(RUNS_MAX - 1) :]


def _label(cells: Cells, cell: Cell) -> str:
    """Point and seed in words."""
    words = [f"{short(axis)} {value}" for axis, value in zip(cells.axes, cells.point_of(cell), strict=True)]
    return ", ".join([*words, f"seed {cell.seed}"] if len(cells.seeds) > 1 else words)
