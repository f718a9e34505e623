"""Theory on the very weights that were drawn: what each trial is expected to err by, and how far chance may take it.

Beside it ours is checked: five standard deviations of chance away from the expectation, the code is wrong. The
difference also takes the draw of weights out of our mean: theory knows the mean over all weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import poisson

from anabranch.reproduce.values.estimate import Oracle
from anabranch.split.request import Choice
from anabranch.split.stats.mape import mape_expected

from .connections import draw_weights, stream
from .study import Study
from .theory import COUNTED, Floats, mapes, model_shares

DEVIATIONS = 5.0
"""Standard deviations that chance may take ours away: one check in a million, were they all Gaussian."""
TAIL = 1e-6
DRAWS = 400
"""Draws of each trial's connections, for the spread."""

SOURCE = {
    "equal": "equal shares, same weights",
    "exact": "binomial floor, same weights",
    "volumes": "volumes of Eq. 6, same weights",
    "turns": "turns counted, same weights",
    "served": "least service counted, same weights",
    "replicas": "WCMP's algorithm 1 in NumPy, same weights",
    "proportional": "proportional table in NumPy, same weights",
}


@dataclass(frozen=True)
class Expected:
    """Expectation of the trials at one point; shapes (trials,) and (draws, trials)."""

    errors: Floats
    draws: Floats
    slack: float = 0.0
    """How far connections with the same hash may take the mean; a split that leaves nothing to chance has no other."""

    def band(self, worst: bool) -> tuple[float, float]:
        """Expected mean (or worst) of the trials, and its standard deviation."""
        if worst:
            largest = self.draws.max(axis=1)
            return float(largest.mean()), max(float(largest.std()), self.slack * self.errors.size / DEVIATIONS)
        return float(self.errors.mean()), max(
            float(np.sqrt(self.draws.var(axis=0).sum())) / self.errors.size, self.slack / DEVIATIONS
        )


class SameWeights:
    """Expectations by experiment, technique and point, each drawn once."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._weights: dict[tuple[str, int, int], npt.NDArray[np.int64]] = {}
        self._expected: dict[tuple[object, ...], Expected] = {}

    def expected(self, experiment: str, technique: Choice, model: str, point: tuple[int, int]) -> Expected:
        """What the trials of an experiment are expected to err by at (paths, connections)."""
        key = (experiment, technique.label, point)
        if key not in self._expected:
            self._expected[key] = self._draw(experiment, technique, model, point)
        return self._expected[key]

    def _draw(self, experiment: str, technique: Choice, model: str, point: tuple[int, int]) -> Expected:
        _, connections = point
        weights = self._of(experiment, point)
        asked = weights / weights.sum(axis=-1, keepdims=True)
        if model in COUNTED:
            errors = mapes(asked, COUNTED[model](weights, connections))
            slack = _same_hash(connections, errors.size) * float((200.0 / (connections * asked)).mean(axis=-1).max())
            return Expected(errors, np.broadcast_to(errors, (2, errors.size)), slack / errors.size)
        shares = model_shares(technique, model, weights)
        errors = np.array([mape_expected(q, p, connections) for q, p in zip(shares, asked, strict=True)])
        rng = stream(self._study.seed, "same weights", experiment, technique.label, *point)
        draws = rng.multinomial(connections, shares, (DRAWS, len(weights))).astype(np.float64)
        return Expected(errors, np.mean(100.0 * np.abs(draws / connections - asked) / asked, axis=-1))

    def _of(self, experiment: str, point: tuple[int, int]) -> npt.NDArray[np.int64]:
        """Weights of the trials."""
        paths, connections = point
        key = (experiment, paths, connections)
        if key not in self._weights:
            trials = range(self._study.trials)
            drawn = [draw_weights(self._study, paths, trial, experiment, connections) for trial in trials]
            self._weights[key] = np.array(drawn, dtype=np.int64)
        return self._weights[key]


def _same_hash(connections: int, trials: int) -> float:
    """Pairs of connections with one 32-bit hash that all trials together may have: each moves a connection."""
    return float(poisson.ppf(1 - TAIL, trials * connections**2 / 2.0**33))


def combined(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Mean of several expectations, and a deviation that holds even if they move together."""
    values, deviations = zip(*parts, strict=True)
    return float(np.mean(values)), float(np.mean(deviations))


def oracle(ours: float, value: float, deviation: float, model: str) -> Oracle:
    """Ours beside theory's value."""
    return Oracle(ours, value - DEVIATIONS * deviation, value + DEVIATIONS * deviation, SOURCE[model], value)
