"""Words behind a verdict: the cause that the file gives, other readings that fit, printed numbers that do not."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.files.units import pct
from anabranch.reproduce.backends.backend import Evidence
from anabranch.reproduce.claims.claim import Claim, half_digit
from anabranch.reproduce.judge.line import DIFFERS, RANKS
from anabranch.reproduce.values.estimate import Estimate, Estimates


def cause(
    claim: Claim, kind: str, outcome: str, estimates: Estimates | None, fair: Estimate | None, evidence: Evidence
) -> str:
    """The text for an outcome, its braces filled in; of a difference the text for any, if there is none of its own."""
    causes = claim.because.get(outcome, claim.because.get("differs", ()) if kind in (DIFFERS, RANKS) else ())
    if not causes:
        return ""
    numbers = _numbers(claim, estimates, fair, evidence)
    given = next((one for one in causes if _holds(one.when, numbers)), None)
    if given is None:
        return ""
    text = given.text
    if "{" in text:
        text = text.format_map(_Numbers({name: pct(number) for name, number in numbers.items()}))
    return f"{text} (shown by `{given.shown_by}`)" if given.shown_by else text


def _holds(when: tuple[str, str, str] | None, numbers: Mapping[str, float]) -> bool:
    """Whether a condition holds; one on a number that was not measured does not."""
    if when is None:
        return True
    left, relation, right = when
    if left not in numbers or right not in numbers:
        return False
    return numbers[left] > numbers[right] if relation == ">" else numbers[left] < numbers[right]


class _Numbers(dict[str, str]):
    """Numbers by name; a name without a number stays as it is written."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


def _numbers(claim: Claim, estimates: Estimates | None, fair: Estimate | None, evidence: Evidence) -> dict[str, float]:
    """Numbers that a cause may name. The claim's own `fields` come before those that every claim has."""
    numbers = _of_every_claim(claim, estimates, fair) if estimates is not None else {}
    for name, measure in claim.fields.items():
        mean = evidence.estimates(measure).mean
        if mean is not None:
            numbers[name] = mean.value
    return numbers


def _of_every_claim(claim: Claim, estimates: Estimates, fair: Estimate | None) -> dict[str, float]:
    ours = estimates.mean.value if estimates.mean else 0.0
    paper = claim.low if claim.low is not None else claim.high or 0.0
    band = estimates.spread.band if estimates.spread else None
    numbers = {"paper": paper, "ours": ours}
    if band is not None:
        numbers["theory"] = band.value
    elif estimates.oracle is not None and estimates.oracle.value is not None:
        numbers["theory"] = estimates.oracle.value
    if fair is not None:
        numbers["fair"] = fair.value
    if band is not None:
        numbers |= {"low": band.low, "high": band.high}
    reference = band.value if band else ours
    if reference:
        numbers["times"] = paper / reference
        if estimates.connections:
            numbers["effective"] = estimates.connections / numbers["times"] ** 2
    return numbers


def fitting_alternatives(claim: Claim, evidence: Evidence) -> str:
    """Which other readings give the published value."""
    fits: list[str] = []
    fails: list[str] = []
    for alternative in claim.alternatives:
        spread = evidence.estimates(alternative.measure).spread
        if spread is not None and claim.low is not None:
            text = f"{alternative.text} ({pct(spread.band.low)} to {pct(spread.band.high)})"
            is_met = spread.holds(claim.low, claim.tolerance)
            if is_met is not None:
                (fits if is_met else fails).append(text)
    if fits:
        return f"fits {' and '.join(fits)}"
    if len(fails) > 1:
        return f"fits neither {' nor '.join(fails)}"
    return f"does not fit {fails[0]}" if fails else ""


def wrong_print(claim: Claim) -> str:
    """Note that the paper's own figures do not give the ratio it states, within their rounding."""
    if not claim.printed or claim.low is None:
        return ""
    over, under = claim.printed
    low, high = ((over + s * _slack(over)) / (under - s * _slack(under)) for s in (-1, 1))
    if low - claim.tolerance <= claim.low <= high + claim.tolerance:
        return ""
    return f"the printed {over:g} / {under:g} is {over / under:.3g}"


def _slack(value: float) -> float:
    """Half a unit of the last digit; a float of a whole number was printed without digits."""
    return half_digit(int(value) if value == int(value) else value)
