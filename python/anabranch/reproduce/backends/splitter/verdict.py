"""Verdicts: computed from what was measured now; only the words of a reason are prose."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anabranch.reproduce.line import AGREES, DIFFERS, INCOMPARABLE, RANKS
from anabranch.reproduce.splitting.claims import Claim
from anabranch.reproduce.splitting.measures import Measures
from anabranch.reproduce.splitting.theory import Band, jensen_random_pct
from anabranch.units import pct

TIMED = ("cost-", "changes/")
SMALLER = "--quick measures smaller loads than the paper"


@dataclass(frozen=True)
class Row:
    """One line of the final table."""

    id: str
    what: str
    where: str
    unit: str
    paper: float
    paper_text: str
    ours: float | None
    decent: float | None
    """Ours with a decent implementation in place of the published one."""
    theory: float | None
    low: float | None
    high: float | None
    theory_text: str
    kind: str
    because: str

    timed: bool
    """Whether ours is a time, which no seed fixes."""

    @property
    def paper_with_unit(self) -> str:
        """As printed."""
        return f"{self.paper_text} {self.unit}".strip()

    @property
    def ours_text(self) -> str:
        """Ours, and behind a bar ours with a decent implementation."""
        if self.ours is None:
            return "-"
        return pct(self.ours) if self.decent is None else f"{pct(self.ours)} | {pct(self.decent)}"

    @property
    def verdict(self) -> str:
        """The verdict as a sentence."""
        if not self.because:
            return self.kind
        return f"{self.kind}{': ' if self.kind in (AGREES, RANKS) else ' because '}{self.because}"


def judge(claim: Claim, measures: Measures, quick: bool = False) -> Row:
    """The verdict on one claim; a quick run cannot judge what depends on the load."""
    ours = _ratio(claim.measure, claim, measures) if claim.measure else None
    decent = _ratio(claim.decent, claim, measures) if claim.decent else None
    bound = None if claim.jensen is None else jensen_random_pct(claim.jensen)
    band = _band(claim, measures) if bound is None else None
    kind, outcome = _compare(claim, ours, decent, band, bound)
    if quick and claim.compare == "within" and claim.measure[0].startswith("cost-"):
        claim, kind, outcome = replace(claim, reasons={"none": SMALLER}, printed=()), INCOMPARABLE, "none"
    because = claim.reasons.get(outcome, claim.reasons.get("differs", "") if kind == DIFFERS else "")
    parts = [because.format(**_fields(claim, measures, ours, decent, band, bound))] if because else []
    if kind == DIFFERS:
        parts += _alternatives(claim, measures)
    parts += _printed(claim)
    if kind == DIFFERS and not parts:
        parts = [f"{claim.value:g} is {outcome} what is expected" if outcome != "differs" else "the numbers differ"]
    return Row(
        id=claim.id,
        what=claim.what,
        where=claim.where,
        unit=claim.unit,
        paper=claim.value,
        paper_text=f"{claim.value:,.{claim.decimals}f}",
        ours=ours,
        decent=decent,
        theory=bound if band is None else band.value,
        low=bound if band is None else band.low,
        high=None if band is None else band.high,
        theory_text=_theory_text(band, bound),
        kind=kind,
        because="; ".join(parts),
        timed=any(name.startswith(TIMED) and "/memory" not in name for name in claim.measure),
    )


def _ratio(names: tuple[str, ...], claim: Claim, measures: Measures) -> float:
    value = float(np.mean([measures.value(name) for name in names]))
    return value if claim.per is None else value / measures.value(claim.per)


def _band(claim: Claim, measures: Measures) -> Band | None:
    """What theory expects of the measure; of a ratio of means, without a spread."""
    if claim.per is None:
        return measures.band(claim.measure[0]) if claim.measure else None
    bands = [measures.band(name) for name in (*claim.measure, claim.per)]
    values = [band.value for band in bands if band is not None]
    if len(values) < len(bands):
        return None
    ratio = float(np.mean(values[:-1])) / values[-1]
    return Band(ratio, ratio, ratio)


def _compare(
    claim: Claim, ours: float | None, decent: float | None, band: Band | None, bound: float | None
) -> tuple[str, str]:
    """The kind of verdict, and which reason goes with it."""
    value, slack = claim.value, claim.slack
    if claim.compare == "none" or ours is None:
        return INCOMPARABLE, "none"
    if claim.compare == "at-least" and bound is not None:
        return (AGREES, "agrees") if value + slack >= bound else (DIFFERS, "below")
    if claim.compare == "band" and band is not None:
        if band.holds(value, slack):
            return AGREES, "agrees"
        return DIFFERS, "above" if value > band.high else "below"
    if claim.compare == "order":
        if (value - 1.0) * (ours - 1.0) <= 0:
            return DIFFERS, "differs"
        if decent is not None and (value - 1.0) * (decent - 1.0) <= 0:
            return DIFFERS, "decent"
        return RANKS, "agrees"
    if abs(ours - value) <= slack or (ours > 0 and max(ours / value, value / ours) <= 1.0 + claim.tolerance):
        return AGREES, "agrees"
    return DIFFERS, "above" if value > ours else "below"


def _fields(
    claim: Claim, measures: Measures, ours: float | None, decent: float | None, band: Band | None, bound: float | None
) -> dict[str, str]:
    """What the braces of a reason may name, as text."""
    expected = bound if band is None else band.value
    reference = ours if expected is None else expected
    numbers = {name: measures.value(measure) for name, measure in claim.fields.items()}
    numbers |= {"paper": claim.value, "ours": ours or 0.0, "decent": decent or 0.0, "theory": expected or 0.0}
    if band is not None:
        numbers |= {"low": band.low, "high": band.high}
    if reference:
        numbers["times"] = claim.value / reference
        connections = measures.connections(claim.measure[0]) if claim.measure else None
        if connections:
            numbers["effective"] = connections / numbers["times"] ** 2
    return {name: pct(number) for name, number in numbers.items()}


def _alternatives(claim: Claim, measures: Measures) -> list[str]:
    """Which other readings would have given the published value."""
    fits: list[str] = []
    fails: list[str] = []
    for alternative in claim.alternatives:
        band = measures.band(alternative.measure, alternative.weights)
        if band is not None:
            text = f"{alternative.text} ({pct(band.low)} to {pct(band.high)})"
            (fits if band.holds(claim.value, claim.slack) else fails).append(text)
    if fits:
        return [f"fits {' and '.join(fits)}"]
    return [f"fits neither {' nor '.join(fails)}" if len(fails) > 1 else f"does not fit {fails[0]}"] if fails else []


def _printed(claim: Claim) -> list[str]:
    """Whether the paper's own figures give the ratio it states, within their rounding."""
    if not claim.printed:
        return []
    over, under = claim.printed
    low, high = ((over + s * _slack(over)) / (under - s * _slack(under)) for s in (-1, 1))
    if low - claim.slack <= claim.value <= high + claim.slack:
        return []
    return [f"the printed {over:g} / {under:g} is {over / under:.3g}"]


def _slack(value: float) -> float:
    return float(0.5 * 10.0 ** -len(f"{value:g}".partition(".")[2]))


def _theory_text(band: Band | None, bound: float | None) -> str:
    if band is None:
        return "-" if bound is None else f">= {pct(bound)}"
    return pct(band.value) if band.low == band.high else f"{pct(band.value)} ({pct(band.low)} to {pct(band.high)})"
