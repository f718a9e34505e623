"""Sec. 4.1 of the VALO paper: scoring's counts, and the volumes of its plan, against the volumes of the score graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from anabranch.reproduce.values.estimate import Band, Oracle, Spread
from anabranch.split.splitter import Splitter
from anabranch.split.trace import generate_trace

from .single import Single, exact
from .study import Study
from .theory import volume_shares

MORE = 20
"""Times the paper's connections that are split: its count is one draw, and ours is to be known better."""
DEVIATIONS, CENTRAL = 5.0, 1.96


@dataclass(frozen=True)
class Case:
    """One list of weights; one value per path."""

    weights: tuple[int, ...]
    counts: list[Single]
    """Connections, of as many as the paper has."""
    planned: list[float]
    """Shares that the splitter says it has."""
    shares: list[float]
    """Volumes over their sum (Eq. 6)."""


def validate(study: Study) -> list[Case]:
    """Splits the study's connections, and more, by plain scoring."""
    asked = study.validation
    trace = generate_trace(asked.source, MORE * asked.connections, hash=study.hash, seed=study.seed)
    return [_case(weights, trace.keys, asked.connections) for weights in asked.weights]


def _case(weights: tuple[int, ...], keys: np.ndarray[tuple[int], np.dtype[np.uint64]], connections: int) -> Case:
    splitter = Splitter("scoring", weights)
    picked = np.bincount(splitter.pick(keys), minlength=len(weights)) / keys.size
    shares = volume_shares(weights)
    counts = [_count(float(p), float(q), connections, keys.size) for p, q in zip(picked, shares, strict=True)]
    return Case(weights, counts, _planned(splitter), shares.tolist())


def _planned(splitter: Splitter) -> list[float]:
    shares = splitter.shares()
    assert shares is not None
    return [float(share) for share in shares]


def _count(ours: float, share: float, connections: int, split: int) -> Single:
    """A path's count of `connections`, known from `split` of them."""
    value = connections * ours
    known = connections * sqrt(ours * (1 - ours) / split)
    chance = connections * sqrt(share * (1 - share) / split)
    due = connections * share
    source = "binomial, volumes of Eq. 6"
    expected = Oracle(value, due - DEVIATIONS * chance, due + DEVIATIONS * chance, source, due)
    draw = CENTRAL * sqrt(connections * ours * (1 - ours))
    spread = Spread(Band(value, value - draw, value + draw), CENTRAL * known)
    return Single(value, value - CENTRAL * known, value + CENTRAL * known, expected, spread)


def of_validation(cases: Sequence[Case]) -> dict[str, Single]:
    """Counts of scoring, and the volumes of its plan."""
    values = {}
    for case in cases:
        name = f"validation/{':'.join(map(str, case.weights))}"
        for path, count in enumerate(case.counts, start=1):
            values[f"{name}/count@{path}"] = count
            ratio = case.planned[path - 1] / case.planned[-1]
            due = case.shares[path - 1] / case.shares[-1]
            expected = Oracle(ratio, due * (1 - 1e-3), due * (1 + 1e-3), "volumes of Eq. 6", due)
            values[f"{name}/volume ratio@{path}"] = exact(ratio, expected)
    return values
