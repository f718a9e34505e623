"""Evidence in cells: estimates, rankings and figures of a study whose values stand in axes and seeds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends.backend import Backend
from anabranch.reproduce.claims.claim import Expected, FigureRequest
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.claims.measure import SCHEME_AXIS, CellMeasure, read_measure
from anabranch.reproduce.claims.quantity import UNITS
from anabranch.reproduce.records import cell_record
from anabranch.reproduce.records.record import Record
from anabranch.reproduce.values.cells import Cells
from anabranch.reproduce.values.estimate import Estimate, Estimates
from anabranch.reproduce.values.evaluate import evaluate
from anabranch.reproduce.values.ranking import Ranking, rank
from anabranch.simulate.stats.size_classes import SizeClass
from anabranch.simulate.study.outcome import numeric, short
from anabranch.split.stats.confidence import half_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

Mean = tuple[float | None, float | None]
"""Mean over seeds, and half the width of its 95 % interval; None where there are no numbers, or no interval."""


@dataclass(frozen=True)
class CellEvidence:
    """Values of a study in cells."""

    cells: Cells
    requests: Sequence[FigureRequest] = field(default_factory=list)
    usable: bool = True

    @property
    def recordable(self) -> bool:
        """Whether the machine was quiet: nothing else keeps cells out of a record."""
        return self.usable

    def estimates(self, measure: CellMeasure) -> Estimates:
        """Estimates of a measure over the cells, with intervals over seeds."""
        return evaluate(measure, self.cells)

    def ranking(self, measure: CellMeasure) -> Ranking:
        """Schemes compared pair by pair, seed by seed."""
        return rank(measure, self.cells)

    def rivals(self, measure: CellMeasure) -> Iterable[tuple[str, CellMeasure]]:
        """Other schemes of the axis, each with the same measure of its own."""
        own, over = measure.of.get(SCHEME_AXIS), measure.over
        # One scheme alone, or at two values of another axis.
        if own is None or measure.beside or (over is not None and over.get(SCHEME_AXIS) != own):
            return
        for scheme in self.cells.axes.get(SCHEME_AXIS, []):
            if scheme != own:
                other = None if over is None else {**over, SCHEME_AXIS: scheme}
                yield str(scheme), replace(measure, of={**measure.of, SCHEME_AXIS: scheme}, over=other)

    def figures(self) -> Iterable[tuple[str, str, Figure]]:
        """The figures of the claims' file, by number."""
        for number, request in enumerate(self.requests, start=1):
            drawn = _map(request, self.cells) if request.y else _series(request, self.cells)
            if drawn is not None:
                yield str(number), request.title, drawn

    def measured(self) -> Iterable[tuple[str, int, str, float | None]]:
        """Rows of measured.csv: every number of every cell."""
        for (labels, seed, quantity), number in self.cells.numbers.items():
            cell = ", ".join(f"{short(axis)} {label}" for axis, label in zip(self.cells.axes, labels, strict=True))
            yield cell, seed, quantity.words, number

    def files(self) -> Mapping[str, str]:
        """No files beside the engine's."""
        return {}

    def parts(self) -> Mapping[str, bytes]:
        """The cells as the files of a record."""
        return cell_record.parts(self.cells)

    def details(self) -> str:
        """No details: all is in the claims and figures."""
        return ""

    def show(self, console: Console) -> None:
        """Prints nothing: all is in the claims."""


class CellBackend(Backend):
    """Backend whose values stand in cells."""

    quantities: Collection[str] = tuple(UNITS)
    """Quantities that it measures."""

    def read_measure(self, given: Mapping[str, Any], classes: Mapping[str, SizeClass]) -> CellMeasure:
        """Reads a measure of one of its quantities."""
        return read_measure(given, classes, self.quantities)

    def recall(self, group: Group, record: Record) -> tuple[Expected, CellEvidence]:
        """Claims and figures of a group, with the cells of its record."""
        expected = load_expected(group.folder, read=self.read_measure)
        cells = cell_record.read(record, expected.quantities, expected.checks)
        return expected, CellEvidence(cells, expected.figures)


