"""Keys of scenarios as the compiled reader knows them: no list of keys stands in Python."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from anabranch import _core
from anabranch.files.hints import nearest
from anabranch.files.toml_document import parse_value

VALUE, TABLE, TABLES = "value", "table", "tables"


class Key(NamedTuple):
    """A key, or a table of keys."""

    path: str
    """Keys that lead to it and its own, joined by dots; numbers of entries are left out."""
    sort: str
    """`value`, `table` or `tables`."""
    wants: str
    """Description of its values."""
    written: str
    """Default as TOML in backquotes; `required` or `none` without one."""
    meaning: str

    @property
    def default(self) -> Any:
        """Default as a value of Python; None if there is none."""
        if not self.written.startswith("`"):
            return None
        return parse_value(self.written.strip("`"), self.path)


@cache
def every_key() -> dict[str, Key]:
    """All keys of all scenarios, by their paths."""
    return {row[0]: Key(*row) for row in _core.scenario_keys()}


def keys_of(text: str) -> dict[str, Key]:
    """Keys that this scenario has or may have, by their paths; its own values stand in for defaults."""
    return {row[0]: Key(*row) for row in _core.scenario_keys(text)}


@cache
def names_in(table: str) -> tuple[str, ...]:
    """Names of all keys that a table can have; none if the reader says nothing about it."""
    prefix = f"{table}." if table else ""
    names = [path.removeprefix(prefix) for path in every_key() if path.startswith(prefix)]
    return tuple(name for name in names if "." not in name)


def unknown(table: str, name: str) -> str:
    """Problem with a key that no table of this path has, with a hint; empty if one has it."""
    known = names_in(table)
    if not known or name in known:
        return ""
    return f"{table}{'.' * bool(table)}{name}: unknown key; {nearest(name, known)}"
