"""What a paper claims of one figure group: `expected.toml`, one table per claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anabranch.errors import AnabranchError
from anabranch.reproduce.measure import Measure, read_classes, read_measure, read_quantity
from anabranch.reproduce.quantity import Quantity
from anabranch.reproduce.splitting.study import load_toml

FILE = "expected.toml"
COMPARISONS = ("value", "rank", "order", "none")
KEYS = (
    "id", "what", "where", "text", "paper", "least", "most", "compare", "tolerance", "measure", "quick", "reason",
    "because",
)  # fmt: skip
TOP_KEYS = ("classes", "claim", "figure")
FIGURE_KEYS = ("title", "x", "series", "at", "quantity", "class", "statistic", "ports", "out_of")


@dataclass(frozen=True)
class Claim:
    """One claim, how it is measured and how it is judged.

    `compare` is `value` if what is published (from `low` to `high`, either of which may be open) must be met within
    `tolerance`, in the measure's unit; `rank` if only the side of no difference counts; `order` if schemes must come
    in the measure's order; `none` if it cannot be compared, for `reason`. `because` is what was found out about a
    difference: nothing stands there before it was.
    """

    id: str
    what: str
    where: str
    text: str
    """As published."""
    compare: str
    low: float | None
    high: float | None
    tolerance: float
    measure: Measure | None
    reason: str
    because: str


@dataclass(frozen=True)
class FigureWanted:
    """A figure of the study: a quantity along one axis, a series for each value of another, if any."""

    title: str
    quantity: Quantity
    x: str
    series: str | None
    at: dict[str, Any]


@dataclass(frozen=True)
class Expected:
    """The file."""

    claims: list[Claim]
    figures: list[FigureWanted]

    @property
    def quantities(self) -> list[Quantity]:
        """Everything that is measured."""
        return [one.measure.quantity for one in self.claims if one.measure] + [one.quantity for one in self.figures]


def load_expected(folder: Path, quick: bool = False) -> Expected:
    """Reads the claims and figures of a figure group.

    Raises:
        AnabranchError: a key that is missing, unknown, or has no such value.

    """
    path = folder / FILE
    table = load_toml(path)
    if unknown := set(table) - set(TOP_KEYS):
        raise AnabranchError(f"{path}: {', '.join(sorted(unknown))}: unknown; use {', '.join(TOP_KEYS)}")
    try:
        classes = read_classes(table.get("classes", {}))
    except (ValueError, AnabranchError) as error:
        raise AnabranchError(f"{path}: {error}") from None
    claims, figures = [], []
    for number, row in enumerate(table.get("claim", []), start=1):
        with _Named(path, f"claim {number} (id {row.get('id', '?')})"):
            claims.append(_claim(row, classes, quick))
    for number, row in enumerate(table.get("figure", []), start=1):
        with _Named(path, f"figure {number}"):
            figures.append(_figure(row, classes))
    return Expected(claims, figures)


@dataclass(frozen=True)
class _Named:
    """What goes wrong inside names the file and the entry."""

    path: Path
    entry: str

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, KeyError):
            raise AnabranchError(f"{self.path}: {self.entry}: key {error} is missing") from None
        if isinstance(error, (TypeError, ValueError)) and not isinstance(error, AnabranchError):
            raise AnabranchError(f"{self.path}: {self.entry}: {error}") from None


def _claim(row: Mapping[str, Any], classes: Mapping[str, Any], quick: bool) -> Claim:
    if unknown := set(row) - set(KEYS):
        raise ValueError(f"{', '.join(sorted(unknown))}: unknown; use {', '.join(KEYS)}")
    compare = row["compare"]
    if compare not in COMPARISONS:
        raise ValueError(f"compare: `{compare}` is none of {', '.join(COMPARISONS)}")
    low, high = _ends(row)
    measured = dict(row["measure"]) if compare != "none" else row.get("measure")
    if quick and measured is not None:
        measured |= row.get("quick", {})
    claim = Claim(
        id=row["id"],
        what=row["what"],
        where=row["where"],
        text=row["text"],
        compare=compare,
        low=low,
        high=high,
        tolerance=float(row["tolerance"]) if compare == "value" else 0.0,
        measure=None if measured is None else read_measure(measured, classes),
        reason=row["reason"] if compare == "none" else "",
        because=row.get("because", ""),
    )
    return _checked(claim)


def _checked(claim: Claim) -> Claim:
    """What each comparison needs."""
    measure, bare = claim.measure, claim.low is None and claim.high is None
    if claim.compare in ("value", "rank") and bare:
        raise ValueError("paper: give what is published: paper = 5, paper = [8, 35], least = 36 or most = 5")
    if measure is not None and claim.compare == "rank" and measure.neutral is None:
        raise ValueError("compare: a value by itself has no rank; give the measure `over`")
    if measure is not None and (claim.compare == "order") != bool(measure.order):
        raise ValueError("order: belongs to compare = `order`, which needs it")
    return replace(claim, measure=measure)


def _ends(row: Mapping[str, Any]) -> tuple[float | None, float | None]:
    if "paper" in row:
        low, high = row["paper"] if isinstance(row["paper"], list) else (row["paper"], row["paper"])
        return float(low), float(high)
    return tuple(float(row[key]) if key in row else None for key in ("least", "most"))  # type: ignore[return-value]


def _figure(row: Mapping[str, Any], classes: Mapping[str, Any]) -> FigureWanted:
    if unknown := set(row) - set(FIGURE_KEYS):
        raise ValueError(f"{', '.join(sorted(unknown))}: unknown; use {', '.join(FIGURE_KEYS)}")
    quantity = read_quantity({key: row[key] for key in row if key not in ("title", "x", "series", "at")}, classes)
    return FigureWanted(row["title"], quantity, row["x"], row.get("series"), dict(row.get("at", {})))
