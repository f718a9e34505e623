"""Runs of a report as cells: a point on axes that one chooses from, and a seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from anabranch.report.page.material import ABSENT, SEED, Material, differing_settings, flatten
from anabranch.simulate.runs.results import Run
from anabranch.simulate.study.outcome import Cell, compared_axis, numeric, swept_axis

RUN_AXIS = "label.run"
"""Axis of runs that only their labels tell apart; beside it tables have a column `run`."""


@dataclass(frozen=True)
class Cells:
    """Every run of a report, and the axes that it stands on."""

    axes: dict[str, list[Any]]
    """Values by axis, in their order; axes with one value are left out."""
    seeds: list[int]
    cells: list[Cell]

    @property
    def points(self) -> list[tuple[Any, ...]]:
        """Points at which there is a run, in the order of the cells."""
        return list(dict.fromkeys(self.point_of(cell) for cell in self.cells))

    def point_of(self, cell: Cell) -> tuple[Any, ...]:
        """Values of a cell on the axes."""
        return tuple(cell.point[axis] for axis in self.axes)

    def at(self, point: tuple[Any, ...]) -> list[Cell]:
        """Cells of all seeds at a point."""
        return [cell for cell in self.cells if self.point_of(cell) == point]

    @property
    def compared(self) -> str | None:
        """Axis with a line for each of its values."""
        return compared_axis(self.axes) or next(iter(self.axes), None)

    @property
    def swept(self) -> str | None:
        """Axis of numbers that curves run along."""
        return swept_axis(self.axes)


def cells_of(material: Material) -> Cells:
    """Cells of a study, or of runs by the settings in which they differ: by their labels if these make no grid."""
    if material.study is not None:
        axes = {axis: values for axis, values in material.study.axes.items() if len(values) > 1}
        return Cells(axes, list(material.study.seeds), material.study.cells)
    (group,) = material.groups
    axes = _axes_of_runs(material.together)
    labels = [one.label for one in group.series]
    cells = []
    for label, runs in zip(labels, material.together, strict=True):
        settings = flatten(runs[0].scenario)
        point = {axis: _value(settings.get(axis, ABSENT), values) for axis, values in axes.items()}
        cells += [Cell(point or {RUN_AXIS: label}, int(run.scenario.get(SEED, 0)), run.folder) for run in runs]
    if not axes and len(labels) > 1:
        axes = {RUN_AXIS: labels}
    seeds = sorted({cell.seed for cell in cells}, key=str)
    return Cells(axes, seeds, cells)


def _axes_of_runs(together: Sequence[Sequence[Run]]) -> dict[str, list[Any]]:
    """Settings that differ, as axes, if every combination of their values is a series; numbers ascend.

    A setting that follows from another one is no axis: a load balancer's parameters follow from its name.
    """
    differing = differing_settings([runs[0] for runs in together])
    free = [key for key in differing if not any(_follows(differing, key, other) for other in differing)]
    combinations = set(zip(*(differing[key] for key in free), strict=True))
    if not free or len(combinations) < len(together) or prod(len(set(differing[key])) for key in free) > len(together):
        return {}
    axes: dict[str, list[Any]] = {}
    for key in free:
        texts = list(dict.fromkeys(differing[key]))
        values = [_number(text) for text in texts]
        axes[key] = sorted(values) if numeric(values) else texts
    return axes


def _follows(differing: Mapping[str, Sequence[str]], key: str, other: str) -> bool:
    """Whether the other setting tells the value of `key`; of two that tell each other the first stays."""
    if key == other:
        return False
    pairs = set(zip(differing[other], differing[key], strict=True))
    is_function = len(pairs) == len(set(differing[other]))
    mutual = is_function and len(pairs) == len(set(differing[key]))
    order = list(differing)
    return is_function and (not mutual or order.index(other) < order.index(key))


def _number(text: str) -> float | str:
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _value(text: str, values: Sequence[Any]) -> float | str:
    return _number(text) if numeric(list(values)) else text
