"""Figures of a comparison, labelled by what its runs differ in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from anabranch.comparison.frames import NOT_PAIRED, STATISTICS, Frames
from anabranch.plot import dodged
from anabranch.stats.confidence import UNDECIDED
from anabranch.study.outcome import short

ALL = "all"
NAMES = {"slowdown_mean": "mean slowdown", "slowdown_p99": "slowdown p99"}


def draw_slowdowns(found: Frames) -> Figure:
    """Draws mean and p99 of the slowdown by load."""
    rows = [
        [
            dodged.Panel(title, _series(found, part, found.schemes, statistic))
            for title, part in _panels(found, found.table)
        ]
        for statistic in STATISTICS
    ]
    return dodged.draw(rows, _positions(found), _x_label(found), [NAMES[statistic] for statistic in STATISTICS])


def draw_differences(found: Frames) -> Figure:
    """Draws the ratios to the baseline, paired by seed; a mark is filled where the difference is decided."""
    rows = [
        [
            dodged.Panel(title, _series(found, part, found.schemes[1:]))
            for title, part in _panels(found, found.ratios.filter(statistic=statistic))
        ]
        for statistic in STATISTICS
    ]
    x_label = "; ".join(word for word in (_x_label(found), "hollow: undecided, or not paired") if word)
    names = [f"{NAMES[statistic]},\ntimes that of {found.baseline}" for statistic in STATISTICS]
    return dodged.draw(rows, _positions(found), x_label, names, first_style=1, ratios=True)


def _positions(found: Frames) -> list[str]:
    swept = found.study.swept_axis
    return [f"{value:g}" for value in found.study.axes[swept]] if swept else [""]


def _x_label(found: Frames) -> str:
    return short(found.study.swept_axis) if found.study.swept_axis else ""


def _panels(found: Frames, table: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Title and rows of all flows, for each combination of the axes that have no place in a panel."""
    every = table.filter(size_class=ALL)
    others = [axis for axis in found.study.axes if axis not in ("scheme", found.study.swept_axis)]
    for values in product(*(found.study.axes[axis] for axis in others)):
        rows = every
        for axis, value in zip(others, values, strict=True):
            rows = rows.filter(pl.col(short(axis)) == value)
        told = [(axis, value) for axis, value in zip(others, values, strict=True) if len(found.study.axes[axis]) > 1]
        yield ", ".join(f"{short(axis)} {value}" for axis, value in told), rows


def _series(
    found: Frames, part: pl.DataFrame, schemes: Sequence[str], statistic: str | None = None
) -> list[dodged.Points]:
    """Points of each scheme: a statistic with its interval, or ratios where there is none."""
    swept = found.study.swept_axis
    positions = found.study.axes[swept] if swept else [None]
    made = []
    for scheme in schemes:
        rows = {row[short(swept)] if swept else None: row for row in part.filter(scheme=scheme).iter_rows(named=True)}
        at = [rows.get(position) for position in positions]
        if statistic is None:
            ends = [
                (None, None, None) if row is None else (row["ratio"], row["ratio_low"], row["ratio_high"]) for row in at
            ]
            filled = [row is not None and row["verdict"] not in (None, UNDECIDED, NOT_PAIRED) for row in at]
        else:
            ends = [_interval(row, statistic) for row in at]
            filled = [True] * len(at)
        value, low, high = zip(*ends, strict=True)
        made.append(dodged.Points(scheme, value, low, high, filled))
    return made


def _interval(row: dict[str, Any] | None, statistic: str) -> tuple[float | None, float | None, float | None]:
    value, half = (None, None) if row is None else (row[statistic], row[f"{statistic}_ci95"])
    return value, *((None, None) if value is None or half is None else (value - half, value + half))
