"""The figures of a figure group: those it asks for, and its claims beside what came out."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure

from anabranch.errors import AnabranchError
from anabranch.plot import claims as claims_plot
from anabranch.plot import measure_series
from anabranch.plot.load_curves import Curve
from anabranch.reproduce.claim import FigureWanted
from anabranch.reproduce.line import Line
from anabranch.reproduce.simulate import Evaluated
from anabranch.reproduce.values import Values
from anabranch.stats.confidence import half_width
from anabranch.study.outcome import numeric, short

NEUTRAL = {"x": 1.0, "%": 0.0}
LABEL_CHARACTERS = 64


def figures(evaluated: Evaluated) -> Iterable[tuple[str, str, Figure]]:
    """File name without ending, title, figure."""
    label = evaluated.planned.group.label
    small = " (--quick)" if evaluated.planned.quick_note else ""
    for number, wanted in enumerate(evaluated.planned.expected.figures, start=1):
        drawn = _series(wanted, evaluated.values)
        if drawn is not None:
            yield f"{slug(label)}-{number}", f"{label}: {wanted.title}{small}", drawn
    yield from claim_figures(label, evaluated.lines, small)


def claim_figures(label: str, lines: Iterable[Line], small: str = "") -> Iterable[tuple[str, str, Figure]]:
    """One figure for each unit in which claims were measured."""
    measured = [line for line in lines if line.value is not None]
    for unit in dict.fromkeys(line.unit for line in measured):
        rows = [
            claims_plot.Compared(
                f"{line.id}  {line.what}"[:LABEL_CHARACTERS],
                line.paper_low,
                line.paper_high,
                line.value,
                line.low,
                line.high,
            )
            for line in measured
            if line.unit == unit and line.value is not None
        ]
        name = {"%": "percent", "x": "times"}.get(unit, re.sub(r"\W+", "", unit)) or "plain"
        title = f"{label}: claims; bars: published, dots: ours with 95 % interval{small}"
        yield f"{slug(label)}-claims-{name}", title, claims_plot.draw(rows, unit, NEUTRAL.get(unit))


def slug(label: str) -> str:
    """A label as a file's name."""
    return re.sub(r"[^\w]+", "-", label)


def _series(wanted: FigureWanted, values: Values) -> Figure | None:
    """None where nothing was measured."""
    for axis in filter(None, (wanted.x, wanted.series, *wanted.at)):
        if axis not in values.axes:
            raise AnabranchError(f"figure `{wanted.title}`: {axis}: no axis of the study")
    places = values.axes[wanted.x]
    by_number = numeric(places)
    curves = []
    for series in values.axes[wanted.series] if wanted.series else [None]:
        held = {**wanted.at, wanted.series: series} if wanted.series else wanted.at
        found = [_mean(wanted, values, {**held, wanted.x: place}) for place in places]
        x = [float(place) for place in places] if by_number else [float(index) for index in range(len(places))]
        if any(mean is not None for mean, _ in found):
            curves.append(
                Curve(
                    "" if series is None else str(series), x, [mean for mean, _ in found], [half for _, half in found]
                )
            )
    names = None if by_number else [str(place) for place in places]
    return measure_series.draw(curves, names, short(wanted.x), wanted.quantity.words) if curves else None


def _mean(wanted: FigureWanted, values: Values, labels: dict[str, object]) -> tuple[float | None, float | None]:
    """Over seeds, and over the axes that the figure does not name, with half the width of the interval over seeds."""
    by_seed: dict[int, list[float]] = {}
    for (place, seed, quantity), number in values.numbers.items():
        of_cell = dict(zip(values.axes, place, strict=True))
        if quantity == wanted.quantity and number is not None and labels.items() <= of_cell.items():
            by_seed.setdefault(seed, []).append(number)
    means = np.array([float(np.mean(numbers)) for numbers in by_seed.values()])
    return (float(means.mean()), half_width(means)) if len(means) else (None, None)
