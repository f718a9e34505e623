"""Measures evaluated over the cells of a study: estimates with their intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.reproduce.claims.measure import SCHEME_AXIS, CellMeasure, Labels
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.values.cells import LEFT_OUT, NOT_RECORDED, Cells
from anabranch.reproduce.values.estimate import Estimate, Estimates
from anabranch.split.stats.confidence import half_width, paired_ratio


def evaluate(measure: CellMeasure, cells: Cells) -> Estimates:
    """The measure at every point that `at` allows, and its mean over these.

    Raises:
        AnabranchError: it names an axis or a value that the study does not have.

    """
    return _worst(measure, cells) if measure.worst_of else _evaluated(measure, cells)


def _worst(measure: CellMeasure, cells: Cells) -> Estimates:
    """The measure of the scheme that is worst by it on average, over the seeds that all of the schemes have."""
    worst = [
        (scheme, _evaluated(replace(measure, of={SCHEME_AXIS: scheme}, worst_of=()), cells))
        for scheme in measure.worst_of
    ]
    known = [(scheme, one) for scheme, one in worst if one.mean is not None]
    missing = [reason for _, one in worst for reason in one.missing]
    if not known:
        return replace(worst[0][1], missing=list(dict.fromkeys(missing)))
    # A ratio or an increase is larger, and a reduction smaller, where the quantity is.
    turned = measure.lower_is_better != (measure.form == "reduction")
    scheme, one = (max if turned else min)(known, key=lambda pair: pair[1].mean.value if pair[1].mean else 0.0)
    named = {SCHEME_AXIS: scheme}
    points = [replace(point, point={**named, **point.point}) for point in one.points]
    mean = replace(one.mean, point=named) if one.mean else None
    return replace(one, points=points, mean=mean, missing=list(dict.fromkeys(missing)))


def _evaluated(measure: CellMeasure, cells: Cells) -> Estimates:
    """The measure of one side, or of two."""
    missing: list[str] = []
    broken: list[str] = []
    by_point: list[tuple[Labels, dict[int, float]]] = []
    left = flows = 0
    sides = measure.sides
    for point in _points(measure, cells, missing):
        by_seed: dict[int, float] = {}
        for seed in cells.seeds:
            of_sides = [_number(measure.quantity, {**point, **side}, seed, cells, missing) for side in sides]
            numbers = [number for number in of_sides if number is not None]
            if len(numbers) < len(sides):
                continue
            if measure.relative and min(numbers) <= 0:
                missing.append(f"the {measure.quantity.name} is 0 in one of the cells that are compared")
                continue
            by_seed[seed] = _paired(measure, numbers)
            at = [(cells.cell({**point, **side}), seed) for side in sides]
            broken += [cells.broken[cell] for cell in at if cell in cells.broken]
            for side in sides if measure.quantity.counts_finished else ():
                more = cells.unfinished.get((cells.cell({**point, **side}), seed, measure.quantity), (0, 0))
                left, flows = left + more[0], flows + more[1]
        if by_seed:
            by_point.append((point, by_seed))
    pooled = _pooled(measure, by_point, cells.seeds)
    points = [
        _estimate(measure, list(numbers.values()), point) for point, numbers in _along(measure, by_point, cells.seeds)
    ]
    mean = _estimate(measure, list(pooled.values()), {}) if pooled else None
    return Estimates(
        points,
        mean,
        list(dict.fromkeys(missing)),
        len(pooled),
        (left, flows),
        bounds=cells.bounded and bool(pooled),
        broken=broken[0] if broken else "",
    )


def _paired(measure: CellMeasure, numbers: Sequence[float]) -> float:
    """One cell's number, or what a pair or two come to: as a ratio still where that is what is averaged."""
    if measure.over is None:
        return numbers[0]
    if not measure.relative:
        return numbers[0] - numbers[1]
    ratio = numbers[0] / numbers[1]
    return ratio / (numbers[2] / numbers[3]) if measure.beside else ratio


