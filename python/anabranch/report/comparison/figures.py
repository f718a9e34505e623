"""Figures of a comparison, labelled by what its runs differ in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from anabranch.report.comparison.frames import NOT_PAIRED, Frames
from anabranch.report.plot import dodged
from anabranch.simulate.study.criteria import Criterion, class_words
from anabranch.simulate.study.outcome import short
from anabranch.split.stats.confidence import UNDECIDED


def draw_values(frames: Frames, criteria: Sequence[Criterion]) -> Figure:
    """Draws a measure by load: a row for each statistic, a panel for each size class and value of other axes."""
    measure, by_statistic = criteria[0].measure, _by_statistic(criteria)
    rows = [
        [
            dodged.Panel(title, [_values(frames, part, scheme, one) for scheme in frames.schemes])
            for one in row
            for title, part in _panels(frames, frames.table, one, len(row) > 1)
        ]
        for row in by_statistic.values()
    ]
    labels = [f"{statistic} {measure.axis}" for statistic in by_statistic]
    return dodged.draw(rows, _positions(frames), _x_label(frames), labels, floor=measure.floor)


def draw_differences(frames: Frames, criteria: Sequence[Criterion]) -> Figure:
    """Draws the ratios to the baseline, paired by seed; a mark is filled where the difference is decided."""
    measure, by_statistic = criteria[0].measure, _by_statistic(criteria)
    rows = [
        [
            dodged.Panel(title, [_ratios(frames, part, scheme) for scheme in frames.schemes[1:]])
            for one in row
            for title, part in _panels(frames, frames.ratios.filter(statistic=one.column), one, len(row) > 1)
        ]
        for row in by_statistic.values()
    ]
    x_label = "; ".join(word for word in (_x_label(frames), "hollow: undecided, or not paired") if word)
    labels = [f"{statistic} {measure.words},\ntimes that of {frames.baseline}" for statistic in by_statistic]
    return dodged.draw(rows, _positions(frames), x_label, labels, first_style=1, ratios=True)


def _by_statistic(criteria: Sequence[Criterion]) -> dict[str, list[Criterion]]:
    """Rows of a figure."""
    rows: dict[str, list[Criterion]] = {}
    for one in criteria:
        rows.setdefault(one.statistic, []).append(one)
    return rows


def _positions(frames: Frames) -> list[str]:
    swept = frames.study.swept_axis
    return [f"{value:g}" for value in frames.study.axes[swept]] if swept else [""]


def _x_label(frames: Frames) -> str:
    return short(frames.study.swept_axis) if frames.study.swept_axis else ""


def _panels(
    frames: Frames, table: pl.DataFrame, criterion: Criterion, several_classes: bool
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Title and rows of a size class, for each combination of the axes that have no place in a panel."""
    every = table.filter(size_class=criterion.size_class)
    others = [axis for axis in frames.study.axes if axis not in ("scheme", frames.study.swept_axis)]
    for values in product(*(frames.study.axes[axis] for axis in others)):
        rows = every
        for axis, value in zip(others, values, strict=True):
            rows = rows.filter(pl.col(short(axis)) == value)
        named = [(axis, value) for axis, value in zip(others, values, strict=True) if len(frames.study.axes[axis]) > 1]
        words = [class_words(criterion.size_class)] if several_classes else []
        yield "\n".join([*words, *(f"{short(axis)} {value}" for axis, value in named)]), rows


def _values(frames: Frames, part: pl.DataFrame, scheme: str, criterion: Criterion) -> dodged.Points:
    """Means of a scheme with their intervals, in the unit of figures."""
    column, scale = criterion.column, criterion.measure.scale
    values: list[float | None] = []
    lows: list[float | None] = []
    highs: list[float | None] = []
    for row in _at_positions(frames, part, scheme):
        value, half = (None, None) if row is None else (row[column], row[f"{column}_ci95"])
        values.append(None if value is None else value / scale)
        lows.append(None if half is None else (value - half) / scale)
        highs.append(None if half is None else (value + half) / scale)
    return dodged.Points(scheme, values, lows, highs, [True] * len(values))


def _ratios(frames: Frames, part: pl.DataFrame, scheme: str) -> dodged.Points:
    at = _at_positions(frames, part, scheme)
    value, low, high = (
        [None if row is None else row[column] for row in at] for column in ("ratio", "ratio_low", "ratio_high")
    )
    filled = [row is not None and row["verdict"] not in (None, UNDECIDED, NOT_PAIRED) for row in at]
    return dodged.Points(scheme, value, low, high, filled)


def _at_positions(frames: Frames, part: pl.DataFrame, scheme: str) -> Sequence[dict[str, Any] | None]:
    """Row of a scheme at each position, where there is one."""
    swept = frames.study.swept_axis
    rows = {row[short(swept)] if swept else None: row for row in part.filter(scheme=scheme).iter_rows(named=True)}
    return [rows.get(position) for position in (frames.study.axes[swept] if swept else [None])]
