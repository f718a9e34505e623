"""The cells on a terminal: lab beside simulator, and mean completion times of Wino against the others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from rich.console import Console

from anabranch.lab.calibration.contention import LATE_MAX_MS
from anabranch.reproduce.backends.lab import cell_table
from anabranch.reproduce.backends.lab.cell_table import SIMULATOR, CellRuns, Column, by_cell, figure

from .cases import ASYMMETRIES, WORKLOADS
from .measure import Row
from .schemes import SCHEMES

COLUMNS: tuple[Column[CellRuns[Row]], ...] = (
    Column("scheme\n", lambda runs: runs.cell.scheme, number=False),
    figure("AFCT,\nsimulated", "afct_ms", ".0f", SIMULATOR),
    figure("AFCT\n", "afct_ms", ".0f"),
    figure("mice\n", "mice_ms", ".1f"),
    figure("p99\n", "p99_ms", ".0f"),
    figure("eleph.\n", "elephants_mbps", ".1f"),
    figure("all\n", "goodput_mbps", ".0f"),
    figure("again\n", "retransmitted_pct", ".1f"),
    figure("needless\n", "spurious_pct", ".0f"),
    figure("behind\n", "out_of_order_pct", ".0f"),
    figure("seen\n", "reorderings", ".0f"),
    figure("RTOs\n", "timeouts", ".0f"),
    figure("unfin.\n", "unfinished", ".0f"),
)
MEANINGS = (
    "AFCT (mean), mice (<= 10 KB; of data mining 1 KB) and p99: FCT in ms; eleph. (>= 1 MB; of data mining 100 KB)",
    "and all: goodput in Mb/s; again: % of segments",
    "that were retransmissions; needless: % of those that the receiver had (DSACK); behind: % that came behind a gap;",
    "seen: reorderings that senders saw; RTOs: timeouts; unfin.: flows that did not end in time and are in no mean",
)


class Labels(NamedTuple):
    """Labels of a cell."""

    workload: str
    fabric: str
    load: float
    scheme: str


def cells(rows: Sequence[Row]) -> list[CellRuns[Row]]:
    """Cells that the lab has run, by workload, fabric, load and scheme as these are listed."""
    listed = [list(WORKLOADS), list(ASYMMETRIES), None, [scheme.name for scheme in SCHEMES]]
    runs = by_cell(rows, lambda row: Labels(row.workload, row.fabric, row.load, row.scheme))
    return sorted(
        runs,
        key=lambda one: [
            label if names is None else names.index(label) for label, names in zip(one.cell, listed, strict=True)
        ],
    )


def points(rows: Sequence[Row]) -> dict[tuple[str, str, float], list[CellRuns[Row]]]:
    """Cells of every workload, fabric and load."""
    return {point: list(some) for point, some in groupby(cells(rows), key=lambda one: one.cell[:3])}


def show(rows: Sequence[Row], console: Console) -> None:
    """Prints everything."""
    parts = []
    for (workload, fabric, load), some in points(rows).items():
        rate = f"{fabric} Mb/s" if ASYMMETRIES[fabric].degraded_mbps else fabric
        flows = sum(row.flows for row in some[0].lab)
        parts.append((f"{rate}, {workload}, load {load:g} of what is left, {flows} flows", some))
    names = [f"{scheme.name}: {scheme.what}" for scheme in SCHEMES]
    notes = [
        *MEANINGS,
        "; ".join(names[:3]),
        "; ".join(names[3:]),
        "",
        *gains(rows),
        *cell_table.late(rows, LATE_MAX_MS),
    ]
    cell_table.show(parts, COLUMNS, notes, console)


def gains(rows: Sequence[Row]) -> list[str]:
    """Mean completion times of Wino against the others, from the least to the most over loads."""
    lines = []
    for (workload, fabric), some in groupby(cells(rows), key=lambda one: one.cell[:2]):
        times: dict[str, dict[float, float]] = {}
        for one in some:
            times.setdefault(one.cell.scheme, {})[one.cell.load] = one.mean("afct_ms")
        others = [name for name in times if not name.startswith("wino-")]
        for name in (name for name in times if name.startswith("wino-")):
            against = []
            for other in others:
                more = [100 * (times[name][load] / times[other][load] - 1) for load in times[name]]
                against.append(f"{other} {min(more):+.0f} to {max(more):+.0f} %")
            lines.append(f"{fabric}, {workload}, {name}: AFCT against {', '.join(against)}")
    return lines
