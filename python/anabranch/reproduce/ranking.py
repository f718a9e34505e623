"""Whether schemes come in the published order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from anabranch.reproduce.estimate import evaluate
from anabranch.reproduce.measure import SCHEME_AXIS, Measure
from anabranch.reproduce.values import Values


@dataclass(frozen=True)
class Ranking:
    """Pairs of the order, each compared on the same seeds."""

    ranked: list[tuple[Any, float]]
    """Schemes, best first, each over the best; geometric means."""
    contradicted: list[tuple[Any, Any, float]]
    """The scheme that should be better, the one that is, and by how many percent."""
    open: list[tuple[Any, Any]]
    """Pairs whose interval holds no difference."""
    missing: list[str]
    pairs: int


def rank(measure: Measure, values: Values) -> Ranking:
    """Compares every scheme of one rank with every scheme of the ranks behind it.

    A pair counts as settled if its 95 % interval over seeds excludes no difference, or, of one seed, as it came out.

    Raises:
        AnabranchError: a scheme that the study does not have.

    """
    missing: list[str] = []
    there: list[Any] = []
    for scheme in [scheme for one in measure.order for scheme in one]:
        alone = evaluate(_alone(measure, scheme), values)
        if alone.mean is None:
            missing.append(f"{scheme} ({'; '.join(alone.missing)})")
        else:
            there.append(scheme)
    contradicted: list[tuple[Any, Any, float]] = []
    undecided: list[tuple[Any, Any]] = []
    pairs = 0
    for better_rank, worse_rank in combinations(measure.order, 2):
        for better, worse in product(better_rank, worse_rank):
            mean = evaluate(_pair(measure, worse, better), values).mean if {better, worse} <= set(there) else None
            if mean is None:
                continue
            pairs += 1
            gain = mean.value if measure.lower_is_better else 1.0 / mean.value
            if mean.low is not None and mean.high is not None and mean.low <= 1.0 <= mean.high:
                undecided.append((better, worse))
            elif gain < 1.0:
                contradicted.append((better, worse, 100.0 * (1.0 / gain - 1.0)))
    return Ranking(_ranked(measure, there, values), contradicted, undecided, missing, pairs)


def _alone(measure: Measure, scheme: Any) -> Measure:
    return replace(measure, of={**measure.of, SCHEME_AXIS: scheme}, over=None, form="value", order=[], across="mean")


def _pair(measure: Measure, of: Any, over: Any) -> Measure:
    ends = ({**measure.of, SCHEME_AXIS: of}, {**measure.of, SCHEME_AXIS: over})
    return replace(measure, of=ends[0], over=ends[1], form="ratio", order=[], across="mean")


def _ranked(measure: Measure, there: list[Any], values: Values) -> list[tuple[Any, float]]:
    """Every scheme over one of them, then over the best."""
    over_first = []
    for one in there:
        mean = evaluate(_pair(measure, one, there[0]), values).mean
        if mean is not None:
            over_first.append((one, mean.value if measure.lower_is_better else 1.0 / mean.value))
    over_first.sort(key=lambda pair: pair[1])
    return [(one, value / over_first[0][1]) for one, value in over_first]
