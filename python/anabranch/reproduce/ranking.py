"""Whether schemes come in the published order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from anabranch.reproduce.cells import Cells, weightiest
from anabranch.reproduce.evaluate import evaluate
from anabranch.reproduce.measure import SCHEME_AXIS, CellMeasure


@dataclass(frozen=True)
class Ranking:
    """Pairs of the order, each compared on the same seeds."""

    ranked: list[tuple[Any, float]]
    """Schemes, best first, with their means in the quantity's unit."""
    contradicted: list[tuple[Any, Any]]
    """The scheme that should be better, and the one that is."""
    open: list[tuple[Any, Any]]
    """Pairs whose interval holds no difference."""
    missing: list[str]
    pairs: int


def rank(measure: CellMeasure, cells: Cells) -> Ranking:
    """Compares every scheme of one rank with every scheme of the ranks behind it.

    A pair counts as settled if its 95 % interval over seeds excludes no difference, or, of one seed, as it came out.

    Raises:
        AnabranchError: a scheme that the study does not have.

    """
    missing: list[str] = []
    means: dict[Any, float] = {}
    for scheme in [scheme for one in measure.order for scheme in one]:
        alone = evaluate(_of(measure, scheme, None), cells)
        if alone.mean is None:
            missing.append(f"{scheme} ({'; '.join(weightiest(alone.missing))})")
        else:
            means[scheme] = alone.mean.value
    contradicted: list[tuple[Any, Any]] = []
    undecided: list[tuple[Any, Any]] = []
    pairs = 0
    for better_rank, worse_rank in combinations(measure.order, 2):
        for better, worse in product(better_rank, worse_rank):
            # Differences, for a quantity may be zero; of the logarithms where it may not, as of all ratios.
            positive = all(means.get(one, 0.0) > 0 for one in (better, worse))
            pair = replace(_of(measure, worse, better), form="ratio" if positive else "difference")
            found = evaluate(pair, cells).mean if {better, worse} <= set(means) else None
            if found is None:
                continue
            pairs += 1
            neutral = 1.0 if positive else 0.0
            if found.low is not None and found.high is not None and found.low <= neutral <= found.high:
                undecided.append((better, worse))
            elif (found.value > neutral) != measure.lower_is_better:
                contradicted.append((better, worse))
    ranked = sorted(means.items(), key=lambda one: one[1], reverse=not measure.lower_is_better)
    return Ranking(ranked, contradicted, undecided, missing, pairs)


def _of(measure: CellMeasure, of: Any, over: Any | None) -> CellMeasure:
    """A scheme alone, or over another."""
    sides = [None if one is None else {**measure.of, SCHEME_AXIS: one} for one in (of, over)]
    form = "value" if over is None else "ratio"
    return replace(measure, of=sides[0] or {}, over=sides[1], form=form, order=[], across="mean")
