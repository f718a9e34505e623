"""The file of a figure group's claims: `expected.toml`, one table per claim, read and checked."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.toml_document import read_toml
from anabranch.reproduce.claims.claim import (
    COMPARISONS,
    OUTCOMES,
    Alternative,
    Cause,
    Claim,
    Expected,
    FigureRequest,
    TheoryClaim,
    half_digit,
)
from anabranch.reproduce.claims.measure import Measure, by_axis, read_classes, read_measure, read_quantity
from anabranch.reproduce.claims.positions import entry_line, key_line
from anabranch.reproduce.claims.schema import CLAIM, FIGURE, THEORY, TOP
from anabranch.simulate.stats.size_classes import SizeClass

FILE = "expected.toml"
CAUSE_KEYS = ("text", "shown_by", "when")
RUN_NUMBERS = ("paper", "ours", "fair", "theory", "low", "high", "times", "effective")
"""Numbers of every run that texts and conditions of `because` may name, beside those in `fields`."""
KEYS, TOP_KEYS, FIGURE_KEYS, THEORY_KEYS = (
    tuple(key.name for key in keys) for keys in (CLAIM, TOP, FIGURE, THEORY)
)  # fmt: skip

Reader = Callable[[Mapping[str, Any], Mapping[str, SizeClass]], Measure]
"""Reads a measure of the study's backend."""


@dataclass(frozen=True)
class _File:
    """What all claims of a file share."""

    classes: Mapping[str, SizeClass]
    quick: bool
    read: Reader
    fixed: str
    chosen: Mapping[str, str]
    theories: Mapping[str, TheoryClaim]
    own: bool = False


def load_expected(folder: Path, quick: bool = False, read: Reader = read_measure) -> Expected:
    """Reads the claims and figures of a figure group; `read` reads a measure of its backend.

    Raises:
        AnabranchError: a key that is missing, unknown, or has no such value; the message has file and line.

    """
    path = folder / FILE
    table = read_toml(path)
    text = path.read_text(encoding="utf-8")
    for key in table:
        if key not in TOP_KEYS:
            line = key_line(text, 0, key)
            raise AnabranchError(f"{path}:{line}: {key}: unknown key; {nearest(key, TOP_KEYS)}")
    try:
        classes = read_classes(table.get("classes", {}))
        fixed = _date(table["fixed"]) if table.get("claim") else ""
    except KeyError:
        hint = "add the date on which tolerances were fixed, as in fixed = 2026-11-22"
        raise AnabranchError(f"{path}:1: fixed: missing; {hint}") from None
    except (ValueError, AnabranchError) as error:
        line = key_line(text, 0, str(error).partition(":")[0])
        raise AnabranchError(f"{path}:{line}: {error}") from None
    theories: dict[str, TheoryClaim] = {}
    claims, figures = [], []
    for number, row in enumerate(table.get("theory", []), start=1):
        with _Named(path, text, "theory", number, f"theory {number} ({row.get('name', '?')})"):
            theories[row["name"]] = _theory(row, classes, read)
    common = _File(classes, quick, read, fixed, table.get("chosen", {}), theories, bool(table.get("own", False)))
    for number, row in enumerate(table.get("claim", []), start=1):
        with _Named(path, text, "claim", number, f"claim {number} (id {row.get('id', '?')})"):
            _refuse_unknown(row, KEYS)
            claims += [_claim(each, common) for each in _each(row, common.chosen)]
    for number, row in enumerate(table.get("figure", []), start=1):
        with _Named(path, text, "figure", number, f"figure {number}"):
            figures.append(_figure(row, classes))
    return Expected(claims, figures, str(table.get("source", "")))


@dataclass(frozen=True)
class _Named:
    """Context in which an error names the file, the line and the entry."""

    path: Path
    text: str
    table: str
    number: int
    entry: str

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, AnabranchError) or not isinstance(error, (KeyError, TypeError, ValueError)):
            return
        start = entry_line(self.text, self.table, self.number)
        if isinstance(error, KeyError):
            problem, line = f"key {error} is missing; docs/study.md has all keys", start
        else:
            problem = str(error)
            line = key_line(self.text, start, problem.partition(":")[0])
        raise AnabranchError(f"{self.path}:{line}: {self.entry}: {problem}") from None


