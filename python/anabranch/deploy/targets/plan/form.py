"""Plan files of one target: the part `plan_file` of each has its own as `FORM`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings
from anabranch.files.terminal.visible import one_line
from anabranch.simulate.runs.load import read_text

Plan = TypeVar("Plan")


@dataclass(frozen=True)
class PlanForm(Generic[Plan]):
    """Reader of a target's plans, and what reference pages say besides its keys."""

    heading: str
    """The target as a heading of the page."""
    about: str
    """What plans become in it, and a link to more, as half a sentence."""
    example: str
    """A plan whose reader asks for every key."""
    parse: Callable[[str, str], Plan]
    """Reads and checks the text of a file, which is the second argument."""

    def read(self, path: str | Path) -> Plan:
        """Reads and checks a plan.

        Raises:
            AnabranchError: the file, a key or a value is not as it must be; it names them, and a hint.

        """
        return self.parse(read_text(path), str(path))


def plan_settings(document: Mapping[str, object], file: str) -> Settings:
    """The tables of a plan file.

    Raises:
        AnabranchError: a text, key or value, has control characters, which could begin or hide lines of a diff.

    """
    every = "".join(_words(document))
    for key, word in _texts("", document) if every != one_line(every) else ():
        if word != (shown := one_line(word)):
            raise AnabranchError(f"{file}: {one_line(key)}{shown}: a control character; take it out")
    return Settings(file, "", document)


def _words(document: Mapping[str, object]) -> Iterator[str]:
    """Every text, a key or a value, in no order: cheaper than with the key that leads to it."""
    left: list[object] = [document]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            left += one
            left += one.values()
        elif isinstance(one, list):
            left += one


def _texts(key: str, value: object) -> Iterator[tuple[str, str]]:
    """Every text, with the key that leads to it."""
    if isinstance(value, str):
        yield key and f"{key}: ", value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield key and f"{key}: ", str(name)
            yield from _texts(f"{key}.{name}" if key else str(name), inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            yield from _texts(f"{key} {number}" if isinstance(inner, Mapping) else key, inner)
