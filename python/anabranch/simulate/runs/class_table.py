"""Completion times and slowdowns by size class, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anabranch.files.units import count, duration, significant
from anabranch.simulate.stats.fct import MEASURES, STATISTICS, by_class
from anabranch.simulate.stats.size_classes import SizeClass

if TYPE_CHECKING:
    import polars as pl

WORDS = {"fct_ns": "FCT", "slowdown": "slowdown"}
ABSENT = "-"


def class_rows(
    flows: pl.DataFrame | pl.LazyFrame, classes: Sequence[SizeClass] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table by size class."""
    header = ["size class", "flows", "unfinished"]
    header += [f"{WORDS[measure]} {name}" for measure in MEASURES for name in STATISTICS]
    rows = []
    for row in by_class(flows, classes).iter_rows(named=True):
        cells = [row["size_class"], count(row["flows"]), count(row["unfinished"])]
        for measure in MEASURES:
            write = duration if measure == "fct_ns" else significant
            values = [row[f"{measure}_{name}"] for name in STATISTICS]
            cells += [ABSENT if value is None else write(value) for value in values]
        rows.append(cells)
    return header, rows