def _series(request: FigureRequest, cells: Cells) -> Figure | None:
    """None where nothing was measured."""
    from anabranch.report.plot import measure_series
    from anabranch.report.plot.load_curves import Curve

    _check_axes(request, cells)
    labels = cells.axes[request.x]
    by_number = numeric(labels)
    curves = []
    by_labels = _means(request, cells, [request.x, request.series] if request.series else [request.x])
    for series in cells.axes[request.series] if request.series else [None]:
        of_series = (series,) if request.series else ()
        means = [by_labels.get((label, *of_series), (None, None)) for label in labels]
        x = [float(label) for label in labels] if by_number else [float(index) for index in range(len(labels))]
        if any(mean is not None for mean, _ in means):
            name = "" if series is None else str(series)
            curves.append(Curve(name, x, [mean for mean, _ in means], [half for _, half in means]))
    names = None if by_number else [str(label) for label in labels]
    series = short(request.series) if request.series else ""
    return measure_series.draw(curves, names, short(request.x), request.quantity.words, series) if curves else None


def _map(request: FigureRequest, cells: Cells) -> Figure | None:
    """Ratios with their doubt: a number stands in brackets where its 95 % interval holds no difference."""
    from anabranch.report.plot import heat_map

    assert request.y is not None
    side = request.y
    _check_axes(request, cells)
    columns = [label for label in cells.axes[request.x] if request.x != SCHEME_AXIS or label != request.over]
    grid = [[_ratio(request, cells, {request.x: x, side: y}) for x in columns] for y in cells.axes[side]]
    if not any(one for row in grid for one in row):
        return None
    ratios = [[one.value if one else None for one in row] for row in grid]
    doubtful = [[one is not None and _holds_none(one) for one in row] for row in grid]
    names = [str(label) for label in columns], [str(label) for label in cells.axes[side]]
    return heat_map.draw(ratios, *names, (short(request.x), short(side)), doubtful)


def _ratio(request: FigureRequest, cells: Cells, fixed: dict[str, Any]) -> Estimate | None:
    of = {SCHEME_AXIS: fixed[SCHEME_AXIS]} if SCHEME_AXIS in fixed else {}
    fixed = {axis: label for axis, label in {**request.at, **fixed}.items() if axis != SCHEME_AXIS}
    at = {axis: [label] for axis, label in fixed.items()}
    over = {SCHEME_AXIS: request.over}
    return evaluate(CellMeasure(request.quantity, of=of, over=over, form="ratio", at=at), cells).mean


def _holds_none(one: Estimate) -> bool:
    return one.low is None or one.high is None or one.low <= 1.0 <= one.high


def _check_axes(request: FigureRequest, cells: Cells) -> None:
    for axis in filter(None, (request.x, request.y, request.series, *request.at)):
        if axis not in cells.axes:
            raise AnabranchError(f"figure `{request.title}`: {axis}: no axis of the study")


def _means(request: FigureRequest, cells: Cells, axes: Sequence[str]) -> dict[tuple[object, ...], Mean]:
    """Mean by the labels of `axes`, over seeds and over the axes that the figure does not name.

    Beside it half the width of the interval over seeds.
    """
    order = list(cells.axes)
    fixed = [(order.index(axis), label) for axis, label in request.at.items() if axis not in axes]
    named = [order.index(axis) for axis in axes]
    by_seed: dict[tuple[object, ...], dict[int, list[float | None]]] = {}
    for (labels, seed, quantity), number in cells.numbers.items():
        if quantity != request.quantity or any(labels[place] != label for place, label in fixed):
            continue
        seeds = by_seed.setdefault(tuple(labels[place] for place in named), {})
        seeds.setdefault(seed, []).append(number)
    means: dict[tuple[object, ...], Mean] = {}
    for labels, seeds in by_seed.items():
        # A seed that only some of the cells have would be a mean of these alone.
        whole = max(map(len, seeds.values()))
        known = [[one for one in numbers if one is not None] for numbers in seeds.values() if len(numbers) == whole]
        of_seeds = np.array([float(np.mean(numbers)) for numbers in known if numbers])
        if not of_seeds.size:
            continue
        means[labels] = (float(of_seeds.mean()), half_width(of_seeds))
    return means
