"""A table of keys as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.simulate.runs.html_table import html_table
from anabranch.simulate.runs.literal import literal
from anabranch.simulate.scenario.keys import VALUE, Key


def key_table(given: Mapping[str, Any], known: Mapping[str, Key]) -> str:
    """Keys that a table has, by path: value, bold if it is given, values that the key takes, meaning."""
    rows = []
    for path, key in known.items():
        name = path.rpartition(".")[2]
        written = value_text(given[name]) if name in given else key.written.strip("`")
        shown = f"<b>{escape(written)}</b>" if name in given else escape(written)
        rows.append([escape(name), shown, escape(key.wants if key.sort == VALUE else "a table"), escape(key.meaning)])
    return html_table(["key", "value", "values", "meaning"], rows)


def value_text(value: Any) -> str:
    """A value as a scenario file has it; as Python has it where a file has none."""
    try:
        return literal(value)
    except AnabranchError:
        return repr(value)
