"""Values of splitting that no trials make: counts, volumes, hashes and times, each with the interval it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from scipy.stats import poisson

from anabranch.reproduce.values.estimate import Oracle, Spread

from .cost import ChangeCost, Cost
from .hash_quality import OverTrace
from .study import Study

JENKINS = ("lookup3", "one-at-a-time")
TAIL = 1e-6
"""Chance that a perfect hash is called wrong."""
DEVIATIONS = 5.0


@dataclass(frozen=True)
class Single:
    """A value; the ends are None where it has no interval."""

    value: float
    low: float | None = None
    high: float | None = None
    oracle: Oracle | None = None
    spread: Spread | None = None


def exact(value: float, oracle: Oracle | None = None) -> Single:
    """A value that repetition would not change."""
    return Single(value, value, value, oracle)


def of_hashes(results: Sequence[OverTrace]) -> dict[str, Single]:
    """Lost identities in percent, and chi-square over its degrees of freedom, over both traces."""
    qualities = [quality for over in results for quality in over.qualities]
    connections = max((over.connections for over in results), default=0)
    chi2 = {q.name: float(np.mean([p.chi2_per_df for p in qualities if p.name == q.name])) for q in qualities}
    others = [value for name, value in chi2.items() if name != "murmur3"]
    rest = max(value for name, value in chi2.items() if not name.startswith("xor") and name != "murmur3")
    jenkins = max(q.lost_pct for q in qualities if q.name in JENKINS)
    lost = max(q.lost_pct for q in qualities if q.name not in JENKINS)
    # Two traces; 255 degrees of freedom.
    even = 1 + DEVIATIONS * float(np.sqrt(2 / 255 / len(results)))
    return {
        "hashes/jenkins/lost": exact(jenkins, _perfect(jenkins, connections, 32)),
        "hashes/jenkins/expected": exact(max(q.lost_expected_pct for q in qualities if q.name in JENKINS)),
        "hashes/others/lost": exact(lost, _perfect(lost, connections, 8)),
        "hashes/others of 32 bits/lost": exact(
            max(q.lost_pct for q in qualities if q.name not in JENKINS and q.bits == 32)
        ),
        "hashes/others/expected": exact(max(q.lost_expected_pct for q in qualities if q.name not in JENKINS)),
        "hashes/others/chi2": exact(max(others)),
        "hashes/xor32/chi2": exact(chi2["xor32"]),
        "hashes/murmur3/chi2": exact(
            chi2["murmur3"], Oracle(chi2["murmur3"], 0.0, even, "chi-square of even bins", 1.0)
        ),
        "hashes/others without xor/chi2": exact(rest),
        "hashes/crc32/scoring": exact(max(q.scoring_mape_pct for q in qualities if q.name == "crc32")),
        "hashes/murmur3/scoring": exact(max(q.scoring_mape_pct for q in qualities if q.name == "murmur3")),
    }


def _perfect(ours_pct: float, connections: int, bits: int) -> Oracle:
    """Identities that a perfect hash loses, in percent: few pairs are Poisson; of many flows all but 2^b are lost."""
    values = 2.0**bits
    lost = connections - values * -np.expm1(connections * np.log1p(-1 / values))
    if connections > values * log(values / TAIL):
        low = high = float(lost)
    else:
        low, high = (float(poisson.ppf(tail, lost)) for tail in (TAIL, 1 - TAIL))
    scale = 100.0 / connections
    return Oracle(
        ours_pct, scale * low - 1e-3, scale * high + 1e-3, f"perfect hash of {bits} bits", scale * float(lost)
    )


def of_costs(study: Study, by_load: Sequence[Cost], by_paths: Sequence[Cost]) -> dict[str, Single]:
    """Times and memory of decisions. Times have the least and the most of their repetitions around the median."""
    values: dict[str, Single] = {}
    quantities: dict[str, Callable[[Cost], Single]] = {
        "throughput": lambda cost: _timed(cost.throughput_runs_ns, 1.0),
        "latency": lambda cost: _timed(cost.latency_runs_ns, 1e-3),
        "memory": lambda cost: exact((study.cost.process_bytes + cost.state_bytes) / 1e6),
    }
    for technique in study.cost.techniques:
        for experiment, costs in (("cost-load", by_load), ("cost-paths", by_paths)):
            own = [cost for cost in costs if cost.technique == technique.label]
            for quantity, of in quantities.items():
                name = f"{experiment}/{technique.label}/{quantity}"
                values[name] = _mean([of(cost) for cost in own])
                first, last = values[f"{name}@first"], values[f"{name}@last"] = of(own[0]), of(own[-1])
                values[f"{name}@growth"] = _growth(first, last)
                for cost in own:
                    values[f"{name}@{cost.connections if experiment == 'cost-load' else cost.paths}"] = of(cost)
    return values


def _growth(first: Single, last: Single) -> Single:
    """How many times the first the last is, at its least and at its most."""
    if first.low is None or first.high is None or last.low is None or last.high is None:
        return Single(last.value / first.value)
    return Single(last.value / first.value, last.low / first.high, last.high / first.low)


def of_changes(costs: Sequence[ChangeCost]) -> dict[str, Single]:
    """Times while weights change."""
    values: dict[str, Single] = {}
    for label in dict.fromkeys(cost.technique for cost in costs):
        own = [cost for cost in costs if cost.technique == label]
        values[f"changes/{label}/busy"] = _mean([_timed(cost.busy_runs_ns, 1.0) for cost in own])
        latency = [_timed(cost.latency_runs_ns, 1e-3) for cost in own]
        values[f"changes/{label}/latency"] = _mean(latency)
        values[f"changes/{label}/latency@first"], values[f"changes/{label}/latency@last"] = latency[0], latency[-1]
    return values


def _timed(runs_ns: Sequence[float], scale: float) -> Single:
    """Median of repetitions; with 97 % it lies between the least and the most of six, whatever the distribution."""
    median = scale * float(np.median(runs_ns))
    return Single(median) if len(runs_ns) < 2 else Single(median, scale * min(runs_ns), scale * max(runs_ns))


def _mean(singles: Sequence[Single]) -> Single:
    """Mean of several, with the means of their ends."""
    ends = [(one.low, one.high) for one in singles if one.low is not None and one.high is not None]
    value = float(np.mean([one.value for one in singles]))
    if len(ends) < len(singles):
        return Single(value)
    return Single(value, float(np.mean([low for low, _ in ends])), float(np.mean([high for _, high in ends])))
