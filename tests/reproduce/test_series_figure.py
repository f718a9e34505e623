"""Figures of a study along an axis: each point is the mean of the cells that it names, and of no others."""

from __future__ import annotations

from itertools import product
from statistics import mean
from typing import Any

import numpy as np
import pytest

from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.claims.claim import FigureRequest
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.values.cells import Cells

FCT, GOODPUT = Quantity("fct"), Quantity("goodput")
LOADS, SEEDS = [0.4, 0.8], [1, 2, 3]
AXES: dict[str, list[Any]] = {
    "fabric": ["x", "y"],
    "traffic.load": LOADS,
    "scheme": ["ecmp", "valo"],
    "rate": ["10G", "40G"],
}
UNKNOWN = (("x", 0.8, "valo", "10G"), 2)


def cells() -> Cells:
    """Numbers of which no two are alike; one cell has none."""
    numbers: dict[tuple[tuple[Any, ...], int, Quantity], float | None] = {}
    for number, (cell, seed) in enumerate(product(product(*AXES.values()), SEEDS)):
        numbers[cell, seed, FCT] = None if (cell, seed) == UNKNOWN else 1.0 + number**2
        numbers[cell, seed, GOODPUT] = -1.0
    return Cells(AXES, SEEDS, numbers)


@pytest.mark.parametrize("series", ["scheme", None])
def test_a_point_is_the_mean_over_seeds_and_the_axes_that_are_not_named(series: str | None) -> None:
    measured = cells()
    request = FigureRequest("FCT", FCT, "traffic.load", series, {"rate": "10G"})
    ((_, _, figure),) = CellEvidence(measured, [request]).figures()
    for line, scheme in zip(figure.axes[0].lines, AXES["scheme"] if series else [None], strict=True):
        due = []
        for load in LOADS:
            of_seeds = []
            for seed in SEEDS:
                chosen = [
                    measured.numbers[(fabric, load, one, "10G"), seed, FCT]
                    for fabric, one in product(AXES["fabric"], [scheme] if scheme else AXES["scheme"])
                ]
                of_seeds.append(mean(number for number in chosen if number is not None))
            due.append(mean(of_seeds))
        assert np.asarray(line.get_xdata()).tolist() == LOADS
        assert np.asarray(line.get_ydata()).tolist() == pytest.approx(due)
