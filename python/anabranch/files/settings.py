"""Tables of TOML files that people write, read key by key; every error has file, key, value and hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest

Value = TypeVar("Value")

QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z/]+)\s*")
TIMES_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}
RATES_BPS = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}


class Key(NamedTuple):
    """One key that a reader of a file knows, as reference pages show it."""

    path: str
    default: object
    value: str
    """Values that the key takes, in words."""


class Settings:
    """One table of the file. Every getter removes its key; `end` refuses those that are left."""

    listeners: ClassVar[list[Callable[[Key], None]]] = []
    """Functions that are called with every key that a getter asks for; only reference pages need them."""

    def __init__(self, file: str, path: str, table: object) -> None:
        self.file = file
        self.path = path
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
        self, key: str, default: Value, check: Callable[[Any], Value | None], hint: str, values: str = ""
    ) -> Value:
        """Takes a key and converts its value with `check`, which returns None for values that are wrong."""
        self._known.append(key)
        for listener in self.listeners:
            path = f"{self.path}.{key}" if self.path else key
            listener(Key(path, default, values or hint.removeprefix("give ")))
        if key not in self._table:
            return default
        given = self._table.pop(key)
        value = check(given)
        if value is None:
            self.refuse(key, given, hint)
        return value

    def text(self, key: str, default: str = "", values: str = "") -> str:
        """Takes text that is not empty."""

        def check(given: object) -> str | None:
            return given if isinstance(given, str) and given else None

        return self.take(key, default, check, "give text", values)

    def one_of(self, key: str, default: str, known: Collection[str]) -> str:
        """Takes one of some words."""
        chosen = self.text(key, default, ", ".join(f'"{word}"' for word in known))
        if chosen not in known:
            self.refuse(key, chosen, f"unknown; {nearest(chosen, known)}")
        return chosen

    def integer(self, key: str, default: int, least: int, most: int) -> int:
        """Takes a whole number."""

        def check(given: object) -> int | None:
            whole = isinstance(given, int) and not isinstance(given, bool)
            return given if whole and isinstance(given, int) and least <= given <= most else None

        return self.take(key, default, check, f"give a whole number from {least} to {most}")

    def number(self, key: str, default: float, least: float, most: float) -> float:
        """Takes a number."""

        def check(given: object) -> float | None:
            if isinstance(given, bool) or not isinstance(given, (int, float)):
                return None
            return float(given) if least <= given <= most else None

        return self.take(key, default, check, f"give a number from {least:g} to {most:g}")

    def duration_s(self, key: str, default_s: float, least_s: float, most_s: float) -> float:
        """Takes a time such as "100 ms", in seconds."""

        def check(given: object) -> float | None:
            seconds = _quantity(given, TIMES_S)
            return seconds if seconds is not None and least_s <= seconds <= most_s else None

        return self.take(key, default_s, check, f'give a time from {least_s:g} s to {most_s:g} s, such as "1 s"')

    def rate_bps(self, key: str, default_bps: int) -> int:
        """Takes a rate such as "10 Gbps", in bits per second."""

        def check(given: object) -> int | None:
            bps = _quantity(given, RATES_BPS)
            return round(bps) if bps else None

        return self.take(key, default_bps, check, 'give a rate such as "10 Gbps"')

    def texts(self, key: str) -> list[str]:
        """Takes a list of texts; one text counts as a list of it."""

        def check(given: object) -> list[str] | None:
            items = [given] if isinstance(given, str) else given
            return items if isinstance(items, list) and all(isinstance(item, str) for item in items) else None

        return self.take(key, [], check, 'give a list, as in ["10.1.0.0/24"]')

    def table(self, key: str) -> Settings:
        """Takes a table within this one; an empty one if it is missing."""
        self._known.append(key)
        path = f"{self.path}.{key}" if self.path else key
        return Settings(self.file, path, self._table.pop(key, {}))


def _quantity(given: object, units: Mapping[str, float]) -> float | None:
    match = QUANTITY.fullmatch(given) if isinstance(given, str) else None
    return float(match[1]) * units[match[2]] if match and match[2] in units else None
