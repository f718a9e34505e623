"""Cells as parts of a record: one row per cell and seed, one column per quantity."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import polars as pl

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.records.record import Record
from anabranch.reproduce.values.cells import Cell, Cells

NUMBERS, AXES = "cells.parquet", "cells.json"
LEFT, OF = "unfinished: ", "flows: "
"""Prefixes of the columns that count flows by quantity."""


def parts(cells: Cells) -> dict[str, bytes]:
    """Files of a record: numbers in single precision, axes with their values, and why cells are missing.

    Raises:
        AnabranchError: a run has passed a bound; what is wrong is not recorded.

    """
    if cells.broken:
        raise AnabranchError(f"record: ours is wrong: {next(iter(cells.broken.values()))}")
    quantities = list(dict.fromkeys(quantity for _, _, quantity in cells.numbers))
    keys = list(dict.fromkeys((cell, seed) for cell, seed, _ in cells.numbers))
    columns: dict[str, pl.Series] = {
        axis: pl.Series(axis, [str(cell[at]) for cell, _ in keys], dtype=pl.String)
        for at, axis in enumerate(cells.axes)
    }
    columns["seed"] = pl.Series("seed", [seed for _, seed in keys], dtype=pl.Int32)
    for quantity in quantities:
        name = column(quantity)
        if name in columns:
            raise AnabranchError(f"record: two quantities are called `{name}`; give their size classes other names")
        columns[name] = pl.Series(name, [cells.numbers.get((*key, quantity)) for key in keys], dtype=pl.Float32)
        if quantity.counts_finished and any((*key, quantity) in cells.unfinished for key in keys):
            counts = [cells.unfinished.get((*key, quantity), (0, 0)) for key in keys]
            for prefix, values in zip((LEFT, OF), zip(*counts, strict=True), strict=True):
                columns[prefix + name] = pl.Series(prefix + name, values, dtype=pl.Int32)
    table = io.BytesIO()
    pl.DataFrame(list(columns.values())).write_parquet(table, compression="zstd", compression_level=19)
    missing = [
        {"cell": [str(label) for label in cell], "seed": seed, "why": why} for cell, seed, why in _missing(cells)
    ]
    about = {"axes": cells.axes, "seeds": cells.seeds, "bounded": cells.bounded, "missing": missing}
    return {NUMBERS: table.getvalue(), AXES: (json.dumps(about, indent=1) + "\n").encode()}


def _missing(cells: Cells) -> Iterator[tuple[Cell, int | None, str]]:
    """Cells and seeds that have not run, and why; no seed stands for all of them, for one reason."""
    for cell in dict.fromkeys(cell for cell, _ in cells.missing):
        reasons = {seed: cells.missing[cell, seed] for seed in cells.seeds if (cell, seed) in cells.missing}
        if len(reasons) == len(cells.seeds) and len(set(reasons.values())) == 1:
            yield cell, None, next(iter(reasons.values()))
        else:
            yield from ((cell, seed, why) for seed, why in reasons.items())


def read(record: Record, quantities: Iterable[Quantity], optional: Collection[Quantity] = ()) -> Cells:
    """The cells of a record, with the quantities that are asked for; without those of `optional` that it lacks.

    Raises:
        AnabranchError: the record lacks a quantity, or cannot be read.

    """
    with record.reading():
        return _read(record, quantities, optional)


def _read(record: Record, quantities: Iterable[Quantity], optional: Collection[Quantity]) -> Cells:
    about = record.document(AXES)
    table = record.table(NUMBERS)
    axes: dict[str, list[Any]] = about["axes"]
    labels = {axis: {str(label): label for label in known} for axis, known in axes.items()}

    def cell(texts: Iterable[str]) -> Cell:
        return tuple(labels[axis][text] for axis, text in zip(axes, texts, strict=True))

    rows = table.select(*axes).rows() if axes else [()] * table.height
    keys = list(zip(map(cell, rows), table["seed"].to_list(), strict=True))
    missing = {
        (cell(one["cell"]), seed): one["why"]
        for one in about["missing"]
        for seed in (about["seeds"] if one["seed"] is None else [one["seed"]])
    }
    cells = Cells(axes, about["seeds"], missing=missing, bounded=about["bounded"])
    # A study of which no cell has run with all its seeds has no column either.
    for quantity in dict.fromkeys(quantities) if keys else ():
        name = column(quantity)
        if name not in table.columns and quantity in optional:
            continue
        if name not in table.columns:
            raise AnabranchError(f"{record.folder}: it has no {name}, which a claim measures; record the study again")
        cells.numbers.update({(*key, quantity): number for key, number in zip(keys, table[name], strict=True)})
        if LEFT + name in table.columns:
            counts = zip(table[LEFT + name], table[OF + name], strict=True)
            cells.unfinished.update({(*key, quantity): both for key, both in zip(keys, counts, strict=True)})
    return cells


def column(quantity: Quantity) -> str:
    """Column of a quantity: its words, and the ports, their weights, and the counts where it is of some."""
    words = quantity.words
    for before, names in (
        (" of ", quantity.ports),
        (" in ", quantity.out_of),
        (" by ", [f"{weight:g}" for weight in quantity.weights]),
        (": ", quantity.counts),
    ):
        words += before + ", ".join(names) if names else ""
    return words
