"""Verdicts on claims: computed from what was measured; only causes are prose. One judge for all backends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from anabranch.reproduce.backend import Evidence
from anabranch.reproduce.cells import LEFT_OUT, weightiest
from anabranch.reproduce.claim import Claim
from anabranch.reproduce.estimate import Estimate, Estimates, Measure
from anabranch.reproduce.line import AGREES, DIFFERS, INCOMPARABLE, NOT_RUN, RANKS, UNDECIDED, Line
from anabranch.reproduce.ranking import Ranking
from anabranch.reproduce.reasons import cause, fitting_alternatives, wrong_print
from anabranch.units import significant

UNFINISHED_MAX_PCT = 1.0
"""Share of the flows that may be unfinished; beyond it the line says so."""
CAUSE_UNKNOWN = "the numbers differ; the cause has not been found out"


@dataclass(frozen=True)
class _Verdict:
    """Kind of verdict, and the outcome by which its cause is found (one of `claim.OUTCOMES`, or empty)."""

    kind: str
    outcome: str
    note: str = ""
    """Reason that the rule itself gives."""


def judge(group: str, claim: Claim, evidence: Evidence) -> Line:
    """The verdict on one claim.

    Raises:
        AnabranchError: the claim names what the study does not have.

    """
    if claim.measure is None:
        return _line(group, claim, "-", INCOMPARABLE, claim.reason)
    if claim.compare == "order":
        return _order(group, claim, evidence.ranking(claim.measure))
    found = evidence.estimates(claim.measure)
    if found.mean is None:
        if claim.compare == "none":
            return _line(group, claim, "-", INCOMPARABLE, claim.reason)
        return _line(group, claim, "-", NOT_RUN, "; ".join(weightiest(found.missing)))
    fair = evidence.estimates(claim.fair).mean if claim.fair is not None else None
    chosen = _chosen(claim.measure, found)
    verdict = _compare(claim, chosen, found, fair)
    reasons = [verdict.note, cause(claim, verdict.kind, verdict.outcome, found, fair, evidence)]
    if verdict.kind == DIFFERS:
        reasons.append(fitting_alternatives(claim, evidence))
        if not any(reasons):
            reasons.append(CAUSE_UNKNOWN)
    if verdict.kind != INCOMPARABLE:
        reasons += [wrong_print(claim), *_notes(found, verdict.kind)]
    shown = chosen[0] if len(chosen) == 1 else found.mean
    text = _text(claim.measure, chosen, found)
    if fair is not None:
        text += f" | {_number(fair.value)} {claim.measure.unit}".rstrip()
    return _line(group, claim, text, verdict.kind, "; ".join(filter(None, reasons)), shown, found, fair)


def _chosen(measure: Measure, found: Estimates) -> list[Estimate]:
    """The estimates that are set against what is published."""
    if measure.across == "mean" or found.mean is None:
        return [found.mean] if found.mean else []
    by_value = sorted(found.points, key=lambda one: one.value)
    return {"each": [by_value[0], by_value[-1]], "least": by_value[:1], "most": by_value[-1:]}[measure.across]


def _compare(claim: Claim, chosen: list[Estimate], found: Estimates, fair: Estimate | None) -> _Verdict:
    """Applies the claim's rule."""
    if claim.compare == "none":
        return _Verdict(INCOMPARABLE, "", claim.reason)
    if claim.compare == "theory":
        return _against_theory(claim, found)
    if claim.compare == "value":
        if found.smaller:
            return _Verdict(INCOMPARABLE, "", found.smaller)
        if all(_agrees(one.value, claim) for one in chosen):
            return _Verdict(AGREES, "agrees")
        if any(_may_agree(one, claim) for one in chosen):
            return _Verdict(UNDECIDED, "", "the interval reaches what is published, the mean does not")
    return _by_side(claim, chosen, found, fair)


def _against_theory(claim: Claim, found: Estimates) -> _Verdict:
    """Whether theory allows what is published."""
    band = found.theory
    if band is None:
        return _Verdict(INCOMPARABLE, "", "theory says nothing of this value")
    if any(end is not None and band.holds(end, claim.tolerance) for end in (claim.low, claim.high)):
        return _Verdict(AGREES, "agrees")
    return _Verdict(DIFFERS, "above" if (claim.low or claim.high or 0.0) > band.high else "below")


def _by_side(claim: Claim, chosen: list[Estimate], found: Estimates, fair: Estimate | None) -> _Verdict:
    """Whether both are on the same side of no difference."""
    mean, neutral = found.mean, claim.measure.neutral if claim.measure else None
    assert mean is not None
    side = _side(claim.low, claim.high, neutral)
    # A rank has no number that could be too high or too low.
    apart = "differs" if claim.compare == "rank" else _direction(claim, chosen[0].value)
    if neutral is None or side == 0:
        return _Verdict(DIFFERS, apart)
    decided = mean.low is None or mean.high is None or not mean.low <= neutral <= mean.high
    if side * (mean.value - neutral) > 0 and decided:
        if claim.compare == "rank" and fair is not None and side * (fair.value - neutral) <= 0:
            return _Verdict(DIFFERS, "fair")
        return _Verdict(RANKS, "agrees" if claim.compare == "rank" else apart)
    if not decided:
        return _Verdict(UNDECIDED, "", "the interval holds no difference as well")
    return _Verdict(DIFFERS, apart)


def _direction(claim: Claim, ours: float) -> str:
    """Whether what is published is above or below ours."""
    return "above" if claim.low is not None and claim.low > ours else "below"


def _accepted(claim: Claim) -> tuple[float | None, float | None]:
    """Ends of the values that agree: within the tolerance or the factor of what is published."""
    factor, tolerance = claim.factor or 1.0, claim.tolerance
    low = None if claim.low is None else min(claim.low - tolerance, claim.low / factor)
    return low, None if claim.high is None else max(claim.high + tolerance, claim.high * factor)


def _agrees(value: float, claim: Claim) -> bool:
    low, high = _accepted(claim)
    return (low is None or value >= low) and (high is None or value <= high)


def _may_agree(one: Estimate, claim: Claim) -> bool:
    """Whether the interval has values that agree."""
    if one.low is None or one.high is None:
        return False
    low, high = _accepted(claim)
    return (low is None or one.high >= low) and (high is None or one.low <= high)


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


def _notes(found: Estimates, kind: str) -> list[str]:
    """Notes that a reader of the number must know."""
    notes = []
    left, flows = found.unfinished
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
    if kind == DIFFERS and "differs" in claim.because:
        because.append(claim.because["differs"])
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
    found: Estimates | None = None,
    fair: Estimate | None = None,
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
        seeds=found.seeds if found else 0,
        fair=fair.value if fair else None,
        theory=found.theory if found else None,
        timed=found.timed if found else False,
    )
