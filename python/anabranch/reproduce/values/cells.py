"""Cells: numbers of every combination of a study's axes and seeds, and why some cells have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.reproduce.claims.quantity import Quantity

Cell = tuple[Any, ...]
"""Labels in the order of the axes."""

LEFT_OUT = "--quick leaves it out"
NOT_RECORDED = "the record is older than this theory"


def weightiest(missing: Sequence[str]) -> list[str]:
    """Reasons; what a quick study leaves out is told only where nothing else stands in the way."""
    return [one for one in missing if not one.endswith(LEFT_OUT)] or list(missing)


@dataclass(frozen=True)
class Cells:
    """Numbers of a study by cell, seed and quantity."""

    axes: dict[str, list[Any]]
    seeds: list[int]
    numbers: dict[tuple[Cell, int, Quantity], float | None] = field(default_factory=dict)
    """None where a run has too few flows for a quantity."""
    unfinished: dict[tuple[Cell, int, Quantity], tuple[int, int]] = field(default_factory=dict)
    """Flows that did not end, and all; not given where flows do not matter."""
    missing: dict[tuple[Cell, int], str] = field(default_factory=dict)
    """Reason why a cell was not run."""
    bounded: bool = False
    """Whether every run was checked against the bounds that no network can pass."""
    broken: dict[tuple[Cell, int], str] = field(default_factory=dict)
    """Bound that a run has passed."""
    left_out: dict[str, list[Any]] = field(default_factory=dict)
    """Values of the axes that the whole study has beside these."""

    def whole(self) -> Cells:
        """The cells that have run with every seed; those that lack one count as not run."""
        reasons = {cell: why for (cell, _), why in self.missing.items()}
        missing = {
            (cell, seed): self.missing.get((cell, seed), why) for cell, why in reasons.items() for seed in self.seeds
        }
        numbers = {key: number for key, number in self.numbers.items() if key[0] not in reasons}
        unfinished = {key: counts for key, counts in self.unfinished.items() if key[0] not in reasons}
        return replace(self, numbers=numbers, unfinished=unfinished, missing=missing)

    def cell(self, labels: Mapping[str, Any]) -> Cell:
        """Labels in the order of the axes."""
        return tuple(labels[axis] for axis in self.axes)
