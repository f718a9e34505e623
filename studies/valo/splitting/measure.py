"""Measures of splitting as `expected.toml` writes them: names of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.files.hints import nearest

KEYS = ("of", "over", "weights", "scoring")
UNITS = {
    "throughput": "ns",
    "busy": "ns",
    "latency": "us",
    "memory": "MB",
    "count": "",
    "chi2": "",
    "volume ratio": "x",
    "counted ratio": "x",
}
"""Units by quantity; all others are percentages."""


@dataclass(frozen=True)
class ValueMeasure:
    """A value, or the mean of several, or its ratio to another; see `backend.Measure`."""

    of: tuple[str, ...]
    over: str | None = None
    weights: tuple[int, int] | None = None
    """Limits of theory's random weights, where they are not the study's."""
    scoring: float | None = None
    """Published error of scoring over two paths, which bounds that of random splitting."""

    across = "mean"
    order: Sequence[Sequence[Any]] = ()

    @property
    def unit(self) -> str:
        """Unit of the value: a factor for ratios, else the quantity's."""
        if self.over is not None:
            return "x"
        return UNITS.get(self.of[0].rpartition("/")[2].partition("@")[0], "%")

    @property
    def neutral(self) -> float | None:
        """Value at which neither side is ahead: 1 for ratios."""
        return None if self.over is None else 1.0

    @property
    def relative(self) -> bool:
        """Whether the value is a ratio of two."""
        return self.over is not None


def read_measure(given: Mapping[str, Any]) -> ValueMeasure:
    """A measure of splitting.

    Raises:
        KeyError: a key is missing.
        ValueError: a key that does not exist.

    """
    for key in given:
        if key not in KEYS:
            raise ValueError(f"measure: {key}: unknown key; {nearest(key, KEYS)}")
    names = given["of"]
    low_high = given.get("weights")
    return ValueMeasure(
        of=(names,) if isinstance(names, str) else tuple(names),
        over=given.get("over"),
        weights=None if low_high is None else (int(low_high[0]), int(low_high[1])),
        scoring=given.get("scoring"),
    )
