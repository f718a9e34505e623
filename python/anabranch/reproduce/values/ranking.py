"""Whether schemes come in the published order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from anabranch.reproduce.claims.measure import SCHEME_AXIS, CellMeasure
from anabranch.reproduce.values.cells import Cells, weightiest
from anabranch.reproduce.values.estimate import Estimate, most_needed, seeds_deciding
from anabranch.reproduce.values.evaluate import evaluate


@dataclass(frozen=True)
class Ranking:
    """Pairs of the order, each compared on the same seeds."""

    ranked: list[tuple[Any, Estimate]]
    """Schemes, best first, with their means in the quantity's unit."""
    contradicted: list[tuple[Any, Any]]
    """The scheme that should be better, and the one that is."""
    open: list[tuple[Any, Any]]
    """Pairs whose interval holds no difference."""
    missing: list[str]
    pairs: int
    seeds: int = 0
    needed: int | None = None
    """Seeds that would settle all open pairs, by the spread that was seen."""
    bounds: bool = False
    broken: str = ""
    """As of `Estimates`."""


def rank(measure: CellMeasure, cells: Cells) -> Ranking:
    """Compares every scheme of one rank with every scheme of the ranks behind it.

    A pair counts as settled if its 95 % interval over seeds excludes no difference; of one seed none is.

    Raises:
        AnabranchError: a scheme that the study does not have.

    """
    missing: list[str] = []
    means: dict[Any, Estimate] = {}
    seeds, bounds, broken = 0, True, ""
    for scheme in [scheme for one in measure.order for scheme in one]:
        alone = evaluate(_of(measure, scheme, None), cells)
        if alone.mean is None:
            missing.append(f"{scheme} ({'; '.join(weightiest(alone.missing))})")
        else:
            means[scheme] = alone.mean
            seeds, bounds, broken = max(seeds, alone.seeds), bounds and alone.bounds, broken or alone.broken
    contradicted: list[tuple[Any, Any]] = []
    undecided: list[tuple[Any, Any]] = []
    asked: list[int | None] = []
    pairs = 0
    for better_rank, worse_rank in combinations(measure.order, 2):
        for better, worse in product(better_rank, worse_rank):
            # Differences, for a quantity may be zero; of the logarithms where it may not, as of all ratios.
            positive = all(one in means and means[one].value > 0 for one in (better, worse))
            pair = replace(_of(measure, worse, better), form="ratio" if positive else "difference")
            compared = evaluate(pair, cells) if {better, worse} <= set(means) else None
            if compared is None or compared.mean is None:
                continue
            ratio = compared.mean
            pairs += 1
            neutral = 1.0 if positive else 0.0
            if ratio.low is None or ratio.high is None or ratio.low <= neutral <= ratio.high:
                undecided.append((better, worse))
                asked.append(seeds_deciding(ratio, compared.seeds, abs(ratio.value - neutral)))
            elif (ratio.value > neutral) != measure.lower_is_better:
                contradicted.append((better, worse))
    ranked = sorted(means.items(), key=lambda one: one[1].value, reverse=not measure.lower_is_better)
    return Ranking(ranked, contradicted, undecided, missing, pairs, seeds, most_needed(asked), bounds, broken)


def _of(measure: CellMeasure, of: Any, over: Any | None) -> CellMeasure:
    """A scheme alone, or over another."""
    sides = [None if one is None else {**measure.of, SCHEME_AXIS: one} for one in (of, over)]
    form = "value" if over is None else "ratio"
    return replace(measure, of=sides[0] or {}, over=sides[1], form=form, order=[], across="mean")
