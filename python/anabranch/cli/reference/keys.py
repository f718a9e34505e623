"""Tables of a file's keys: values and defaults as its reader has them, meanings as written here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from anabranch.cli.reference.markdown import code, table
from anabranch.files.settings import Key, Settings

TIMES_S = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
RATES_BPS = (("Gbps", 10**9), ("Mbps", 10**6), ("kbps", 10**3), ("bps", 1))


class Meaning(NamedTuple):
    """Text about a key that its reader does not have."""

    text: str
    default: str = ""
    """Default in words, if the reader's is not a value of the key."""
    values: str = ""
    """Values in words, if the reader's words are not enough."""


def key_table(
    read: Callable[[str, str], object],
    samples: Iterable[str],
    meanings: Mapping[str, str | Meaning],
    names: Sequence[tuple[str, str]] = (),
) -> str:
    """A table of all keys that a reader asks for.

    Args:
        read: Reads a file's text; its second argument is the file's name.
        samples: Files that together make the reader ask for every key.
        meanings: Meaning of each key, by its path.
        names: Patterns of paths, and what stands for them on the page: `switch.leaf0` is `switch.NAME`.

    Raises:
        ValueError: a key has no meaning here, or a meaning has no key.

    """
    asked = asked_keys(read, samples, names)
    if set(asked) != set(meanings):
        raise ValueError(f"keys without a meaning, or meanings without a key: {sorted(set(asked) ^ set(meanings))}")
    rows = []
    for path, meaning in meanings.items():
        known = meaning if isinstance(meaning, Meaning) else Meaning(meaning)
        key = asked[path]
        rows.append((code(path), known.values or key.value, known.default or _default(key), known.text))
    return table(("key", "value", "default", "meaning"), rows)


def asked_keys(
    read: Callable[[str, str], object], samples: Iterable[str], names: Sequence[tuple[str, str]] = ()
) -> dict[str, Key]:
    """Keys that a reader asks for, by their paths; the arguments are those of `key_table`."""
    asked: dict[str, Key] = {}

    def listen(key: Key) -> None:
        path = key.path
        for pattern, name in names:
            path = re.sub(pattern, name, path)
        asked.setdefault(path, key)

    Settings.listeners.append(listen)
    try:
        for sample in samples:
            read(sample, "sample.toml")
    finally:
        Settings.listeners.remove(listen)
    return asked


def _default(key: Key) -> str:
    """Formats a default as it would be written in the file.

    Raises:
        ValueError: it is no value that a file could have, so the page must say it in words.

    """
    value = key.default
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, (int, float)):
        if key.value.startswith("a time"):
            return code(f'"{_with_unit(value, TIMES_S)}"')
        if key.value.startswith("a rate"):
            return code(f'"{_with_unit(value, RATES_BPS)}"')
        return code(f'"{value:g}%"' if key.value.startswith("a percentage") else f"{value:g}")
    if isinstance(value, str) and value:
        return code(f'"{value}"')
    raise ValueError(f"{key.path}: the default {value!r} is no value of the key: say in words what it means")


def _with_unit(value: float, units: Sequence[tuple[str, float]]) -> str:
    unit, factor = next(((unit, factor) for unit, factor in units if value >= factor), units[0])
    return f"{value / factor:g} {unit}"
