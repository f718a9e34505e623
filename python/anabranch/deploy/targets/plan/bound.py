"""How far a split may be off its weights."""

from __future__ import annotations

from anabranch.files.errors import AnabranchError

BOUND_PCT = 1.0
"""Error that counts as near enough where no bound is given: the noise of some 30,000 connections over four paths."""


def parse_bound(text: str) -> float:
    """`1%` or `0.5` as percent.

    Raises:
        AnabranchError: text that is no percentage above zero.

    """
    try:
        bound = float(text.strip().removesuffix("%"))
    except ValueError:
        bound = 0.0
    if not 0 < bound < float("inf"):
        raise AnabranchError(f"error: {text}: not a percentage above 0; write it as 1% or 0.05%")
    return bound
