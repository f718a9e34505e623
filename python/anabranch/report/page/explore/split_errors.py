"""Errors of a split for the page: expected against the number of connections, and measured path by path."""

from __future__ import annotations

from typing import Any

import numpy as np

from anabranch.report.page.explore.packed import pack
from anabranch.split.job import Outcome, Result
from anabranch.split.stats.mape import mape_expected, mape_floor, path_errors

DECADES = (1, 7)
"""Powers of ten between which connections are counted, further if the trace has more."""
STEPS = 4
"""Points of a decade."""


def split_errors(result: Result) -> dict[str, Any]:
    """Data that `scripts/split_errors.js` reads; errors in percent, arrays of shape (techniques, numbers or paths)."""
    here = len(result.trace)
    low, high = DECADES
    powers = np.arange(STEPS * low, STEPS * max(high, int(np.ceil(np.log10(max(here, 1))))) + 1) / STEPS
    numbers = sorted({*np.round(10**powers).astype(int).tolist(), here})
    asked = result.techniques[0].asked
    return {
        "connections": numbers,
        "here": numbers.index(here),
        "techniques": [one.label for one in result.techniques],
        "floor": pack([mape_floor(asked, number) for number in numbers], "f4"),
        "expected": pack([[_expected(one, number) for number in numbers] for one in result.techniques], "f4"),
        "paths": [f"path {path} ({100 * share:.3g} %)" for path, share in enumerate(asked, 1)],
        "by_path": {
            "connections": pack([path_errors(one.asked, one.got_connections) for one in result.techniques], "f4"),
            "bytes": pack([path_errors(one.asked, one.got_bytes) for one in result.techniques], "f4"),
        },
    }


def _expected(outcome: Outcome, connections: int) -> float:
    """Expected MAPE of a technique over so many connections; NaN if its shares depend on arrivals."""
    if outcome.shares is None or outcome.expected_pct is None:
        return float("nan")
    return mape_expected(outcome.shares, outcome.asked, connections)
