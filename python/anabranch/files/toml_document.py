"""TOML as plain data; an error names file, line and key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import tomli

from anabranch.files.errors import AnabranchError

VALUE_TWICE = re.compile(r"Cannot overwrite a value \(at (?:line (\d+),|end)")
TABLE_TWICE = re.compile(r"Cannot declare \((.*?),?\) twice \(at (?:line (\d+),|end)")
INLINE_TWICE = re.compile(r"Duplicate inline table key ['\"](.*)['\"] \(at (?:line (\d+),|end)")
ENDLESS = re.compile(r"[0-9_]{4300,}")
"""Integer that Python does not convert."""
LEVELS_MAX = 80
"""Deepest nesting of tables and lists that is read, as in the reader of scenarios."""
DOTTED = re.compile(r"""(?<![\w"'.-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){1000}""")
"""Key of very many parts, of which the reader does not say the line."""
TOO_DEEP = f"it is nested more than {LEVELS_MAX} deep; nest less"
KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


def parse_toml(text: str, file: str) -> dict[str, Any]:
    """Parses the tables of `text`, which came from `file`.

    Raises:
        AnabranchError: it is not TOML, or nested more than `LEVELS_MAX` deep; the message has file and line.

    """
    try:
        document: dict[str, Any] = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        twice = _twice(text, str(error))
        if twice is not None:
            line, key = twice
            raise AnabranchError(f"{file}:{line}: {key}: duplicate key; keep one of the two, or rename one") from None
        raise AnabranchError(f"{file}: not TOML: {error}; see the syntax at https://toml.io") from None
    except RecursionError:
        dotted = DOTTED.search(text)
        where = f"{file}:{text.count(chr(10), 0, dotted.start()) + 1}" if dotted else file
        raise AnabranchError(f"{where}: {TOO_DEEP}") from None
    except ValueError:
        # Python refuses to convert integers of more digits than it has a limit for.
        line = next((line for line, content in enumerate(text.splitlines(), 1) if ENDLESS.search(content)), 1)
        raise AnabranchError(f"{file}:{line}: an integer of more than 64 bits; give one below 2^63") from None
    for key, value in document.items():
        if _is_deep(value):
            raise AnabranchError(f"{file}: {key}: {TOO_DEEP}")
    return document


def parse_value(text: str, origin: str) -> Any:
    """Parses one value, as it stands behind `=`; `origin` is where it came from.

    Raises:
        AnabranchError: as `parse_toml`.

    """
    return parse_toml(f"value = {text}", origin)["value"]


def _is_deep(value: object) -> bool:
    """Whether values are nested so deeply that recursion over them, `repr` for one, would come to Python's limit."""
    tables: list[Any] = [value]
    for _ in range(LEVELS_MAX + 1):
        tables = [one for one in tables if isinstance(one, (dict, list))]
        if not tables:
            return False
        tables = [inner for one in tables for inner in (one.values() if isinstance(one, dict) else one)]
    return True


def _twice(text: str, message: str) -> tuple[int, str] | None:
    """Line and name of a key that its table has already: Python's reader says where, but not always which."""
    lines = text.splitlines()
    if match := VALUE_TWICE.match(message):
        # The place is the end of the value, which may be some lines below its key.
        for line in range(int(match[1] or len(lines)), 0, -1):
            if key := KEY.match(lines[line - 1]):
                return line, key[1]
    if match := TABLE_TWICE.match(message):
        return int(match[2] or len(lines)), ".".join(part.strip(" '\"") for part in match[1].split(","))
    if match := INLINE_TWICE.match(message):
        return int(match[2] or len(lines)), match[1]
    return None


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a file.

    Raises:
        AnabranchError: the file cannot be read or is not TOML.

    """
    try:
        return parse_toml(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise AnabranchError(f"{path}: {error}") from None
    except UnicodeDecodeError as error:
        raise AnabranchError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
