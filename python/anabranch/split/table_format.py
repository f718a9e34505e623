"""Tables as other programs read them: four bytes an entry for Katran and Cilium, rows for people."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np

from anabranch.files.errors import AnabranchError
from anabranch.split.request import Choice
from anabranch.split.table import Table


@dataclass(frozen=True)
class Reader:
    """A program that picks by `table[hash % length]`."""

    name: str
    length: int
    """Its default length."""
    lengths: tuple[int, ...]
    """All lengths that it takes."""


KATRAN = Reader("katran", 65537, (65537,))
CILIUM = Reader("cilium", 16381, (251, 509, 1021, 2039, 4093, 8191, 16381, 32749, 65521, 131071))


def default_technique(readers: list[Reader]) -> Choice:
    """The technique where none is given: the default one, of as many slots as the reader has."""
    slots = {reader.length for reader in readers}
    if len(slots) > 1:
        raise AnabranchError("katran, cilium: their tables have other lengths; call this once for each")
    return Choice("min-move", tuple(("slots", str(length)) for length in slots))


def entries(table: Table, reader: Reader) -> bytes:
    """Backend of each entry: unsigned, 4 bytes, in this machine's order, as BPF maps have them.

    Raises:
        AnabranchError: a length that the reader has not, or no numbers of backends.

    """
    length = table.paths.size
    if length not in reader.lengths:
        lengths = ", ".join(map(str, reader.lengths))
        raise AnabranchError(
            f"{reader.name}: a table of {length}; it reads {lengths}: give --technique min-move:slots={reader.length}"
        )
    if table.backends is None:
        raise AnabranchError(f"{reader.name}: no numbers of backends; give --backends, one per path, as in 11,12,13")
    return np.array(table.backends, dtype=np.uint32)[table.paths].tobytes()


def as_csv(table: Table) -> str:
    """One row per entry: its number, its path (from 1), and the backend of the path, if given."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["slot", "path", *(["backend"] if table.backends is not None else [])])
    for slot, path in enumerate(table.paths.tolist()):
        writer.writerow([slot, path + 1, *([table.backends[path]] if table.backends is not None else [])])
    return out.getvalue()
