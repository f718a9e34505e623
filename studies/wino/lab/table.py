"""The rows as a table, and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from statistics import fmean

from rich.console import Console
from rich.table import Table

from anabranch.lab.calibration.contention import LATE_MAX_MS

from .cases import ASYMMETRIES, WORKLOADS
from .measure import LAB, SIMULATOR, Row
from .schemes import SCHEMES, Scheme

COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("AFCT", "afct_ms", ".0f"),
    ("mice", "mice_ms", ".1f"),
    ("p99", "p99_ms", ".0f"),
    ("eleph.", "elephants_mbps", ".1f"),
    ("all", "goodput_mbps", ".0f"),
    ("again", "retransmitted_pct", ".1f"),
    ("needless", "spurious_pct", ".0f"),
    ("behind", "out_of_order_pct", ".0f"),
    ("seen", "reorderings", ".0f"),
    ("RTOs", "timeouts", ".0f"),
    ("unfin.", "unfinished", ".0f"),
)
MEANINGS = (
    "AFCT (mean), mice (<= 10 KB; of data mining 1 KB) and p99: FCT in ms; eleph. (>= 1 MB; of data mining 100 KB)",
    "and all: goodput in Mb/s; again: % of segments",
    "that were retransmissions; needless: % of those that the receiver had (DSACK); behind: % that came behind a gap;",
    "seen: reorderings that senders saw; RTOs: timeouts; unfin.: flows that did not end in time and are in no mean",
)


def mean(rows: Iterable[Row], value: Callable[[Row], float]) -> float:
    """Over the repetitions that have one."""
    found = [value(row) for row in rows if not math.isnan(value(row))]
    return fmean(found) if found else math.nan


Place = tuple[str, str, float]
"""Fabric, workload and load."""


def of(rows: Sequence[Row], where: str, scheme: str, point: Place) -> list[Row]:
    """The repetitions of one point."""
    wanted = where, scheme, *point
    return [row for row in rows if (row.where, row.scheme, row.fabric, row.workload, row.load) == wanted]


def points(rows: Sequence[Row]) -> list[Place]:
    """Fabric, workload and load of every point, in order."""
    fabrics, workloads = list(ASYMMETRIES), list(WORKLOADS)
    found = {(row.fabric, row.workload, row.load) for row in rows}
    return sorted(found, key=lambda point: (workloads.index(point[1]), fabrics.index(point[0]), point[2]))


def schemes(rows: Sequence[Row], point: Place) -> list[Scheme]:
    """Schemes that were run at a point, in order."""
    return [scheme for scheme in SCHEMES if of(rows, LAB, scheme.name, point)]


def show(rows: Sequence[Row], console: Console) -> None:
    """Prints everything."""
    for point in points(rows):
        run = schemes(rows, point)
        flows = sum(row.flows for row in of(rows, LAB, run[0].name, point)) if run else 0
        title = f"{point[0]} Mb/s, {point[1]}" if ASYMMETRIES[point[0]].degraded_mbps else f"{point[0]}, {point[1]}"
        console.print(f"{title}, load {point[2]:g} of what is left, {flows} flows", style="bold")
        table = Table(box=None, pad_edge=False)
        table.add_column("scheme", no_wrap=True)
        for heading in ("AFCT, simulated", *(heading for heading, _, _ in COLUMNS)):
            table.add_column(heading, justify="right")
        for scheme in run:
            simulated = mean(of(rows, SIMULATOR, scheme.name, point), lambda row: row.afct_ms)
            lab = of(rows, LAB, scheme.name, point)
            cells = [_cell(lab, name, form) for _, name, form in COLUMNS]
            table.add_row(scheme.name, format(simulated, ".0f"), *cells)
        console.print(table)
        console.print()
    names = [f"{scheme.name}: {scheme.what}" for scheme in SCHEMES]
    for line in (*MEANINGS, "; ".join(names[:3]), "; ".join(names[3:]), *gains(rows), *warnings(rows)):
        console.print(line, markup=False, highlight=False)


def gains(rows: Sequence[Row]) -> list[str]:
    """Mean completion times of Wino against the others, from the least to the most over loads."""
    found = [""]
    every = points(rows)
    for case in dict.fromkeys(point[:2] for point in every):
        of_case = [point for point in every if point[:2] == case]
        run = [scheme.name for scheme in schemes(rows, of_case[0])]
        for name in (one for one in run if one.startswith("wino-")):
            against = []
            for other in (one for one in run if not one.startswith("wino-")):
                more = [100 * (_afct(rows, name, point) / _afct(rows, other, point) - 1) for point in of_case]
                against.append(f"{other} {min(more):+.0f} to {max(more):+.0f} %")
            found.append(f"{', '.join(case)}, {name}: AFCT against {', '.join(against)}")
    return found


def warnings(rows: Sequence[Row]) -> list[str]:
    """Reasons why the figures are worth less than they look."""
    late = [row for row in rows if row.late_p99_ms > LATE_MAX_MS]
    if not late:
        return []
    worst = max(row.late_p99_ms for row in late)
    return [f"{len(late)} runs began 1 % of their flows {LATE_MAX_MS:g} to {worst:.0f} ms late: the machine was busy"]


def as_csv(rows: Sequence[Row]) -> str:
    """One line per run."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()


def _afct(rows: Sequence[Row], scheme: str, point: Place) -> float:
    return mean(of(rows, LAB, scheme, point), lambda row: row.afct_ms)


def _cell(rows: Sequence[Row], name: str, form: str) -> str:
    found = mean(rows, lambda row: float(getattr(row, name)))
    return "-" if math.isnan(found) else format(found, form)
