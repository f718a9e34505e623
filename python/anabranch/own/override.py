"""Schemes of one's own among keys that change a scenario: they stand where a load balancer's name would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from pathlib import Path
from typing import Any, TypeVar

from anabranch.errors import AnabranchError
from anabranch.own.named import Own, is_own, read_own
from anabranch.own.scheme import Scheme

T = TypeVar("T")

BALANCE = "routing.balance"
"""Key of a scenario that names its load balancer."""
UNDERNEATH = "ecmp"
"""Load balancer whose granularity and table a scheme of one's own works with, unless keys beside it say otherwise."""


def own_balance(
    scenario: T, overrides: Mapping[str, Any] | Iterable[tuple[str, str]]
) -> tuple[T, Mapping[str, Any] | list[tuple[str, str]], Scheme | Own | None]:
    """Scenario and changes without a scheme of one's own, and that scheme: an object, or what a text names.

    Args:
        scenario: A mapping, or anything else, in which no scheme can stand.
        overrides: Keys to change, which count more than the scenario's.

    Raises:
        AnabranchError: a text names no scheme, or one that cannot be used.

    """
    changed: Mapping[str, Any] | list[tuple[str, str]]
    own: Scheme | Own | None
    if isinstance(overrides, Mapping):
        own = _own(overrides.get(BALANCE))
        changed = overrides if own is None else {**overrides, BALANCE: UNDERNEATH}
    else:
        changed, own = taken_out(overrides, Path())
    routing = scenario.get("routing") if isinstance(scenario, Mapping) else None
    if isinstance(routing, Mapping):
        inner = _own(dict(routing).get("balance"))
        if inner is not None:
            without = copy(scenario)
            without["routing"] = {**routing, "balance": UNDERNEATH}  # type: ignore[index]
            return without, changed, own if BALANCE in dict(changed) else inner
    return scenario, changed, own


def _own(value: object) -> Scheme | Own | None:
    """Scheme that a value of `routing.balance` stands for: an object, a class of which a new one is made, or a text."""
    if isinstance(value, Scheme):
        return value
    if isinstance(value, type) and issubclass(value, Scheme):
        return value()
    return read_own(str(value), Path()) if is_own(value) else None


def taken_out(overrides: Iterable[tuple[str, str]], folder: Path) -> tuple[list[tuple[str, str]], Own | None]:
    """Overrides without the scheme of one's own that they name, and that scheme; files are relative to `folder`.

    Raises:
        AnabranchError: there is no such scheme, or it cannot be used.

    """
    own, changed = None, []
    for key, value in overrides:
        text = value.strip().strip("\"'")
        if key == BALANCE and is_own(text):
            try:
                own = read_own(text, folder)
            except AnabranchError as error:
                raise AnabranchError(f"-o {key}={error}") from error
            changed.append((key, UNDERNEATH))
        else:
            changed.append((key, value))
    return changed, own
