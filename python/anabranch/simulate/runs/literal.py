"""Values as TOML writes them, on one line, and documents of such."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from anabranch.files.errors import AnabranchError

BITS_MAX = 64
"""Bits of the largest whole number of a scenario."""
DEPTH_MAX = 50
"""Deepest nesting of tables and lists; scenarios have four."""
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def literal(value: Any, where: str = "") -> str:
    """Formats a boolean, number, text, path, list or table as a TOML value.

    Args:
        value: The value; numbers of NumPy are numbers.
        where: Place that an error names: the file and a colon, and the path of the key.

    Raises:
        AnabranchError: a value of a type that TOML scenarios do not have.

    """
    kind = type(value).__name__
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        number = int(value)
        if number.bit_length() > BITS_MAX:
            problem = f"a number of {number.bit_length()} bits; give one of {BITS_MAX} at most"
            raise AnabranchError(f"{_prefix(where)}{problem}")
        return str(number)
    if isinstance(value, Real):
        try:
            number_text = repr(float(value))
        except OverflowError:
            number_text = "inf"
        if not math.isfinite(float(number_text)):
            raise AnabranchError(f"{_prefix(where)}{number_text}: not finite; give a number")
        return number_text
    if isinstance(value, (str, os.PathLike)):
        # JSON's escapes are TOML's, but for DEL, which JSON leaves as it is.
        text = unicode_text(os.fspath(value), where)
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, Mapping):
        items = [f"{key_text(key)} = {literal(item, _place(where, key))}" for key, item in value.items()]
        return "{ " + ", ".join(items) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(literal(item, where) for item in value) + "]"
    hint = "leave the key out" if value is None else "give text, a number or a list"
    raise AnabranchError(f"{_prefix(where)}{value!r}: {kind} is no value of a scenario; {hint}")


def unicode_text(text: Any, where: str = "") -> str:
    """Checks a text: names of files and arguments of commands may have bytes that stand for no character.

    Raises:
        AnabranchError: it is no text, or cannot be written as UTF-8.

    """
    try:
        text.encode("utf-8")
    except (AttributeError, UnicodeEncodeError):
        raise AnabranchError(f"{_prefix(where)}{text!a}: not text in UTF-8; give text") from None
    return str(text)


def plain(value: Any, depth: int = 0) -> Any:
    """Converts a value to dicts, lists and scalars of Python: mappings, other sequences, arrays, scalars of NumPy.

    Raises:
        AnabranchError: tables or lists are nested without an end, or so deep that nobody reads them.

    """
    if depth > DEPTH_MAX:
        raise AnabranchError(f"tables or lists nested more than {DEPTH_MAX} deep; give a scenario's own tables")
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [plain(item, depth + 1) for item in value]
    return value


def key_text(key: str) -> str:
    """Formats a key, quoted if necessary."""
    if not isinstance(key, str):
        raise AnabranchError(f"{key!r}: {type(key).__name__} is no key; give text")
    return key if BARE_KEY.fullmatch(key) else literal(key)


def document(table: Mapping[str, Any], where: str = "") -> str:
    """Formats a whole TOML document: a line per key, tables within it on one line each."""
    return "".join(f"{key_text(key)} = {literal(value, _place(where, key))}\n" for key, value in table.items())


def file_text(table: Mapping[str, Any], where: str = "") -> str:
    """Formats a whole TOML document as people write it: a header above each table, tables within those on a line."""
    headed = {key: value for key, value in table.items() if _is_table(value) or _is_tables(value)}
    parts = [document({key: value for key, value in table.items() if key not in headed}, where)]
    for key, value in headed.items():
        within = _place(where, key)
        if _is_table(value):
            parts.append(f"[{key_text(key)}]\n{document(value, within)}")
        else:
            parts += [f"[[{key_text(key)}]]\n{document(one, within)}" for one in value]
    return "\n".join(part for part in parts if part)


def _place(where: str, key: object) -> str:
    """Place of a key: directly in a file, or in a table."""
    return f"{where}{key}" if where == "" or where.endswith(": ") else f"{where}.{key}"


def _prefix(where: str) -> str:
    return where if where == "" or where.endswith(": ") else f"{where}: "


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_tables(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) > 0 and all(map(_is_table, value))
