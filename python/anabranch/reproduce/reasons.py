"""Words behind a verdict: the cause that the file gives, other readings that fit, printed numbers that do not."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.reproduce.backend import Evidence
from anabranch.reproduce.claim import Claim, half_digit
from anabranch.reproduce.estimate import Band, Estimate, Estimates
from anabranch.reproduce.line import DIFFERS, RANKS
from anabranch.units import pct


def cause(claim: Claim, kind: str, outcome: str, found: Estimates, fair: Estimate | None, evidence: Evidence) -> str:
    """The text for an outcome, its braces filled in; of a difference the text for any, if there is none of its own."""
    text = claim.because.get(outcome, claim.because.get("differs", "") if kind in (DIFFERS, RANKS) else "")
    return text.format_map(_Numbers(_numbers(claim, found, fair, evidence))) if "{" in text else text


class _Numbers(dict[str, str]):
    """Numbers by name; a name without a number stays as it is written."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


def _numbers(claim: Claim, found: Estimates, fair: Estimate | None, evidence: Evidence) -> Mapping[str, str]:
    numbers: dict[str, float] = {}
    for name, measure in claim.fields.items():
        mean = evidence.estimates(measure).mean
        if mean is not None:
            numbers[name] = mean.value
    ours = found.mean.value if found.mean else 0.0
    paper = claim.low if claim.low is not None else claim.high or 0.0
    band = found.theory
    numbers |= {"paper": paper, "ours": ours, "theory": band.value if band else 0.0}
    if fair is not None:
        numbers["fair"] = fair.value
    if band is not None:
        numbers |= {"low": band.low, "high": band.high}
    reference = band.value if band else ours
    if reference:
        numbers["times"] = paper / reference
        if found.connections:
            numbers["effective"] = found.connections / numbers["times"] ** 2
    return {name: pct(number) for name, number in numbers.items()}


def fitting_alternatives(claim: Claim, evidence: Evidence) -> str:
    """Which other readings theory finds to give the published value."""
    fits: list[str] = []
    fails: list[str] = []
    for alternative in claim.alternatives:
        band = evidence.estimates(alternative.measure).theory
        if band is not None and claim.low is not None:
            text = f"{alternative.text} ({pct(band.low)} to {pct(band.high)})"
            (fits if band.holds(claim.low, claim.tolerance) else fails).append(text)
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


def theory_text(band: Band | None) -> str:
    """A band as the table shows it."""
    if band is None:
        return ""
    if band.high == float("inf"):
        return f">= {pct(band.low)}"
    return pct(band.value) if band.low == band.high else f"{pct(band.value)} ({pct(band.low)} to {pct(band.high)})"
