"""Schemes of one's own among keys that change a scenario: they stand where a load balancer's name would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.own.named import Own, is_own, read_own
from anabranch.simulate.own.scheme import Scheme

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
    if isinstance(scenario, (str, PathLike)):
        in_place, of_file = taken_out_of_file(scenario, dict(changed))
        if isinstance(changed, Mapping):
            return scenario, {**dict(in_place), **changed}, own or of_file
        return scenario, [*in_place, *changed], own or of_file
    routing = scenario.get("routing") if isinstance(scenario, Mapping) else None
    if isinstance(routing, Mapping):
        inner = _own(dict(routing).get("balance"), Path(str(getattr(scenario, "file", ""))).parent)
        if inner is not None:
            without = copy(scenario)
            without["routing"] = {**routing, "balance": UNDERNEATH}  # type: ignore[index]
            return without, changed, own if BALANCE in dict(changed) else inner
    return scenario, changed, own


def taken_out_of_file(file: str | PathLike[str], changed: Iterable[str]) -> tuple[list[tuple[str, str]], Own | None]:
    """Override that takes the place of the scheme of one's own that a scenario file names, and that scheme.

    Args:
        file: The scenario file; a scheme's file is relative to it.
        changed: Keys that are changed anyway: the file's load balancer does not matter if its key is one of them.

    Raises:
        AnabranchError: there is no such scheme, or it cannot be used; the message has file, line and key.

    """
    text = _text(Path(file)) if BALANCE not in changed else ""
    routing = parse_toml(text, str(file)).get("routing") if ":" in text else None
    balance = routing.get("balance") if isinstance(routing, dict) else None
    if not isinstance(balance, str) or not is_own(balance):
        return [], None
    try:
        own = read_own(balance, Path(file).parent)
    except AnabranchError as error:
        lines = [number for number, line in enumerate(text.splitlines(), 1) if balance in line.partition("#")[0]]
        where = f"{file}:{lines[0]}" if lines else str(file)
        raise AnabranchError(f"{where}: {BALANCE}: {error}") from error
    return [(BALANCE, UNDERNEATH)], own


def _text(file: Path) -> str:
    """Text of a file, or none where the reader of scenarios will say what is wrong with it."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _own(value: object, folder: Path = Path()) -> Scheme | Own | None:
    """Scheme that a value of `routing.balance` stands for: an object, a class of which a new one is made, or a text."""
    if isinstance(value, Scheme):
        return value
    if isinstance(value, type) and issubclass(value, Scheme):
        return value()
    return read_own(str(value), folder) if is_own(value) else None


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
