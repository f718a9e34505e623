"""Measures as the judge sees them; those over cells: a quantity, the cells it is taken of, their combination."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from anabranch.files.hints import nearest
from anabranch.reproduce.claims.quantity import LOWER_IS_BETTER, UNITS, Quantity
from anabranch.reproduce.claims.schema import CELL_MEASURE
from anabranch.simulate.stats.fct import STATISTICS
from anabranch.simulate.stats.size_classes import ALL_FLOWS, SizeClass, parse_bounds

SCHEME_AXIS = "scheme"
"""The axis that a plain name in `of` and `over` is a value of."""

FORMS = ("value", "ratio", "reduction", "increase", "difference")
ACROSS = ("mean", "each", "least", "most")
KEYS = tuple(key.name for key in CELL_MEASURE)

Labels = dict[str, Any]
"""Value, or name of the value, by axis."""


class Measure(Protocol):
    """Value to measure, as the judge sees it."""

    @property
    def unit(self) -> str:
        """Unit of its values."""

    @property
    def neutral(self) -> float | None:
        """Value that means no difference; None if it compares nothing."""

    @property
    def relative(self) -> bool:
        """Whether its values are ratios, or percents by which one number is smaller or larger than another."""

    @property
    def across(self) -> str:
        """Combination of points: mean, each, least or most."""

    @property
    def order(self) -> Sequence[Sequence[Any]]:
        """Ranks of schemes, best first; empty if none are ranked."""


@dataclass(frozen=True)
class CellMeasure:
    """A quantity of some cells, or of some over that of others.

    With `over`, cells are paired by seed and by the axes that neither names. `form` makes of a pair its ratio, or by
    how many percent it is smaller (`reduction`) or larger (`increase`), or its difference. Points of other axes are put
    together as `across` says: their mean (geometric for ratios), the least, the most, or each by itself, from the
    least to the most. Where `along` names axes, only these make points, and the others are averaged within.
    """

    quantity: Quantity
    of: Labels = field(default_factory=dict)
    worst_of: tuple[str, ...] = ()
    """Schemes in place of one in `of`: the one that is worst on average counts."""
    over: Labels | None = None
    beside: tuple[Labels, Labels] | None = None
    """Second pair, whose ratio divides that of the first."""
    form: str = "value"
    at: dict[str, list[Any]] = field(default_factory=dict)
    """Axes that are held, with the values that count."""
    across: str = "mean"
    along: tuple[str, ...] = ()
    order: list[list[Any]] = field(default_factory=list)
    """Ranks of the scheme axis, best first; those of one list are not compared with one another."""

    @property
    def sides(self) -> list[Labels]:
        """Cells that make one number: one, a pair, or two pairs."""
        return [self.of, *([] if self.over is None else [self.over]), *(self.beside or ())]

    @property
    def lower_is_better(self) -> bool:
        """How schemes are ranked by the quantity."""
        return LOWER_IS_BETTER[self.quantity.name]

    @property
    def neutral(self) -> float | None:
        """The value that means no difference."""
        return {"value": None, "ratio": 1.0, "reduction": 0.0, "increase": 0.0, "difference": 0.0}[self.form]

    @property
    def unit(self) -> str:
        """Unit of its values."""
        return {"ratio": "x", "reduction": "%", "increase": "%"}.get(self.form, self.quantity.unit)

    @property
    def relative(self) -> bool:
        """Whether numbers are divided, and ratios averaged as such."""
        return self.form in ("ratio", "reduction", "increase")

    def formed(self, ratio: float) -> float:
        """A ratio of two cells as the measure puts it."""
        return {"ratio": ratio, "reduction": 100.0 * (1.0 - ratio), "increase": 100.0 * (ratio - 1.0)}[self.form]


def read_classes(given: Mapping[str, Any]) -> dict[str, SizeClass]:
    """Size classes by name: `{ above = "64 KB", upto = "10 MB" }`; `all` is always there.

    Raises:
        ValueError: a key is unknown.
        AnabranchError: a size is none.

    """
    classes = {"all": ALL_FLOWS}
    for name, ends in given.items():
        if unknown := set(ends) - {"above", "upto"}:
            raise ValueError(f"classes.{name}: {', '.join(sorted(unknown))}: unknown; use above and upto")
        above, upto = (parse_bounds(ends[key])[0] if key in ends else None for key in ("above", "upto"))
        classes[name] = SizeClass(name, above or 0, upto)
    return classes


def read_quantity(
    given: Mapping[str, Any], classes: Mapping[str, SizeClass], quantities: Collection[str] = tuple(UNITS)
) -> Quantity:
    """The quantity of a measure or of a figure, one of `quantities`.

    Raises:
        ValueError: a value that there is not.

    """
    return Quantity(
        _known("quantity", given["quantity"], quantities),
        classes[_known("class", given.get("class", "all"), classes)],
        _statistic(given.get("statistic", "mean")),
        tuple(given.get("ports", ())),
        tuple(given.get("out_of", ())),
        _weights(given),
        _counts(given),
    )


def read_measure(
    given: Mapping[str, Any], classes: Mapping[str, SizeClass], quantities: Collection[str] = tuple(UNITS)
) -> CellMeasure:
    """A measure of one of `quantities`.

    Raises:
        KeyError: a key is missing.
        ValueError: a key or a value that there is not.

    """
    for key in given:
        _known("measure", key, KEYS)
    quantity = read_quantity(given, classes, quantities)
    over = _labels(given["over"]) if "over" in given else None
    form = _known("as", given.get("as", "value" if over is None else "ratio"), FORMS)
    if (form == "value") != (over is None):
        raise ValueError(f"measure: as = `{form}`: {'name cells in over' if over is None else 'leave over out'}")
    beside = given.get("beside")
    if beside is not None and (set(beside) != {"of", "over"} or form not in ("ratio", "reduction", "increase")):
        raise ValueError("measure: beside: give `of` and `over`, and a form of the measure that is a ratio")
    order = [one if isinstance(one, list) else [one] for one in given.get("order", [])]
    if order and quantity.name not in LOWER_IS_BETTER:
        raise ValueError(f"measure: order: nobody is better by `{quantity.name}`")
    of = given.get("of", {})
    several = isinstance(of, list)
    if several and (len(of) < 2 or quantity.name not in LOWER_IS_BETTER):
        raise ValueError("measure: of: a list names two schemes or more, of a quantity by which one is worse")
    return CellMeasure(
        quantity=quantity,
        of={} if several else _labels(of),
        worst_of=tuple(of) if several else (),
        over=over,
        beside=None if beside is None else (_labels(beside["of"]), _labels(beside["over"])),
        form=form,
        at={axis: value if isinstance(value, list) else [value] for axis, value in by_axis(given.get("at", {}))},
        across=_known("across", given.get("across", "mean"), ACROSS),
        along=(given["along"],) if isinstance(given.get("along"), str) else tuple(given.get("along", ())),
        order=order,
    )


def _weights(given: Mapping[str, Any]) -> tuple[float, ...]:
    """Weights of the ports, all above zero and one for each."""
    weights = tuple(map(float, given.get("weights", ())))
    ports = len(given.get("ports", ()))
    deviates = given["quantity"] in ("split deviation", "packet deviation")
    if deviates and (len(weights) < 2 or len(weights) != ports):
        raise ValueError("weights: give two or more, one for each of the `ports`")
    if given["quantity"] == "peak backlog" and len(weights) not in (0, ports):
        raise ValueError("weights: give an allowance in KB for each of the `ports`, or none")
    if any(weight <= 0 for weight in weights):
        raise ValueError("weights: only weights above zero have an expected share")
    return weights


def _counts(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of counts, of which `decisions` needs one at least."""
    counts = tuple(given.get("counts", ()))
    if (given["quantity"] == "decisions") != bool(counts):
        raise ValueError("counts: only for the quantity `decisions`, which needs one name or more")
    return counts


def _labels(given: Any) -> Labels:
    return dict(by_axis(given)) if isinstance(given, Mapping) else {SCHEME_AXIS: given}


def by_axis(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Axes are named by keys of scenarios: `traffic.load` may be written without quotes."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from by_axis(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _statistic(given: str) -> str:
    """One, or one over another: `p99/mean`."""
    for one in given.split("/"):
        _known("statistic", one, STATISTICS)
    return given


def _known(what: str, value: Any, known: Any) -> Any:
    if value not in known:
        raise ValueError(f"{what}: `{value}` is unknown; {nearest(str(value), list(known))}")
    return value
