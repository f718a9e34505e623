"""The table over cells of a lab: means over repetitions, a part for each case, and what is not there."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich.console import Console

from anabranch.reproduce.backends.lab.cell_table import LAB, SIMULATOR, Column, as_csv, by_cell, figure, late, show


class Labels(NamedTuple):
    """Labels of a cell."""

    case: str
    scheme: str


@dataclass(frozen=True)
class Row:
    """Figures of a run."""

    where: str
    case: str
    scheme: str
    goodput_mbps: float
    late_p99_ms: float = 1.0


ROWS = [
    Row(LAB, "full", "hash", 10.0),
    Row(SIMULATOR, "full", "hash", 14.0),
    Row(SIMULATOR, "half", "hash", 9.0),
    Row(LAB, "full", "spray", math.nan),
    Row(LAB, "full", "hash", 13.0, late_p99_ms=7.4),
    Row(LAB, "full", "hash", math.nan, late_p99_ms=5.0),
]


def test_a_cell_is_what_the_lab_has_run_and_its_figure_the_mean_of_those_that_have_one() -> None:
    hashed, sprayed = by_cell(ROWS, lambda row: Labels(row.case, row.scheme))
    assert (hashed.cell, sprayed.cell) == (("full", "hash"), ("full", "spray"))
    assert (len(hashed.lab), len(hashed.simulated)) == (3, 1)
    assert (hashed.mean("goodput_mbps"), hashed.mean("goodput_mbps", SIMULATOR)) == (11.5, 14.0)
    assert math.isnan(sprayed.mean("goodput_mbps"))
    assert math.isnan(sprayed.mean("goodput_mbps", SIMULATOR))


def test_parts_stand_below_their_titles_and_notes_below_all() -> None:
    hashed, sprayed = by_cell(ROWS, lambda row: Labels(row.case, row.scheme))
    columns: tuple[Column[Any], ...] = (
        Column("scheme\n", lambda runs: runs.cell.scheme, number=False),
        figure("lab\nMb/s", "goodput_mbps", ".1f"),
        figure("sim.\n%", "goodput_mbps", "%", SIMULATOR),
    )
    console = Console(width=60, record=True, file=io.StringIO())
    show([("first [case]", [hashed, sprayed]), ("second", [sprayed])], columns, ["what it is"], console)
    lines = [line.split() for line in console.export_text().splitlines()]
    assert lines[:5] == [
        ["first", "[case]"],
        ["scheme", "lab", "sim."],
        ["Mb/s", "%"],
        ["hash", "11.5", "14.0"],
        ["spray", "-", "-"],
    ]
    assert lines[6] == ["second"]
    assert lines[-1] == ["what", "it", "is"]


def test_late_runs_are_counted_with_the_worst() -> None:
    assert late(ROWS, 5.0) == ["1 run sent 1 % of their traffic 5 to 7 ms late: a busy machine"]
    assert late(ROWS, 8.0) == []


def test_every_run_is_a_line_of_csv() -> None:
    header, first, *_, last = as_csv(ROWS, Row).splitlines()
    assert header == "where,case,scheme,goodput_mbps,late_p99_ms"
    assert (first, last) == ("lab,full,hash,10.0,1.0", "lab,full,hash,nan,5.0")
    assert as_csv([], Row) == f"{header}\n"
