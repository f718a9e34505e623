"""Claims of a figure group, as the judge takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anabranch.reproduce.claims.measure import CellMeasure, Measure
from anabranch.reproduce.claims.quantity import Quantity

COMPARISONS = ("value", "rank", "sign", "order", "trials", "none")
LEAST_SEEDS = 5
"""Seeds of a full run; with fewer it decides nothing."""
OUTCOMES = ("agrees", "above", "below", "differs", "fair")


@dataclass(frozen=True)
class Alternative:
    """Another reading that might have given the published value."""

    text: str
    measure: Measure


@dataclass(frozen=True)
class Cause:
    """Cause of a verdict: a text with numbers of the run, or one that a command shows."""

    text: str
    shown_by: str = ""
    when: tuple[str, str, str] | None = None
    """Condition on numbers of the run, name, `<` or `>`, name; None if it always holds."""


@dataclass(frozen=True)
class TheoryClaim:
    """Value that ours must have whatever the paper says; `schema.THEORY` says what each key means."""

    name: str
    what: str
    source: str
    low: float
    high: float
    measure: Measure


@dataclass(frozen=True)
class Claim:
    """One claim, how it is measured and how it is judged; `schema.CLAIM` says what each key means."""

    id: str
    what: str
    where: str
    text: str
    """Statement as published."""
    compare: str
    low: float | None
    high: float | None
    tolerance: float
    factor: float | None
    measure: Measure | None
    fair: Measure | None = None
    reason: str = ""
    because: Mapping[str, Sequence[Cause]] = field(default_factory=dict)
    """Causes by outcome, one of `OUTCOMES`; the first whose condition holds is the one."""
    fields: Mapping[str, Measure] = field(default_factory=dict)
    alternatives: tuple[Alternative, ...] = ()
    printed: tuple[float, ...] = ()
    fixed: str = ""
    main: bool = False
    own: bool = False
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Settings that were chosen knowing the answer: their texts by name."""
    theories: tuple[TheoryClaim, ...] = ()
    repeats: str = ""
    replaced: str = ""
    """What a quick run measures in place of what is published; empty if it measures the same."""


@dataclass(frozen=True)
class FigureRequest:
    """A figure of the study: a quantity along one axis, a series for each value of another, or a map over both."""

    title: str
    quantity: Quantity
    x: str
    series: str | None
    at: dict[str, Any]
    y: str | None = None
    """Axis down the side of a map."""
    over: Any = None
    """Scheme that a map divides by."""


@dataclass(frozen=True)
class Expected:
    """The file."""

    claims: list[Claim]
    figures: list[FigureRequest]
    source: str = ""
    """Publication."""

    @property
    def quantities(self) -> list[Quantity]:
        """Everything that claims, figures and theory measure of cells."""
        return list(dict.fromkeys([*self._shown, *self._of_theory]))

    @property
    def checks(self) -> set[Quantity]:
        """What nothing but theory measures: a record from before a theory lacks it, and still has its claims."""
        return set(self._of_theory) - set(self._shown)

    @property
    def _shown(self) -> list[Quantity]:
        measures = [measure for claim in self.claims for measure in (claim.measure, claim.fair, *claim.fields.values())]
        return [*_quantities(measures), *(figure.quantity for figure in self.figures)]

    @property
    def _of_theory(self) -> list[Quantity]:
        return _quantities(theory.measure for claim in self.claims for theory in claim.theories)


def _quantities(measures: Iterable[Measure | None]) -> list[Quantity]:
    """Quantities of the measures that are of cells."""
    return [measure.quantity for measure in measures if isinstance(measure, CellMeasure)]


def half_digit(printed: object) -> float:
    """Half a unit of the last digit of a number as printed; 0 for a range."""
    if not isinstance(printed, (int, float)):
        return 0.0
    _, _, digits = repr(printed).partition(".") if isinstance(printed, float) else ("", "", "")
    return float(0.5 * 10.0 ** -len(digits))
