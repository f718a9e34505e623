"""Ours against theory: whether the value behind a claim is what theory, an invariant or a bound expects of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from anabranch.files.units import pct
from anabranch.reproduce.backends.backend import Evidence
from anabranch.reproduce.claims.claim import Claim
from anabranch.reproduce.judge.line import BOUNDED, FAILS, HOLDS, NO_ORACLE
from anabranch.reproduce.values.cells import NOT_RECORDED
from anabranch.reproduce.values.estimate import Estimates
from anabranch.reproduce.values.ranking import Ranking


@dataclass(frozen=True)
class TheoryCheck:
    """Outcome of ours against theory, one of `line.CHECKS`, and what it was checked against."""

    check: str = NO_ORACLE
    text: str = ""


def against_theory(claim: Claim, estimates: Estimates | Ranking, evidence: Evidence) -> TheoryCheck:
    """Checks ours against everything that there is: bounds of the runs, the file's theory, the backend's.

    Raises:
        AnabranchError: the file's theory names what the study does not have.

    """
    verdicts, unchecked = [], []
    if estimates.broken:
        return TheoryCheck(FAILS, estimates.broken)
    for theory in claim.theories:
        law = evidence.estimates(theory.measure)
        if law.broken:
            return TheoryCheck(FAILS, law.broken)
        for one in law.chosen(theory.measure.across):
            text = f"{theory.what}: {_between(one.value, theory.low, theory.high)} ({theory.source})"
            if not theory.low <= one.value <= theory.high:
                return TheoryCheck(FAILS, text)
            verdicts.append(text)
        if law.mean is None and NOT_RECORDED in law.missing:
            unchecked.append(f"{theory.what}: not checked, for {NOT_RECORDED}")
    if isinstance(estimates, Estimates) and estimates.oracle is not None:
        oracle = estimates.oracle
        text = f"{_between(oracle.ours, oracle.low, oracle.high)} ({oracle.source})"
        if not oracle.holds:
            return TheoryCheck(FAILS, text)
        verdicts.append(text)
    if verdicts:
        return TheoryCheck(HOLDS, "; ".join([*verdicts, *unchecked]))
    if estimates.bounds:
        bounds = "every run within the bounds of capacity, propagation and conservation"
        return TheoryCheck(BOUNDED, "; ".join([bounds, *unchecked]))
    return TheoryCheck(text="; ".join(unchecked))


def _between(value: float, low: float, high: float) -> str:
    """A value and the ends that it must not leave."""
    if math.isinf(high):
        return f"{pct(value)}, at least {pct(low)}"
    apart = high - low or abs(value - low)
    # Digits that tell the ends apart.
    digits = min(6, max(0, 1 - math.floor(math.log10(apart)))) if apart else 3
    shown = [f"{number:,.{digits}f}" for number in (value, low, high)]
    return f"{shown[0]}, exactly {shown[1]}" if low == high else f"{shown[0]}, {shown[1]} to {shown[2]} expected"
