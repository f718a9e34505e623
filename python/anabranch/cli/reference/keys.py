"""Tables of a file's keys, as its reader has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from anabranch.cli.reference.markdown import code, table
from anabranch.files.settings import REQUIRED, TABLE, Key

TIMES_S = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
RATES_BPS = (("Gbps", 10**9), ("Mbps", 10**6), ("kbps", 10**3), ("bps", 1))


def key_rows(keys: Mapping[str, Key]) -> str:
    """A table of keys, by their paths; tables without keys that may be left out are not shown.

    Keys of a table that have all in common but their names share a line: `group.match.tcp_src, tcp_dst`.
    """
    lines: dict[tuple[str, str, str, str], list[str]] = {}
    for path in _in_tables(keys):
        key = keys[path]
        if key.values != TABLE or key.otherwise == REQUIRED or any(one.startswith(f"{path}.") for one in keys):
            # Tables that have keys of their own stand before them.
            shared = path if key.values == TABLE else path.rpartition(".")[0]
            facts = (shared, key.values, key.otherwise or _default(key), key.meaning)
            lines.setdefault(facts, []).append(path)
    rows = []
    for (_, values, default, meaning), (first, *others) in lines.items():
        names = ", ".join([first, *(path.rpartition(".")[2] for path in others)])
        rows.append((code(names), values, default, meaning))
    return table(("key", "value", "default", "meaning"), rows)


def _in_tables(keys: Mapping[str, Key], within: str = "") -> Iterator[str]:
    """Paths with the keys of a table together, in the order in which the reader asks for the first of each."""
    for name in dict.fromkeys(path.removeprefix(within).split(".")[0] for path in keys if path.startswith(within)):
        path = f"{within}{name}"
        if path in keys:
            yield path
        yield from _in_tables(keys, f"{path}.")


def _default(key: Key) -> str:
    """Formats a default as it would be written in the file.

    Raises:
        ValueError: it is no value that a file could have, so the reader must say it in words.

    """
    value = key.default
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, (int, float)):
        if key.values.startswith("a time"):
            return code(f'"{_with_unit(value, TIMES_S)}"')
        if key.values.startswith("a rate"):
            return code(f'"{_with_unit(value, RATES_BPS)}"')
        return code(f'"{value:g}%"' if key.values.startswith("a percentage") else f"{value:g}")
    if isinstance(value, str) and value:
        return code(f'"{value}"')
    raise ValueError(f"{key.path}: the default {value!r} is no value of the key: say in words what it means")


def _with_unit(value: float, units: Sequence[tuple[str, float]]) -> str:
    unit, factor = next(((unit, factor) for unit, factor in units if value >= factor), units[0])
    return f"{value / factor:g} {unit}"
