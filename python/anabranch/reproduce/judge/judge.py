"""Verdicts on claims, all computed: ours against theory, and the paper against ours. One judge for all backends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.files.units import significant
from anabranch.reproduce.backends.backend import Evidence
from anabranch.reproduce.claims.claim import Claim
from anabranch.reproduce.claims.measure import Measure
from anabranch.reproduce.judge.line import (  # fmt: skip
    AGREES,
    BLIND,
    DIFFERS,
    FAILS,
    INCOMPARABLE,
    NOT_RUN,
    RANKS,
    UNDECIDED,
    VOID,
    Line,
)
from anabranch.reproduce.judge.reasons import cause, fitting_alternatives, wrong_print
from anabranch.reproduce.judge.theory_check import TheoryCheck, against_theory
from anabranch.reproduce.judge.zone import (
    NO_EFFECT_PCT,
    Zone,
    agreeing,
    no_effect,
    one_side,
    side,
)
from anabranch.reproduce.values.cells import LEFT_OUT, weightiest
from anabranch.reproduce.values.estimate import Estimate, Estimates, most_needed, seeds_deciding
from anabranch.reproduce.values.ranking import Ranking
from anabranch.split.stats.confidence import seeds_needed

UNFINISHED_MAX_PCT = 1.0
"""Share of the flows that may be unfinished; beyond it the line says so."""
CAUSE_UNKNOWN = "the numbers differ; the cause has not been found out"


@dataclass(frozen=True)
class _Verdict:
    """Kind of verdict, and the outcome by which its cause is found (one of `claim.OUTCOMES`, or empty)."""

    kind: str
    outcome: str = ""
    note: str = ""
    """Reason that the rule itself gives."""
    needed: int | None = None


def judge(group: str, claim: Claim, evidence: Evidence, least_seeds: int = 2) -> Line:
    """The verdict on one claim; values over fewer than `least_seeds` seeds decide nothing.

    Raises:
        AnabranchError: the claim names what the study does not have.

    """
    if claim.measure is None:
        return _line(group, claim, "-", _Verdict(INCOMPARABLE), claim.reason)
    if claim.compare == "order":
        return _order(group, claim, evidence)
    estimates = evidence.estimates(claim.measure)
    checked = against_theory(claim, estimates, evidence)
    if estimates.mean is None:
        missing = claim.reason if claim.compare == "none" else "; ".join(weightiest(estimates.missing))
        return _line(group, claim, "-", _Verdict(INCOMPARABLE if claim.compare == "none" else NOT_RUN), missing)
    fair = evidence.estimates(claim.fair).mean if claim.fair is not None else None
    chosen = estimates.chosen(claim.measure.across)
    if checked.check == FAILS:
        verdict = _Verdict(VOID, "", checked.text)
    else:
        verdict = _compare(claim, chosen, estimates, fair, evidence)
        # Times repeat on the machine, and exact values need no repetition at all.
        fewest = min(map(estimates.seeds_of, chosen))
        if verdict.kind in (AGREES, RANKS, DIFFERS, BLIND) and 0 < fewest < least_seeds and not estimates.timed:
            few = f"{fewest} {estimates.repeated}; a full run decides with {least_seeds} at least"
            verdict = _Verdict(UNDECIDED, "", few, least_seeds)
    reasons = [verdict.note, cause(claim, verdict.kind, verdict.outcome, estimates, fair, evidence)]
    if verdict.kind == DIFFERS:
        reasons.append(fitting_alternatives(claim, evidence))
        if not any(reasons):
            reasons.append(CAUSE_UNKNOWN)
    if verdict.kind not in (INCOMPARABLE, VOID):
        reasons += [claim.replaced, wrong_print(claim), *_notes(estimates)]
    shown = chosen[0] if len(chosen) == 1 else estimates.mean
    text = _text(claim.measure, chosen, estimates)
    if fair is not None:
        text += f" | {_number(fair.value)}{_interval(fair)} {claim.measure.unit}".rstrip()
    because = "; ".join(dict.fromkeys(filter(None, reasons)))
    return _line(group, claim, text, verdict, because, checked, shown, estimates, fair)


def _compare(
    claim: Claim, chosen: Sequence[Estimate], estimates: Estimates, fair: Estimate | None, evidence: Evidence
) -> _Verdict:
    """Applies the claim's rule."""
    if claim.compare == "none":
        return _Verdict(INCOMPARABLE, "", claim.reason)
    if claim.compare == "trials":
        return _among_trials(claim, estimates)
    if claim.compare in ("rank", "sign"):
        return _by_side(claim, chosen, estimates, fair, evidence, AGREES if claim.compare == "sign" else RANKS)
    if estimates.smaller or claim.replaced:
        smaller = estimates.smaller or f"this run has {claim.replaced}"
        return (
            _Verdict(INCOMPARABLE, "", smaller)
            if side(claim) == 0
            else _by_side(claim, chosen, estimates, fair, evidence, RANKS)
        )
    zone = agreeing(claim)
    inside = [zone.holds(one) for one in chosen]
    if all(inside):
        return _discriminating(claim, zone, evidence)
    if False in inside:
        outcome = _direction(
            claim, next(one.value for one, is_inside in zip(chosen, inside, strict=True) if is_inside is False)
        )
        beyond = one_side(claim)
        same = side(claim) != 0 and all(beyond.holds(one) and one.value != claim.measure.neutral for one in chosen)  # type: ignore[union-attr]
        return _Verdict(RANKS if same else DIFFERS, outcome)
    return _undecided(
        [(one, zone.distance(one)) for one, is_inside in zip(chosen, inside, strict=True) if not is_inside], estimates
    )