def _each(row: Mapping[str, Any], known: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """The claim at each value of the axis that `per` names; the published number counts at the first.

    A value whose name stands in the file's table `chosen` was chosen knowing the answer.
    """
    if "per" not in row:
        yield row
        return
    ((axis, values),) = by_axis(row["per"])
    plain = {key: value for key, value in row.items() if key != "per"}
    for place, value in enumerate(values):
        at: dict[str, Any] = {
            key: {**plain[key], "at": {**plain[key].get("at", {}), axis: value}}
            for key in ("measure", "fair")
            if key in plain
        }
        fields = {
            name: {**given, "at": {axis: value, **given.get("at", {})}}
            for name, given in plain.get("fields", {}).items()
        }
        name = axis.rpartition(".")[2]
        repeats = {"repeats": f"{name} {values[0]}"} if place else {}
        chosen = {"chosen": [*plain.get("chosen", []), *([value] if value in known else [])]}
        what = {"what": f"{plain['what']}; {name}: {value}"}
        yield {**plain, **at, **repeats, **chosen, **what, "fields": fields}


def _claim(row: Mapping[str, Any], file: _File) -> Claim:
    compare = row["compare"]
    if compare not in COMPARISONS:
        raise ValueError(f"compare: `{compare}` is unknown; use one of {', '.join(COMPARISONS)}")
    low, high = _ends(row)
    measured = dict(row["measure"]) if compare != "none" else row.get("measure")
    smaller = row.get("quick", {}) if file.quick and measured is not None else {}
    read = file.read
    claim = Claim(
        id=row["id"],
        what=row["what"],
        where=row["where"],
        text=row["text"],
        compare=compare,
        low=low,
        high=high,
        tolerance=_tolerance(row, compare),
        factor=float(row["factor"]) if "factor" in row else None,
        measure=None if measured is None else read({**measured, **smaller}, file.classes),
        fair=read(row["fair"], file.classes) if "fair" in row else None,
        reason=row["reason"] if compare == "none" else "",
        because=_because(row.get("because", {}), (*RUN_NUMBERS, *row.get("fields", {}))),
        fields={name: read(given, file.classes) for name, given in row.get("fields", {}).items()},
        alternatives=tuple(
            Alternative(given["text"], read(given["measure"], file.classes)) for given in row.get("alternatives", [])
        ),
        printed=tuple(map(float, row.get("printed", ()))),
        fixed=_date(row["fixed"]) if "fixed" in row else file.fixed,
        main=bool(row.get("main", False)),
        own=file.own,
        chosen={name: _named("chosen", name, file.chosen) for name in row.get("chosen", ())},
        theories=tuple(_named("theory", name, file.theories) for name in _names(row.get("theory", ()))),
        repeats=row.get("repeats", ""),
        replaced=_replaced(measured or {}, smaller),
    )
    _check(claim)
    return claim


def _refuse_unknown(row: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in row:
        if key not in known:
            raise ValueError(f"{key}: unknown key; {nearest(key, known)}")


def _named(key: str, name: str, known: Mapping[str, Any]) -> Any:
    """An entry of the file by its name."""
    if name not in known:
        raise ValueError(f"{key}: {name}: the file has none of that name; {nearest(name, list(known))}")
    return known[name]


def _date(given: object) -> str:
    """A date of TOML."""
    if not isinstance(given, datetime.date) or isinstance(given, datetime.datetime):
        raise ValueError(f"fixed: {given}: no date; write it without quotes, as in fixed = 2026-11-22")
    return given.isoformat()


def _replaced(measured: Mapping[str, Any], smaller: Mapping[str, Any]) -> str:
    """What is measured in place of what is published."""
    changes = [f"{value} in place of {measured.get(key, 'the default')}" for key, value in smaller.items()]
    return "; ".join(changes).replace("{", "").replace("}", "").replace("'", "")


def _check(claim: Claim) -> None:
    """Refuses a claim without what its comparison needs."""
    measure, is_unbounded = claim.measure, claim.low is None and claim.high is None
    if claim.compare in ("value", "rank", "sign", "trials") and is_unbounded:
        raise ValueError("paper: missing; give paper = 5, paper = [8, 35], least = 36 or most = 5")
    if claim.factor is not None and (claim.factor <= 1 or claim.compare != "value"):
        raise ValueError(f"factor: {claim.factor:g}: give a factor above 1, with compare = `value`")
    if claim.factor is not None and any(end is not None and end <= 0 for end in (claim.low, claim.high)):
        raise ValueError("factor: only numbers above zero have one; give a tolerance")
    if measure is not None and claim.compare in ("rank", "sign") and measure.neutral is None:
        raise ValueError("compare: a value by itself has no rank; give the measure `over`")
    if measure is not None and (claim.compare == "order") != bool(measure.order):
        raise ValueError("order: only for compare = `order`, which needs it in the measure; add or remove it")


def _ends(row: Mapping[str, Any]) -> tuple[float | None, float | None]:
    if "paper" in row:
        ends = row["paper"] if isinstance(row["paper"], list) else [row["paper"], row["paper"]]
        if len(ends) != 2 or not all(isinstance(end, (int, float)) for end in ends):
            raise ValueError(f"paper: {row['paper']}: not a number; give one as printed, or [low, high]")
        return float(ends[0]), float(ends[1])
    return tuple(float(row[key]) if key in row else None for key in ("least", "most"))  # type: ignore[return-value]


def _tolerance(row: Mapping[str, Any], compare: str) -> float:
    needed = compare == "value" and "factor" not in row
    return float(row["tolerance"]) if needed or "tolerance" in row else half_digit(row.get("paper"))


def _because(given: Any, numbers: Collection[str]) -> dict[str, list[Cause]]:
    by_outcome = isinstance(given, Mapping) and "text" not in given
    causes = given if by_outcome else {"differs": given}
    for outcome in causes:
        if outcome not in OUTCOMES:
            raise ValueError(f"because: {outcome}: no outcome; {nearest(outcome, OUTCOMES)}")
    return {
        outcome: [_cause(one, numbers) for one in (several if isinstance(several, list) else [several])]
        for outcome, several in causes.items()
    }


def _cause(given: Any, numbers: Collection[str]) -> Cause:
    if not isinstance(given, Mapping):
        cause = Cause(str(given))
    else:
        for key in given:
            if key not in CAUSE_KEYS:
                raise ValueError(f"because: {key}: unknown key; {nearest(key, CAUSE_KEYS)}")
        when = _condition(given["when"], numbers) if "when" in given else None
        cause = Cause(given["text"], given.get("shown_by", ""), when)
    if "{" not in cause.text and not cause.shown_by:
        raise ValueError(
            "because: a text that no run changes; put numbers of the run into braces, or name the command that shows "
            "it in shown_by"
        )
    return cause


def _condition(given: str, numbers: Collection[str]) -> tuple[str, str, str]:
    """A condition on two numbers of the run: `paper > room`."""
    words = given.split()
    if len(words) != 3 or words[1] not in ("<", ">"):
        raise ValueError(f"because: when: `{given}`: no condition; write two names with < or > between them")
    left, relation, right = words
    for name in (left, right):
        if name not in numbers:
            raise ValueError(f"because: when: {name}: no number of the run; {nearest(name, list(numbers))}")
    return left, relation, right


def _names(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _theory(row: Mapping[str, Any], classes: Mapping[str, SizeClass], read: Reader) -> TheoryClaim:
    _refuse_unknown(row, THEORY_KEYS)
    low, high = map(float, row["between"])
    return TheoryClaim(row["name"], row["what"], row["source"], low, high, read(row["measure"], classes))


def _figure(row: Mapping[str, Any], classes: Mapping[str, SizeClass]) -> FigureRequest:
    _refuse_unknown(row, FIGURE_KEYS)
    own = ("title", "x", "series", "at", "y", "over")
    quantity = read_quantity({key: row[key] for key in row if key not in own}, classes)
    if ("y" in row) != ("over" in row) or ("y" in row and "series" in row):
        raise ValueError("y: a map has `y` and `over`, and no `series`; give both, or neither")
    at = dict(by_axis(row.get("at", {})))
    return FigureRequest(row["title"], quantity, row["x"], row.get("series"), at, row.get("y"), row.get("over"))
