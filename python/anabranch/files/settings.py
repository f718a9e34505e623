"""Tables of TOML files that people write, read key by key; every error has file, key, value and hint.

A key stands once, where it is read: its name, default, bounds and meaning. Reference pages and JSON Schemas are made of
what readers ask for (`asked`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest

Value = TypeVar("Value")

QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z/]+)\s*")
TIMES_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}
RATES_BPS = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
REQUIRED = "required"
"""Instead of a default: the key must be there."""
TABLE, TABLES, TABLE_OR_TABLES = "a table", "tables", "a table or a list of tables"
"""Values of a key that is a table, or several; how they are written may stand behind `tables`."""
NAME = "NAME"
"""Part of a path that stands for any name: `switch.NAME.ports`."""


class Key(NamedTuple):
    """One key that a reader of a file knows, as reference pages show it."""

    path: str
    default: object
    values: str
    """Values that the key takes, in words."""
    meaning: str
    otherwise: str
    """What is when the key is left out, in words; empty where `default` says it."""


class Settings:
    """One table of the file. Every getter removes its key; `end` refuses those that are left.

    Getters have in common: `key`, its name; `default`, its value where it is left out; `meaning`, for reference pages;
    `otherwise`, what is when it is left out, where the default is no value that could be written; `values`, what can be
    written, in words.
    """

    listeners: ClassVar[list[Callable[[Key], None]]] = []
    """Functions that are called with every key that a getter asks for."""

    def __init__(self, file: str, path: str, table: object, form: str | None = None, *, names: bool = False) -> None:
        """Reads `table`, to which `path` leads in `file`; raises an AnabranchError if it is none.

        `form` is the path for reference pages, where it differs: `group` for `group leaf2`. `names` says whether the
        keys are names that the user has chosen.
        """
        self.file = file
        self.path = path
        self._form = path if form is None else form
        self._names = names
        if not isinstance(table, Mapping):
            raise AnabranchError(f"{file}: {path}: {table}: not a table; write [{path}]")
        self._table: dict[str, Any] = dict(table)
        self._known: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def refuse(self, key: str, value: object, problem: str) -> NoReturn:
        """Raises an error that says what is wrong with a value, with a hint."""
        dot = "." if self.path else ""
        raise AnabranchError(f"{self.file}: {self.path}{dot}{key}: {value}: {problem}")

    def keys(self) -> list[str]:
        """Keys of the table that were not taken yet."""
        return list(self._table)

    def end(self) -> None:
        """Raises an AnabranchError if there is a key that nobody asked for."""
        for key in self._table:
            dot = "." if self.path else ""
            hint = nearest(key, self._known) if self._known else "leave it out"
            raise AnabranchError(f"{self.file}: {self.path}{dot}{key}: unknown key; {hint}")

    def take(
        self,
        key: str,
        default: Value,
        check: Callable[[Any], Value | None],
        hint: str,
        meaning: str,
        *,
        otherwise: str = "",
        values: str = "",
    ) -> Value:
        """Takes a key and converts its value with `check`, which returns None for values that are wrong."""
        self._ask(key, default, values or hint.removeprefix("give "), meaning, otherwise)
        if key not in self._table:
            return default
        given = self._table.pop(key)
        value = check(given)
        if value is None:
            self.refuse(key, given, hint)
        return value

    def given(self, key: str, default: Any, meaning: str, *, otherwise: str = "", values: str) -> Any:
        """Takes a key as it stands in the file."""
        return self.take(key, default, lambda given: given, "", meaning, otherwise=otherwise, values=values)

    def text(self, key: str, default: str, meaning: str, *, otherwise: str = "", values: str = "text") -> str:
        """Takes text that is not empty."""

        def check(given: object) -> str | None:
            return given if isinstance(given, str) and given else None

        return self.take(key, default, check, "give text", meaning, otherwise=otherwise, values=values)

    def one_of(self, key: str, default: str, known: Collection[str], meaning: str) -> str:
        """Takes one of some words."""
        word = self.text(key, default, meaning, values=", ".join(f'"{word}"' for word in known))
        if word not in known:
            self.refuse(key, word, f"unknown; {nearest(word, known)}")
        return word

    def flag(self, key: str, default: bool, meaning: str) -> bool:
        """Takes true or false."""

        def check(given: object) -> bool | None:
            return given if isinstance(given, bool) else None

        return self.take(key, default, check, "give true or false", meaning)

    def integer(self, key: str, default: int, least: int, most: int, meaning: str, *, otherwise: str = "") -> int:
        """Takes a whole number."""
        hint = f"give a whole number from {least} to {most}"
        return self.take(key, default, lambda given: whole(given, least, most), hint, meaning, otherwise=otherwise)

    def number(self, key: str, default: float, least: float, most: float, meaning: str) -> float:
        """Takes a number."""

        def check(given: object) -> float | None:
            if isinstance(given, bool) or not isinstance(given, (int, float)):
                return None
            return float(given) if least <= given <= most else None

        return self.take(key, default, check, f"give a number from {least:g} to {most:g}", meaning)

    def duration_s(
        self, key: str, default_s: float, least_s: float, most_s: float, meaning: str, *, otherwise: str = ""
    ) -> float:
        """Takes a time such as "100 ms", in seconds."""

        def check(given: object) -> float | None:
            time_s = _quantity(given, TIMES_S)
            return time_s if time_s is not None and least_s <= time_s <= most_s else None

        hint = f'give a time from {least_s:g} s to {most_s:g} s, such as "1 s"'
        return self.take(key, default_s, check, hint, meaning, otherwise=otherwise)

    def rate_bps(self, key: str, default_bps: int, meaning: str, *, otherwise: str = "") -> int:
        """Takes a rate such as "10 Gbps", in bits per second."""

        def check(given: object) -> int | None:
            rate = _quantity(given, RATES_BPS)
            return round(rate) if rate else None

        return self.take(key, default_bps, check, 'give a rate such as "10 Gbps"', meaning, otherwise=otherwise)

    def texts(self, key: str, meaning: str, *, values: str, otherwise: str) -> list[str]:
        """Takes a list of texts; one text counts as a list of it."""

        def check(given: object) -> list[str] | None:
            items = [given] if isinstance(given, str) else given
            return items if isinstance(items, list) and all(isinstance(item, str) for item in items) else None

        hint = 'give a list, as in ["10.1.0.0/24"]'
        return self.take(key, [], check, hint, meaning, otherwise=otherwise, values=values)

    def table(self, key: str, meaning: str = "", *, otherwise: str = "empty", names: bool = False) -> Settings:
        """Takes a table within this one, an empty one if it is missing; without a meaning pages show its keys only.

        `names` says whether the keys of the table are names that the user has chosen.
        """
        self._ask(key, {}, TABLE, meaning, otherwise)
        path = f"{self.path}.{key}" if self.path else key
        return Settings(self.file, path, self._table.pop(key, {}), self._form_of(key), names=names)

    def _form_of(self, key: str) -> str:
        """Path of a key on reference pages."""
        name = NAME if self._names else key
        return f"{self._form}.{name}" if self._form else name

    def _ask(self, key: str, default: object, values: str, meaning: str, otherwise: str) -> None:
        self._known.append(key)
        if meaning:
            for listener in self.listeners:
                listener(Key(self._form_of(key), default, values, meaning, otherwise))


def asked(read: Callable[[str, str], object], samples: Iterable[str]) -> dict[str, Key]:
    """Keys that a reader asks for, by their paths.

    Args:
        read: Reads a file's text; its second argument is the file's name.
        samples: Files that together make the reader ask for every key.

    """
    keys: dict[str, Key] = {}

    def listen(key: Key) -> None:
        keys.setdefault(key.path, key)

    Settings.listeners.append(listen)
    try:
        for sample in samples:
            read(sample, "sample.toml")
    finally:
        Settings.listeners.remove(listen)
    return keys


def whole(given: object, least: int, most: int) -> int | None:
    """The value, if it is a whole number within bounds."""
    return given if isinstance(given, int) and not isinstance(given, bool) and least <= given <= most else None


def _quantity(given: object, units: Mapping[str, float]) -> float | None:
    parts = QUANTITY.fullmatch(given) if isinstance(given, str) else None
    return float(parts[1]) * units[parts[2]] if parts and parts[2] in units else None