def _discriminating(claim: Claim, zone: Zone, evidence: Evidence, agreed: str = AGREES) -> _Verdict:
    """Agreement, unless every other scheme agrees with the number, or the side, as well."""
    assert claim.measure is not None
    others = [(name, evidence.estimates(measure).mean) for name, measure in evidence.rivals(claim.measure)]
    means = [(name, mean) for name, mean in others if mean is not None]
    if means and all(zone.holds(mean) for _, mean in means):
        same = ", ".join(f"{name} {_number(mean.value)}" for name, mean in means)
        return _Verdict(BLIND, "", f"every scheme comes to it: {same}")
    return _Verdict(agreed, "agrees")


def _among_trials(claim: Claim, estimates: Estimates) -> _Verdict:
    """Whether what is published is one of the means that as many trials of ours would have."""
    spread, published = estimates.spread, claim.low if claim.low is not None else claim.high
    assert published is not None
    if spread is None:
        return _Verdict(INCOMPARABLE, "", estimates.smaller or "its trials have no known spread")
    is_among = spread.holds(published, claim.tolerance)
    if is_among:
        return _Verdict(AGREES, "agrees")
    if is_among is False:
        return _Verdict(DIFFERS, "above" if published > spread.band.high else "below")
    why = "the published value lies at the end of what as many trials as the paper's come to"
    if not estimates.seeds:
        return _Verdict(UNDECIDED, "", why)
    return _more(why, seeds_needed(spread.slack, estimates.seeds, spread.margin(published, claim.tolerance)), estimates)


def _by_side(
    claim: Claim,
    chosen: Sequence[Estimate],
    estimates: Estimates,
    fair: Estimate | None,
    evidence: Evidence,
    agreed: str,
) -> _Verdict:
    """Whether all intervals lie on the published side of no difference; those of a fair competitor too."""
    neutral = claim.measure.neutral if claim.measure else None
    assert neutral is not None
    side = one_side(claim)
    other = Zone(None, neutral) if side.low is not None else Zone(neutral, None)
    answers = [side.holds(one) if one.value != neutral else None for one in chosen]
    if any(one.low == one.high == neutral for one in chosen):
        return _Verdict(DIFFERS, "differs", "ours shows no difference at all")
    if any(other.holds(one) and one.value != neutral for one in chosen):
        return _Verdict(DIFFERS, "differs")
    if not all(answers):
        none = no_effect(claim)
        if none is not None and any(
            none.holds(one) and not inside for one, inside in zip(chosen, answers, strict=True)
        ):
            return _Verdict(DIFFERS, "differs", f"ours shows no difference above {NO_EFFECT_PCT:g} %")
        apart = [(one, abs(one.value - neutral)) for one, inside in zip(chosen, answers, strict=True) if not inside]
        return _undecided(apart, estimates, "the interval reaches no difference")
    if fair is not None and not side.holds(fair):
        if other.holds(fair):
            return _Verdict(DIFFERS, "fair")
        return _Verdict(UNDECIDED, "", "the fair competitor's interval reaches no difference")
    return _discriminating(claim, side, evidence, agreed)


def _undecided(
    apart: Sequence[tuple[Estimate, float]], estimates: Estimates, why: str = "the interval holds both"
) -> _Verdict:
    """Undecided, with the number of seeds that would decide it where the spread of seeds tells."""
    if any(one.low is None for one, _ in apart):
        return _Verdict(
            UNDECIDED, "", f"one of the {estimates.repeated} has no interval" if estimates.seeds <= 1 else why
        )
    if estimates.timed:
        return _Verdict(UNDECIDED, "", f"{why}; a quieter machine decides it")
    if not estimates.seeds:
        return _Verdict(UNDECIDED, "", why)
    return _more(
        why, most_needed([seeds_deciding(one, estimates.seeds_of(one), distance) for one, distance in apart]), estimates
    )


def _more(why: str, needed: int | None, estimates: Estimates) -> _Verdict:
    """Undecided, and how many seeds, or what else was repeated, would decide it."""
    more = (
        f"about {needed:,} {estimates.repeated} would decide it"
        if needed
        else f"no number of {estimates.repeated} in sight"
    )
    return _Verdict(UNDECIDED, "", f"{why}; {more}", needed)


