"""Values of a run by name, each with its repetitions, and what theory expects of it.

Names are `experiment/subject/quantity`, with `@point` behind where one point of a sweep is meant instead of the mean
over all: `load/valo/mean`, `paths/scoring/mean@8`, `cost-load/wrr:cache=table/latency@last`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.values.estimate import Band, Oracle

from .accuracy import Floats, Point
from .connections import stream
from .cost import ChangeCost, Cost
from .hash_quality import OverTrace
from .same_weights import SameWeights, combined, oracle
from .single import Single, of_changes, of_costs, of_hashes
from .study import Study
from .theory import Theory, resampled
from .validation import Case, of_validation


@dataclass(frozen=True)
class Measured:
    """The results of every experiment of a study."""

    design_effect: float
    validation: list[Case]
    accuracy: dict[str, list[Point]]
    hashes: list[OverTrace]
    cost_by_load: list[Cost]
    cost_by_paths: list[Cost]
    changes: list[ChangeCost]


@dataclass(frozen=True)
class Sample:
    """Trials of a technique at one point, with what theory expects of them where it has a model."""

    ours: Floats
    expected: Floats | None = None
    """Expectation of each trial, for the weights that it drew."""
    over_all: float = 0.0
    """Expectation over all weights."""


class Measures:
    """Looks up values and expectations by name."""

    def __init__(self, study: Study, measured: Measured, theory: Theory) -> None:
        self._study, self._measured, self._theory = study, measured, theory
        self._models = {technique.label: (technique, model) for technique, model in study.techniques.items()}
        self._same = SameWeights(study)
        self._singles = {
            **of_validation(measured.validation),
            **of_hashes(measured.hashes),
            **of_costs(study, measured.cost_by_load, measured.cost_by_paths),
            **of_changes(measured.changes),
        }

    def single(self, name: str) -> Single | None:
        """A value that no trials make, with its interval; None if trials make it."""
        return self._singles.get(name)

    def samples(self, name: str) -> list[Sample]:
        """Trials of every point that a name means.

        Raises:
            AnabranchError: a name of nothing.

        """
        experiment, points, label, quantity = self._points(name)
        technique, model = self._models[label]
        if quantity.startswith("bytes") or model == "none":
            return [Sample(p.byte_mapes[label] if quantity.startswith("bytes") else p.mapes[label]) for p in points]
        drawn = []
        for point in points:
            place = (point.paths, point.connections)
            expected = self._same.expected(experiment, technique, model, place).errors
            over_all = float(self._theory.population(technique, model, place).mean())
            drawn.append(Sample(point.mapes[label], expected, over_all))
        return drawn

    def worst(self, name: str) -> bool:
        """Whether a name means the worst trial."""
        return name not in self._singles and self._points(name)[3].endswith("max")

    def oracle(self, name: str) -> tuple[float, float, float, str] | None:
        """Ours on the weights that were drawn, theory's value and deviation for these, and the model; None without."""
        experiment, points, label, quantity = self._points(name)
        technique, model = self._models[label]
        if quantity.startswith("bytes") or model == "none":
            return None
        worst = quantity == "max"
        ours = [float(p.mapes[label].max() if worst else p.mapes[label].mean()) for p in points]
        bands = [
            self._same.expected(experiment, technique, model, (p.paths, p.connections)).band(worst) for p in points
        ]
        value = float(np.mean([one for one, _ in bands]))
        # Points draw weights and connections of their own.
        deviation = float(np.sqrt(np.sum([one**2 for _, one in bands]))) / len(bands)
        return float(np.mean(ours)), value, deviation, model

    def band(self, name: str, weights: tuple[int, int] | None = None) -> Band | None:
        """Band of as many trials as the paper has; None where nothing gives one.

        Bytes: whole connections of unequal size are as noisy as fewer equal ones; exact quotas of connections take
        away the part of the noise that is not the sizes' own (1 + CV^2 becomes CV^2).
        Without a model of the shares, the spread of our own trials stands in, theirs and ours together.
        """
        _, points, label, quantity = self._points(name)
        technique, model = self._models[label]
        statistic = "max" if quantity.endswith("max") else "mean"
        places = [(point.paths, point.connections) for point in points]
        if quantity.startswith("bytes"):
            effect = self._measured.design_effect - (model == "turns")
            places = [(paths, max(1, round(connections / effect))) for paths, connections in places]
            model = "exact" if model == "turns" else model
        trials = self._study.published_trials
        if model != "none":
            return self._theory.band(technique, model, places, trials, statistic, weights)
        if statistic == "max":
            return None
        columns = [p.byte_mapes[label] if quantity == "bytes" else p.mapes[label] for p in points]
        rng = stream(self._study.seed, "measured band", name)
        return resampled(columns, max(1, min(trials, self._study.trials) // 2), "mean", rng)

    def connections(self, name: str) -> int | None:
        """Connections of the one point that a name means."""
        if name in self._singles:
            return None
        _, points, _, _ = self._points(name)
        return points[0].connections if len(points) == 1 else None

    def _points(self, name: str) -> tuple[str, list[Point], str, str]:
        experiment, _, rest = name.partition("/")
        label, _, quantity = rest.rpartition("/")
        quantity, _, at = quantity.partition("@")
        points = self._measured.accuracy.get(experiment, [])
        if at:
            sweeps_paths = len({point.paths for point in points}) > 1
            points = [p for p in points if str(p.paths if sweeps_paths else p.connections) == at]
        known = quantity in ("mean", "max", "bytes", "bytes-max") and label in self._models
        if not points or not known:
            raise AnabranchError(
                f"{self._study.folder}: expected.toml: measure: {name}: this study has no such value; write "
                "EXPERIMENT/TECHNIQUE/QUANTITY, as in weights/valo/mean"
            )
        return experiment, points, label, quantity


def ratio_oracle(above: list[tuple[float, float, float, str]], below: tuple[float, float, float, str] | None) -> Oracle:
    """Oracle of a mean of several values, or of its ratio to another; of a part that fails, where one does."""
    for part in (*above, *filter(None, [below])):
        alone = oracle(*part)
        if not alone.holds:
            return alone
    ours = float(np.mean([one[0] for one in above]))
    value, deviation = combined([(one[1], one[2]) for one in above])
    models = dict.fromkeys(one[3] for one in above)
    model = next(iter(models))
    if below is None:
        return oracle(ours, value, deviation, model)
    ratio = value / below[1]
    return oracle(ours / below[0], ratio, ratio * (deviation / value + below[2] / below[1]), below[3])