def _along(
    measure: CellMeasure, cells: Sequence[tuple[Labels, dict[int, float]]], seeds: Sequence[int]
) -> Iterable[tuple[Labels, dict[int, float]]]:
    """Points of the axes that make some, each over the cells that share it."""
    groups: dict[tuple[Any, ...], list[tuple[Labels, dict[int, float]]]] = {}
    for point, by_seed in cells:
        axes = measure.along or tuple(point)
        groups.setdefault(tuple((axis, point[axis]) for axis in axes), []).append((point, by_seed))
    for labels, members in groups.items():
        numbers = _pooled(measure, members, seeds)
        if numbers:
            yield dict(labels), numbers


def _pooled(
    measure: CellMeasure, cells: Sequence[tuple[Labels, dict[int, float]]], seeds: Sequence[int]
) -> dict[int, float]:
    """Value of each seed, over the cells; only seeds that all of them have."""
    common = [seed for seed in seeds if cells and all(seed in by_seed for _, by_seed in cells)]
    return {seed: _pool(measure, [by_seed[seed] for _, by_seed in cells]) for seed in common}


def _pool(measure: CellMeasure, numbers: Sequence[float]) -> float:
    """One seed's number over all points."""
    return float(np.exp(np.mean(np.log(numbers)))) if measure.relative else float(np.mean(numbers))


def _estimate(measure: CellMeasure, numbers: Sequence[float], point: Labels) -> Estimate:
    array = np.array(numbers)
    if not measure.relative:
        mean, half = float(array.mean()), half_width(array)
        low, high = (None, None) if half is None else (mean - half, mean + half)
        return Estimate(mean, low, high, point, len(numbers))
    ratio = paired_ratio(array, np.ones_like(array))
    ends = [measure.formed(end) for end in (ratio.low, ratio.high) if end is not None]
    return Estimate(measure.formed(ratio.mean), min(ends, default=None), max(ends, default=None), point, len(numbers))


def _points(measure: CellMeasure, cells: Cells, missing: list[str]) -> Iterable[Labels]:
    """Every combination of the axes that are not compared."""
    compared = {axis for side in measure.sides for axis in side}
    for labels in measure.sides:
        for axis, label in labels.items():
            if not _known(axis, label, cells, missing):
                return
    free = [axis for axis in cells.axes if axis not in compared]
    for axis in (*measure.at, *measure.along):
        if axis not in free:
            problem = "compared by `of` and `over` already" if axis in cells.axes else "no axis of the study"
            raise AnabranchError(f"measure: {axis}: {problem}")
    chosen = []
    for axis in free:
        asked = measure.at.get(axis, cells.axes[axis])
        chosen.append([label for label in asked if _known(axis, label, cells, missing)])
    for combination in product(*chosen):
        yield dict(zip(free, combination, strict=True))


def _known(axis: str, label: Any, cells: Cells, missing: list[str]) -> bool:
    """Whether a value of an axis has cells; one that a quick study leaves out has none."""
    if axis not in cells.axes:
        raise AnabranchError(f"measure: {axis}: no axis of the study; {nearest(axis, list(cells.axes))}")
    if label in cells.axes[axis]:
        return True
    if label in cells.left_out.get(axis, ()):
        missing.append(f"{axis.rpartition('.')[2]} {label}: {LEFT_OUT}")
        return False
    known = [str(one) for one in cells.axes[axis]]
    raise AnabranchError(f"measure: {axis}: {label}: no value of the axis; {nearest(str(label), known)}")


def _number(quantity: Quantity, labels: Mapping[str, Any], seed: int, cells: Cells, missing: list[str]) -> float | None:
    cell = cells.cell(labels)
    if (cell, seed) in cells.missing:
        missing.append(cells.missing[cell, seed])
        return None
    number = cells.numbers.get((cell, seed, quantity))
    if (cell, seed, quantity) not in cells.numbers:
        # A cell that has the quantity at its first seed is one with fewer seeds than others.
        if (cell, cells.seeds[0], quantity) not in cells.numbers:
            missing.append(NOT_RECORDED)
    elif number is None:
        why = f"the load balancer does not count {', '.join(quantity.counts)}" if quantity.counts else ""
        missing.append(why or f"too few flows finished for {quantity.words}")
    return number
