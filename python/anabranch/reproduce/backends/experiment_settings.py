"""Study file of an experiment: how much it measures is its table `settings`, read into a dataclass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.toml_document import read_toml
from anabranch.reproduce.claims.group import FILE
from anabranch.reproduce.claims.positions import key_line

Settings = TypeVar("Settings")
KEYS = ("backend", "code", "name", "title", "experiment", "settings", "quick")
NOTE = "note"


def read_study(folder: Path, kind: type[Settings], quick: bool) -> tuple[Settings, str]:
    """Settings, and the note on what `--quick` makes smaller; empty without it.

    Raises:
        AnabranchError: a key is missing, unknown or has a wrong value.

    """
    file = folder / FILE
    table = read_toml(file)
    check_keys(table, KEYS, file)
    smaller = dict(table.get("quick", {}))
    note = str(smaller.pop(NOTE, ""))
    given = {**table.get("settings", {}), **(smaller if quick else {})}
    return read_settings(kind, given, file), note if quick else ""


def check_keys(table: Mapping[str, Any], known: Sequence[str], file: Path) -> None:
    """Looks at the keys that a study file has before any table.

    Raises:
        AnabranchError: a key is unknown.

    """
    for key in table:
        if key not in known:
            line = key_line(file.read_text(encoding="utf-8"), 0, key)
            raise AnabranchError(f"{file}:{line}: {key}: unknown key; {nearest(key, known)}")


def read_settings(kind: type[Settings], given: Mapping[str, Any], file: Path) -> Settings:
    """The settings; lists become tuples.

    Raises:
        AnabranchError: a key is missing or unknown, or the dataclass refuses a value.

    """
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    text = file.read_text(encoding="utf-8")

    def at(key: str) -> int:
        return next((number for number, words in enumerate(text.splitlines(), 1) if words.startswith(key)), 1)

    for key in given:
        if key not in names:
            raise AnabranchError(f"{file}:{at(key)}: settings.{key}: unknown key; {nearest(key, names)}")
    if missing := [name for name in names if name not in given]:
        raise AnabranchError(f"{file}: settings: {', '.join(missing)}: missing; docs/study.md has all keys")
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})
    except AnabranchError as error:
        key = str(error).removeprefix("settings.").partition(":")[0]
        raise AnabranchError(f"{file}:{at(key)}: {error}") from None


def check_whole_numbers(settings: object) -> None:
    """Looks at settings that are all whole numbers from 1, or several of them.

    Raises:
        AnabranchError: one is something else, or none is given.

    """
    for name, value in vars(settings).items():
        for number in value if isinstance(value, tuple) else (value,):
            if type(number) is not int or number < 1:
                raise AnabranchError(f"settings.{name}: {number!r}; give whole numbers from 1")
        if value == ():
            raise AnabranchError(f"settings.{name}: empty; give a number at least")
