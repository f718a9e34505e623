"""Values of a run by name, with the band that theory puts around each.

Names are `experiment/subject/quantity`, with `@point` behind where one point of a sweep is meant instead of the mean
over all: `load/valo/mean`, `paths/scoring/mean@8`, `cost-load/wrr:cache=table/latency@last`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anabranch.errors import AnabranchError
from anabranch.reproduce.backends.splitter.accuracy import Floats, Point
from anabranch.reproduce.backends.splitter.connections import stream
from anabranch.reproduce.backends.splitter.cost import ChangeCost, Cost
from anabranch.reproduce.backends.splitter.hash_quality import OverTrace
from anabranch.reproduce.backends.splitter.study import Study
from anabranch.reproduce.backends.splitter.theory import Theory, resampled
from anabranch.reproduce.backends.splitter.validation import Case
from anabranch.reproduce.estimate import Band

JENKINS = ("lookup3", "one-at-a-time")


@dataclass(frozen=True)
class Found:
    """The results of every experiment of a study."""

    design_effect: float
    validation: list[Case]
    accuracy: dict[str, list[Point]]
    hashes: list[OverTrace]
    cost_by_load: list[Cost]
    cost_by_paths: list[Cost]
    changes: list[ChangeCost]


class Measures:
    """Looks up values and bands by name."""

    def __init__(self, study: Study, found: Found, theory: Theory) -> None:
        self._study, self._found, self._theory = study, found, theory
        self._models = {technique.label: (technique, model) for technique, model in study.techniques.items()}
        self._values = {**_of_hashes(found.hashes), **_of_costs(study, found), **_of_changes(found.changes)}
        self._bands: dict[str, Band] = {}
        for case in found.validation:
            name = f"validation/{':'.join(map(str, case.weights))}"
            for path, count in enumerate(case.counts):
                self._values[f"{name}/count@{path + 1}"] = count
                self._bands[f"{name}/count@{path + 1}"] = case.bands[path]
                ratio = case.shares[path] / case.shares[-1]
                self._values[f"{name}/counted ratio@{path + 1}"] = count / case.counts[-1]
                self._bands[f"{name}/volume ratio@{path + 1}"] = Band(ratio, ratio, ratio)
                self._values[f"{name}/volume ratio@{path + 1}"] = ratio

    def value(self, name: str) -> float:
        """Value of a measure by its name.

        Raises:
            AnabranchError: a name of nothing.

        """
        if name in self._values:
            return self._values[name]
        points, label, quantity = self._points(name)
        if quantity in ("max", "bytes-max"):
            columns = [p.byte_mapes[label] if quantity == "bytes-max" else p.mapes[label] for p in points]
            return float(np.max(columns))
        columns = [p.byte_mapes[label] if quantity == "bytes" else p.mapes[label] for p in points]
        return float(np.mean(columns))

    def band(self, name: str, weights: tuple[int, int] | None = None) -> Band | None:
        """Band that theory expects of as many trials as the paper has; None where theory has none.

        Bytes: whole connections of unequal size are as noisy as fewer equal ones; exact quotas of connections take
        away the part of the noise that is not the sizes' own (1 + CV^2 becomes CV^2).
        Without a model of the shares, the spread of our own trials stands in, theirs and ours together.
        """
        if name in self._values:
            return self._bands.get(name)
        points, label, quantity = self._points(name)
        technique, model = self._models[label]
        statistic = "max" if quantity.endswith("max") else "mean"
        places = [(point.paths, point.connections) for point in points]
        if quantity.startswith("bytes"):
            effect = self._found.design_effect - (model == "turns")
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

    def trials(self, name: str) -> Floats | None:
        """The value in each trial, whose mean it is; None for a value of another kind."""
        if name in self._values:
            return None
        points, label, quantity = self._points(name)
        if quantity.endswith("max"):
            return None
        columns = [p.byte_mapes[label] if quantity == "bytes" else p.mapes[label] for p in points]
        return np.asarray(np.mean(columns, axis=0), dtype=np.float64)

    def connections(self, name: str) -> int | None:
        """Connections of the one point that a name means."""
        if name in self._values:
            return None
        points, _, _ = self._points(name)
        return points[0].connections if len(points) == 1 else None

    def _points(self, name: str) -> tuple[list[Point], str, str]:
        experiment, _, rest = name.partition("/")
        label, _, quantity = rest.rpartition("/")
        quantity, _, at = quantity.partition("@")
        points = self._found.accuracy.get(experiment, [])
        if at:
            sweeps_paths = len({point.paths for point in points}) > 1
            points = [p for p in points if str(p.paths if sweeps_paths else p.connections) == at]
        known = quantity in ("mean", "max", "bytes", "bytes-max") and label in self._models
        if not points or not known:
            raise AnabranchError(
                f"{self._study.folder}: expected.toml: measure: {name}: this study has no such value; write "
                "EXPERIMENT/TECHNIQUE/QUANTITY, as in weights/valo/mean"
            )
        return points, label, quantity


def _of_hashes(found: list[OverTrace]) -> dict[str, float]:
    """Lost identities in percent, and chi-square over its degrees of freedom, over both traces."""
    qualities = [quality for over in found for quality in over.qualities]
    chi2 = {q.name: np.mean([p.chi2_per_df for p in qualities if p.name == q.name]) for q in qualities}
    others = [value for name, value in chi2.items() if name != "murmur3"]
    return {
        "hashes/jenkins/lost": max(q.lost_pct for q in qualities if q.name in JENKINS),
        "hashes/jenkins/expected": max(q.lost_expected_pct for q in qualities if q.name in JENKINS),
        "hashes/others/lost": max(q.lost_pct for q in qualities if q.name not in JENKINS),
        "hashes/others of 32 bits/lost": max(q.lost_pct for q in qualities if q.name not in JENKINS and q.bits == 32),
        "hashes/others/expected": max(q.lost_expected_pct for q in qualities if q.name not in JENKINS),
        "hashes/others/chi2": float(max(others)),
        "hashes/xor32/chi2": float(chi2["xor32"]),
        "hashes/murmur3/chi2": float(chi2["murmur3"]),
        "hashes/others without xor/chi2": float(
            max(value for name, value in chi2.items() if not name.startswith("xor") and name != "murmur3")
        ),
        "hashes/crc32/scoring": max(q.scoring_mape_pct for q in qualities if q.name == "crc32"),
        "hashes/murmur3/scoring": max(q.scoring_mape_pct for q in qualities if q.name == "murmur3"),
    }


def _of_costs(study: Study, found: Found) -> dict[str, float]:
    values: dict[str, float] = {}
    quantities: dict[str, Callable[[Cost], float]] = {
        "throughput": lambda cost: cost.throughput_ns,
        "latency": lambda cost: cost.latency_ns / 1000.0,
        "memory": lambda cost: (study.cost.process_bytes + cost.state_bytes) / 1e6,
    }
    for technique in study.cost.techniques:
        for experiment, costs in (("cost-load", found.cost_by_load), ("cost-paths", found.cost_by_paths)):
            own = [cost for cost in costs if cost.technique == technique.label]
            for quantity, of in quantities.items():
                name = f"{experiment}/{technique.label}/{quantity}"
                values[name] = float(np.mean([of(cost) for cost in own]))
                values[f"{name}@first"], values[f"{name}@last"] = of(own[0]), of(own[-1])
                for cost in own:
                    values[f"{name}@{cost.connections if experiment == 'cost-load' else cost.paths}"] = of(cost)
    return values


def _of_changes(costs: list[ChangeCost]) -> dict[str, float]:
    values: dict[str, float] = {}
    for label in dict.fromkeys(cost.technique for cost in costs):
        own = [cost for cost in costs if cost.technique == label]
        values[f"changes/{label}/busy"] = float(np.mean([cost.busy_ns_per_second for cost in own]))
        values[f"changes/{label}/latency"] = float(np.mean([cost.latency_ns for cost in own])) / 1000.0
        values[f"changes/{label}/latency@first"] = own[0].latency_ns / 1000.0
        values[f"changes/{label}/latency@last"] = own[-1].latency_ns / 1000.0
    return values
