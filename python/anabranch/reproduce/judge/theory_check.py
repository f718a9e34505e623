"""Ours against theory: whether the value behind a claim is what theory, an invariant or a bound expects of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from anabranch.files.units import pct
from anabranch.reproduce.backends.backend import Evidence
from anabranch.reproduce.claims.claim import Claim
from anabranch.reproduce.judge.line import BOUNDED, FAILS, HOLDS, NO_ORACLE
from anabranch.reproduce.values.estimate import Estimates
from anabranch.reproduce.values.ranking import Ranking


@dataclass(frozen=True)
class TheoryCheck:
    """Outcome of ours against theory, one of `line.CHECKS`, and what it was checked against."""

    check: str = NO_ORACLE
    text: str = ""


def against_theory(claim: Claim, found: Estimates | Ranking, evidence: Evidence) -> TheoryCheck:
    """Checks ours against everything that there is: bounds of the runs, the file's theory, the backend's.

    Raises:
        AnabranchError: the file's theory names what the study does not have.

    """
    held = []
    if found.broken:
        return TheoryCheck(FAILS, found.broken)
    for wanted in claim.theories:
        law = evidence.estimates(wanted.measure)
        if law.broken:
            return TheoryCheck(FAILS, law.broken)
        if law.mean is not None:
            inside = wanted.low <= law.mean.value <= wanted.high
            text = f"{wanted.what}: {_between(law.mean.value, wanted.low, wanted.high)} ({wanted.source})"
            if not inside:
                return TheoryCheck(FAILS, text)
            held.append(text)
    if isinstance(found, Estimates) and found.oracle is not None:
        oracle = found.oracle
        text = f"{_between(oracle.ours, oracle.low, oracle.high)} ({oracle.source})"
        if not oracle.holds:
            return TheoryCheck(FAILS, text)
        held.append(text)
    if held:
        return TheoryCheck(HOLDS, "; ".join(held))
    if found.bounds:
        return TheoryCheck(BOUNDED, "every run within the bounds of capacity, propagation and conservation")
    return TheoryCheck()


def _between(value: float, low: float, high: float) -> str:
    """A value and the ends that it must not leave."""
    if math.isinf(high):
        return f"{pct(value)}, at least {pct(low)}"
    apart = high - low or abs(value - low)
    # Digits that tell the ends apart.
    digits = min(6, max(0, 1 - math.floor(math.log10(apart)))) if apart else 3
    shown = [f"{number:,.{digits}f}" for number in (value, low, high)]
    return f"{shown[0]}, exactly {shown[1]}" if low == high else f"{shown[0]}, {shown[1]} to {shown[2]} expected"
