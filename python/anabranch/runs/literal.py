"""Values as TOML writes them, on one line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from anabranch.errors import AnabranchError

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def literal(value: Any) -> str:
    """Formats a boolean, number, text, list or table as a TOML value.

    Raises:
        AnabranchError: a value of a type that TOML scenarios do not have.

    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise AnabranchError(f"{value}: not finite; give a number")
        return repr(value)
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which JSON leaves as it is.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key_text(key)} = {literal(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    raise AnabranchError(f"{value!r}: {type(value).__name__} is no value of a scenario; give text, a number or a list")


def key_text(key: str) -> str:
    """Formats a key, quoted if necessary."""
    return key if BARE_KEY.fullmatch(key) else literal(key)


def document(table: Mapping[str, Any]) -> str:
    """Formats a whole TOML document: a line per key, tables within it on one line each."""
    return "".join(f"{key_text(key)} = {literal(value)}\n" for key, value in table.items())
