"""Schemes to compare: those of the house by name, those of one's own by file, crate or class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.toml_document import parse_value
from anabranch.simulate.load_balancers import schemes as house
from anabranch.simulate.own.class_source import extracted, own_file
from anabranch.simulate.own.named import is_own, own_name, read_own
from anabranch.simulate.own.override import BALANCE, UNDERNEATH
from anabranch.simulate.own.program import PREFIX
from anabranch.simulate.own.scheme import Scheme

Place = Callable[[Path], str]
"""Writes the path of a file as a study file has it."""


@dataclass(frozen=True)
class Entry:
    """One scheme."""

    label: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the scenario, dotted, with their values."""
    own: tuple[str, Path, str] | None = None
    """Scheme of one's own in a file: prefix, path and ending of the value of `routing.balance`."""
    text: str = ""
    """Text of the file, if it is still to be written: `path` is then its name."""

    def value(self, place: Place) -> dict[str, Any]:
        """Keys of the scenario with paths as `place` writes them."""
        if self.own is None:
            return dict(self.keys)
        prefix, path, ending = self.own
        return {BALANCE: f"{prefix}{place(path)}{ending}", **self.keys}


Given = str | type[Scheme] | Mapping[str, Any]
"""A name, `FILE.py:CLASS`, `crate:FOLDER`, a class, or keys of the scenario."""


def read_entries(given: Sequence[Given] | Mapping[str, Given]) -> list[Entry]:
    """Reads all schemes; a mapping names them.

    Raises:
        AnabranchError: one is unknown or cannot be used, two have the same name, or there are fewer than two.

    """
    named = list(given.items()) if isinstance(given, Mapping) else [(None, one) for one in given]
    entries = _with_own_names([_entry(one, label) for label, one in named])
    for number, entry in enumerate(entries):
        if any(other.label == entry.label for other in entries[:number]):
            raise AnabranchError(
                f"schemes: {entry.label}: is named twice; hint: in Python a dict gives names, as in "
                '{"a": "letflow", "b": {"routing.balance": "letflow", "routing.gap": "200 us"}}'
            )
    if len(entries) < 2:
        raise AnabranchError(f"schemes: {len(entries)}: nothing to compare; give two at least, the baseline first")
    return entries


def _with_own_names(entries: list[Entry]) -> list[Entry]:
    """Adds the keys in which they differ to the names that several have."""
    labels = [entry.label for entry in entries]
    distinct = []
    for entry in entries:
        same = [other for other in entries if other.label == entry.label]
        differing = [
            f"{key.rpartition('.')[2]} {value}"
            for key, value in entry.keys.items()
            if any(other.keys.get(key) != value for other in same)
        ]
        label = ", ".join([entry.label, *differing]) if labels.count(entry.label) > 1 else entry.label
        distinct.append(replace(entry, label=label))
    return distinct


def _entry(given: Given, label: str | None) -> Entry:
    if isinstance(given, type) and issubclass(given, Scheme):
        return _of_class(given, label)
    if isinstance(given, Scheme):
        raise AnabranchError(
            f"schemes: {given.name}: is an object; give its class, of which each run makes a new one (parameters are "
            "subclasses)"
        )
    if isinstance(given, Mapping):
        keys = dict(given)
        if label is None:
            raise AnabranchError(f"schemes: {keys}: keys need a name; give a dict of names")
        balance = keys.pop(BALANCE, None)
        if isinstance(balance, type) and issubclass(balance, Scheme):
            entry = _of_class(balance, label)
        else:
            entry = _of_text(str(balance), label) if balance is not None else Entry(label)
        return Entry(label, {**entry.keys, **keys}, entry.own, entry.text)
    if isinstance(given, str):
        name, *settings = given.split(",")
        entry = _of_text(name.strip(), label)
        keys = dict(map(_setting, settings))
        return Entry(entry.label, {**entry.keys, **keys}, entry.own, entry.text)
    raise AnabranchError(
        f"schemes: {given!r}: is no scheme; give a name such as letflow, FILE.py:CLASS, crate:FOLDER, or a class"
    )


def _setting(text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise AnabranchError(f"schemes: {text}: not KEY=VALUE; write as in letflow,routing.gap=200us")
    try:
        return key.strip(), parse_value(value.strip(), f"schemes: {key.strip()}")
    except AnabranchError:
        return key.strip(), value.strip()


def _of_class(kind: type[Scheme], label: str | None) -> Entry:
    name = label or kind.__name__
    path = own_file(kind)
    if path is None:
        return Entry(name, {}, ("", Path(f"{kind.__name__}.py"), f":{kind.__name__}"), extracted(kind))
    if "." in kind.__module__:
        # A module of a package: it imports its neighbours by the package's name.
        return Entry(name, {BALANCE: f"{kind.__module__}:{kind.__name__}"})
    return Entry(name, {}, ("", path, f":{kind.__name__}"))


def _of_text(text: str, label: str | None) -> Entry:
    if is_own(text):
        try:
            own = read_own(text, Path())
        except AnabranchError as error:
            raise AnabranchError(f"schemes: {error}") from error
        name = label or own_name(own)
        if text.startswith(PREFIX):
            return Entry(name, {}, (PREFIX, Path(text.removeprefix(PREFIX)).resolve(), ""))
        where, colon, kind = text.rpartition(":")
        if where.endswith(".py"):
            return Entry(name, {}, ("", Path(where).resolve(), f"{colon}{kind}"))
        return Entry(name, {BALANCE: text})
    known = {one.name: one for one in house()}
    if text not in known:
        raise AnabranchError(
            f"schemes: {text}: unknown load balancer; {nearest(text, list(known))}; one of your own is FILE.py:CLASS "
            "or crate:FOLDER"
        )
    keys = {known[text].setting: text}
    return Entry(label or text, keys if BALANCE in keys else {BALANCE: UNDERNEATH, **keys})
