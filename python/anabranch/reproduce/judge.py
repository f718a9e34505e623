"""Verdicts on claims about networks: computed from what was measured; only causes are prose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from anabranch.reproduce.claim import Claim
from anabranch.reproduce.estimate import Estimate, Estimates, evaluate
from anabranch.reproduce.line import AGREES, DIFFERS, INCOMPARABLE, NOT_RUN, RANKS, UNDECIDED, Line
from anabranch.reproduce.measure import Measure
from anabranch.reproduce.ranking import Ranking, rank
from anabranch.reproduce.values import LEFT_OUT, Values, weightiest
from anabranch.units import significant

UNFINISHED_MAX_PCT = 1.0
"""Of the flows that count; beyond it the line says so."""
CAUSE_UNKNOWN = "the numbers differ; the cause has not been found out"


def judge(group: str, claim: Claim, values: Values) -> Line:
    """The verdict on one claim.

    Raises:
        AnabranchError: the claim names what the study does not have.

    """
    if claim.measure is None or claim.compare == "none":
        return _line(group, claim, "-", INCOMPARABLE, claim.reason)
    if claim.compare == "order":
        return _order(group, claim, rank(claim.measure, values))
    found = evaluate(claim.measure, values)
    if found.mean is None:
        return _line(group, claim, "-", NOT_RUN, "; ".join(weightiest(found.missing)))
    chosen = _chosen(claim.measure, found)
    kind, because = _compare(claim, chosen, found.mean)
    notes = [because, *_notes(claim.measure, found, kind)]
    shown = chosen[0] if len(chosen) == 1 else found.mean
    text = _text(claim.measure, chosen, found)
    return _line(group, claim, text, kind, "; ".join(filter(None, notes)), shown, found.seeds)


def _chosen(measure: Measure, found: Estimates) -> list[Estimate]:
    """The estimates that are set against what is published."""
    if measure.across == "mean" or found.mean is None:
        return [found.mean] if found.mean else []
    by_value = sorted(found.points, key=lambda one: one.value)
    return {"each": [by_value[0], by_value[-1]], "least": by_value[:1], "most": by_value[-1:]}[measure.across]


def _compare(claim: Claim, chosen: list[Estimate], mean: Estimate) -> tuple[str, str]:
    """The kind of verdict, and its reason."""
    low, high = claim.low, claim.high
    if claim.compare == "value" and all(_inside(one.value, low, high, claim.tolerance) for one in chosen):
        return AGREES, ""
    neutral = claim.measure.neutral if claim.measure else None
    if claim.compare == "value" and any(_may_be_inside(one, low, high, claim.tolerance) for one in chosen):
        return UNDECIDED, "the interval reaches what is published, the mean does not"
    side = _side(low, high, neutral)
    if neutral is None or side == 0:
        return DIFFERS, claim.because or CAUSE_UNKNOWN
    decided = mean.low is None or mean.high is None or not mean.low <= neutral <= mean.high
    if side * (mean.value - neutral) > 0 and decided:
        return RANKS, claim.because
    if not decided:
        return UNDECIDED, "the interval holds no difference as well"
    return DIFFERS, claim.because or CAUSE_UNKNOWN


def _inside(value: float, low: float | None, high: float | None, tolerance: float) -> bool:
    return (low is None or value >= low - tolerance) and (high is None or value <= high + tolerance)


def _may_be_inside(one: Estimate, low: float | None, high: float | None, tolerance: float) -> bool:
    """Whether the interval has values that agree."""
    if one.low is None or one.high is None:
        return False
    return (low is None or one.high >= low - tolerance) and (high is None or one.low <= high + tolerance)


def _side(low: float | None, high: float | None, neutral: float | None) -> int:
    """On which side of no difference the published numbers lie; 0 if on both."""
    if neutral is None or (low is None and high is None):
        return 0
    if low is None or high is None:
        # One open end: the other must lie on its side, or at no difference.
        if high is not None:
            return -1 if high <= neutral else 0
        return 1 if low is not None and low >= neutral else 0
    return (low + high > 2 * neutral) - (low + high < 2 * neutral)


def _notes(measure: Measure, found: Estimates, kind: str) -> list[str]:
    """What a reader of the number must know."""
    notes = []
    left, flows = found.unfinished if measure.quantity.counts_finished else (0, 0)
    if flows and 100 * left > UNFINISHED_MAX_PCT * flows:
        notes.append(f"{left:,} of {flows:,} flows did not end, and count nowhere")
    missing = [one for one in found.missing if not one.endswith(LEFT_OUT)]
    if missing:
        notes.append(f"without some points: {'; '.join(missing)}")
    if found.seeds == 1 and kind != AGREES:
        notes.append("one seed")
    return notes


def _order(group: str, claim: Claim, ranking: Ranking) -> Line:
    because = [
        *(f"{better} is worse than {', '.join(worse)}" for better, worse in _grouped(ranking.contradicted)),
        *(f"{better} cannot be told from {', '.join(worse)}" for better, worse in _grouped(ranking.open)),
    ]
    missing = [f"without {one}" for one in ranking.missing]
    if ranking.pairs == 0:
        return _line(group, claim, "-", NOT_RUN, "; ".join(ranking.missing))
    kind = DIFFERS if ranking.contradicted else UNDECIDED if ranking.open else RANKS
    if kind == DIFFERS and claim.because:
        because.append(claim.because)
    ours = ", ".join(f"{label} {_number(value)}" for label, value in ranking.ranked)
    ours = f"{ours} {claim.measure.unit}".strip() if claim.measure else ours
    return _line(group, claim, ours, kind, "; ".join([*because, *missing]))


def _grouped(pairs: list[tuple[Any, Any]]) -> Iterable[tuple[Any, list[str]]]:
    """Pairs by their first."""
    for first in dict.fromkeys(first for first, _ in pairs):
        yield first, [str(second) for one, second in pairs if one == first]


def _text(measure: Measure, chosen: list[Estimate], found: Estimates) -> str:
    if measure.across == "each" and len(found.points) > 1:
        return f"{_number(chosen[0].value)} to {_number(chosen[1].value)} {measure.unit}".strip()
    one = chosen[0]
    interval = "" if one.low is None or one.high is None else f" ({_number(one.low)} to {_number(one.high)})"
    at = ", ".join(f"{axis.rpartition('.')[2]} {label}" for axis, label in one.point.items())
    where = f" at {at}" if at and len(found.points) > 1 else ""
    return f"{_number(one.value)} {measure.unit}".strip() + interval + where


def _number(value: float) -> str:
    return "0" if value == 0 else significant(value) if abs(value) >= 0.1 else f"{value:.2g}"


def _line(
    group: str,
    claim: Claim,
    ours: str,
    kind: str,
    because: str,
    shown: Estimate | None = None,
    seeds: int = 0,
) -> Line:
    return Line(
        group=group,
        id=claim.id,
        what=claim.what,
        where=claim.where,
        paper=claim.text,
        ours=ours,
        kind=kind,
        because=because,
        unit=claim.measure.unit if claim.measure else "",
        paper_low=claim.low,
        paper_high=claim.high,
        value=shown.value if shown else None,
        low=shown.low if shown else None,
        high=shown.high if shown else None,
        seeds=seeds,
    )