def _direction(claim: Claim, ours: float) -> str:
    """Whether what is published is above or below ours."""
    return "above" if claim.low is not None and claim.low > ours else "below"


def _notes(estimates: Estimates) -> list[str]:
    """Notes that a reader of the number must know."""
    notes = []
    left, flows = estimates.unfinished
    if flows and 100 * left > UNFINISHED_MAX_PCT * flows:
        notes.append(f"{left:,} of {flows:,} flows did not end, and count nowhere")
    missing = [one for one in estimates.missing if not one.endswith(LEFT_OUT)]
    if missing:
        notes.append(f"without some points: {'; '.join(missing)}")
    return notes


def _order(group: str, claim: Claim, evidence: Evidence) -> Line:
    ranking: Ranking = evidence.ranking(claim.measure)
    checked = against_theory(claim, ranking, evidence)
    because = [
        *(f"{better} is worse than {', '.join(worse)}" for better, worse in _grouped(ranking.contradicted)),
        *(f"{better} cannot be told from {', '.join(worse)}" for better, worse in _grouped(ranking.open)),
    ]
    missing = [f"without {one}" for one in ranking.missing]
    if ranking.pairs == 0:
        return _line(group, claim, "-", _Verdict(NOT_RUN), "; ".join(ranking.missing))
    kind = DIFFERS if ranking.contradicted else UNDECIDED if ranking.open else AGREES
    if kind == UNDECIDED and ranking.needed:
        because.append(f"about {ranking.needed:,} seeds would decide it")
    if kind == DIFFERS and "differs" in claim.because:
        because.append(cause(claim, kind, "differs", None, None, evidence))
    if checked.check == FAILS:
        kind, because = VOID, [checked.text]
    ours = ", ".join(f"{label} {_number(one.value)}{_interval(one)}" for label, one in ranking.ranked)
    ours = f"{ours} {claim.measure.unit}".strip() if claim.measure else ours
    line = _line(group, claim, ours, _Verdict(kind), "; ".join(filter(None, [*because, *missing])), checked)
    return replace(line, seeds=ranking.seeds, needed=ranking.needed if kind == UNDECIDED else None)


def _grouped(pairs: list[tuple[Any, Any]]) -> Iterable[tuple[Any, list[str]]]:
    """Pairs by their first."""
    for first in dict.fromkeys(first for first, _ in pairs):
        yield first, [str(second) for one, second in pairs if one == first]


def _seeds(estimates: Estimates, shown: Estimate | None) -> int:
    """Values behind what is shown; of a range, those that all of its points have."""
    return estimates.seeds if shown is None else estimates.seeds_of(shown)


def _text(measure: Measure, chosen: Sequence[Estimate], estimates: Estimates) -> str:
    if len(chosen) > 1:
        ends = [end for one in chosen for end in (one.low, one.high) if end is not None]
        interval = f" (intervals {_number(min(ends))} to {_number(max(ends))})" if ends else ""
        return f"{_number(chosen[0].value)} to {_number(chosen[-1].value)} {measure.unit}".strip() + interval
    one = chosen[0]
    at = ", ".join(f"{axis.rpartition('.')[2]} {label}" for axis, label in one.point.items())
    where = f" at {at}" if at and (len(estimates.points) > 1 or one is estimates.mean) else ""
    return f"{_number(one.value)}{_interval(one)} {measure.unit}".strip() + where


def _interval(one: Estimate) -> str:
    return "" if one.low is None or one.high is None else f" ({_number(one.low)} to {_number(one.high)})"


def _number(value: float) -> str:
    return "0" if value == 0 else significant(value) if abs(value) >= 0.1 else f"{value:.2g}"


def _line(
    group: str,
    claim: Claim,
    ours: str,
    verdict: _Verdict,
    because: str,
    checked: TheoryCheck | None = None,
    shown: Estimate | None = None,
    estimates: Estimates | None = None,
    fair: Estimate | None = None,
) -> Line:
    checked = checked or TheoryCheck()
    return Line(
        group=group,
        id=claim.id,
        what=claim.what,
        where=claim.where,
        paper=claim.text,
        ours=ours,
        kind=verdict.kind,
        because=because,
        unit=claim.measure.unit if claim.measure else "",
        paper_low=claim.low,
        paper_high=claim.high,
        value=shown.value if shown else None,
        low=shown.low if shown else None,
        high=shown.high if shown else None,
        seeds=_seeds(estimates, shown) if estimates else 0,
        repeated=estimates.repeated if estimates else "seeds",
        needed=verdict.needed,
        fair=fair.value if fair else None,
        check=checked.check,
        checked_by=checked.text,
        oracle=estimates.oracle if estimates else None,
        spread=estimates.spread if estimates else None,
        compare=claim.compare,
        fixed=claim.fixed,
        chosen=claim.chosen,
        main=claim.main,
        repeats=claim.repeats,
        own=claim.own,
        timed=estimates.timed if estimates else False,
    )
