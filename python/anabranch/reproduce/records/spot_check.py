"""Spot check of a record: some of its cells run again, drawn by chance, and their numbers compared.

A record is of the version that made it. Where cells that are run today give the same numbers to the bit, the others
are not expected to differ either: if one in p of a record's cells differed, a check of n finds one with 1 - (1 - p)^n.
"""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from anabranch._core import MODEL_VERSION
from anabranch.files.atomic_file import write_whole
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.records.record import MANIFEST, recorded
from anabranch.reproduce.values.cells import Cells

One = TypeVar("One")


@dataclass(frozen=True)
class SpotCheck:
    """What a spot check of one study has found."""

    group: Group
    cells: int = 0
    """Cells and seeds that ran again."""
    of: int = 0
    """Cells and seeds that the record has."""
    numbers: int = 0
    """Numbers that were compared."""
    differing: tuple[str, ...] = ()
    """Numbers that differ, in words."""
    why_not: str = ""
    """Why none ran; empty where some did."""

    @property
    def result(self) -> str:
        """The result as a sentence."""
        if self.why_not:
            return f"not checked: {self.why_not}"
        if self.differing:
            return f"{len(self.differing)} of {self.numbers} numbers differ: {self.differing[0]}"
        return f"the same {self.numbers} numbers, to the bit"


def draw(known: Sequence[One], count: int, seed: str) -> list[One]:
    """So many by chance, or all; the same for the same seed, in their own order."""
    chosen = random.Random(seed).sample(range(len(known)), min(count, len(known)))
    return [known[place] for place in sorted(chosen)]


def compared(group: Group, now: Cells, record: Cells, of: int) -> SpotCheck:
    """Cells that have run beside those of the record, which has numbers in single precision."""
    differing = []
    # Theory that came later has quantities that the record lacks.
    recorded_quantities = {quantity for _, _, quantity in record.numbers}
    numbers = {key: value for key, value in now.numbers.items() if key[2] in recorded_quantities}
    for key, value in numbers.items():
        cell, seed, quantity = key
        # Flows that do not matter to a quantity are not in the record.
        here = _words(value, now.unfinished.get(key) if key in record.unfinished else None)
        recorded = _words(record.numbers.get(key), record.unfinished.get(key))
        if here != recorded:
            place = ", ".join(f"{axis} {label}" for axis, label in zip(now.axes, cell, strict=True))
            differing.append(f"{place}, seed {seed}: {quantity.words}: {recorded} there, {here} here")
    cells = {(cell, seed) for cell, seed, _ in now.numbers}
    return SpotCheck(group, len(cells), of, len(numbers), tuple(differing))


def _words(value: float | None, left: tuple[int, int] | None) -> str:
    """A number with the nine digits that tell all numbers of single precision apart, and the flows that did not end."""
    number = "none" if value is None else f"{np.float32(value):.9g}"
    return number if left is None else f"{number} and {left[0]} of {left[1]} flows unfinished"


def keep(check: SpotCheck) -> None:
    """Writes into a record that this model's cells are the same.

    Raises:
        AnabranchError: it cannot be written.

    """
    record = recorded(check.group)
    assert record is not None, "it has been read"
    path = record.folder / MANIFEST
    manifest = json.loads(path.read_bytes())
    manifest["same"] = {
        "model_version": MODEL_VERSION,
        "cells": check.cells,
        "of": check.of,
        "date": datetime.date.today().isoformat(),
    }
    write_whole(path, json.dumps(manifest, indent=1) + "\n")
