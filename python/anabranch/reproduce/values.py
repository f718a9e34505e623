"""The numbers of all cells of a study, and why some cells have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anabranch.reproduce.quantity import Quantity, measured, unfinished
from anabranch.runs.folder import read_manifest
from anabranch.runs.results import Run
from anabranch.study.study import Study, table_values
from anabranch.study.sweep import Sweep

Place = tuple[Any, ...]
"""Labels in the order of the axes."""

LEFT_OUT = "--quick leaves it out"


def weightiest(missing: Sequence[str]) -> list[str]:
    """Reasons; what a quick study leaves out is told only where nothing else stands in the way."""
    return [one for one in missing if not one.endswith(LEFT_OUT)] or list(missing)


@dataclass(frozen=True)
class Values:
    """What was measured."""

    axes: dict[str, list[Any]]
    seeds: list[int]
    numbers: dict[tuple[Place, int, Quantity], float | None] = field(default_factory=dict)
    """None where a run has too few flows for a quantity."""
    unfinished: dict[tuple[Place, int, Quantity], tuple[int, int]] = field(default_factory=dict)
    """Flows that did not end, and all."""
    missing: dict[tuple[Place, int], str] = field(default_factory=dict)
    """Why a cell was not run."""
    left_out: dict[str, list[Any]] = field(default_factory=dict)
    """Values of the axes that the whole study has beside these."""

    def place(self, labels: Mapping[str, Any]) -> Place:
        """The labels of a cell in the order of the axes."""
        return tuple(labels[axis] for axis in self.axes)


def collect(sweep: Sweep, whole: Study, quantities: Iterable[Quantity], failed: Mapping[str, str]) -> Values:
    """Measures every run once; frames are let go of in between.

    Args:
        sweep: What has run.
        whole: The study before it was made small.
        quantities: What to measure.
        failed: Why cells could not be run, by the name of their folder.

    """
    axes = table_values(sweep.study.axes)
    left_out = {
        axis: [label for label in labels if label not in axes[axis]]
        for axis, labels in table_values(whole.axes).items()
    }
    values = Values(axes, sweep.study.seeds, left_out=left_out)
    wanted = list(dict.fromkeys(quantities))
    for refused in sweep.refused:
        values.missing[values.place(refused.point), refused.seed] = refused.reason
    for cell in sweep.cells:
        place = values.place(cell.point)
        if read_manifest(cell.folder) is None:
            values.missing[place, cell.seed] = failed.get(cell.folder.name, "it has not run")
            continue
        run = Run(cell.folder)
        for quantity in wanted:
            values.numbers[place, cell.seed, quantity] = measured(quantity, run)
            values.unfinished[place, cell.seed, quantity] = unfinished(quantity, run.flows)
    return values
