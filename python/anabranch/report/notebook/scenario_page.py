"""A scenario as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from anabranch import _core
from anabranch.files.errors import AnabranchError
from anabranch.report.tables.offered_table import record_rows
from anabranch.simulate.runs.html_table import html_table
from anabranch.simulate.scenario.key_table import value_text
from anabranch.simulate.scenario.keys import VALUE, every_key


def scenario_page(file: str, given: Mapping[str, Any], resolve: Callable[[], _core.Scenario]) -> str:
    """Keys that are set with their meanings, and the offered load with warnings, or the error."""
    known = every_key()
    rows = [
        [
            escape(path),
            escape(value_text(value)),
            escape(known[kept].meaning if (kept := _unnumbered(path)) in known else ""),
        ]
        for path, value in _flat(given, "")
    ]
    page = f"<p><b>{escape(file)}</b></p>" + html_table(["key", "value", "meaning"], rows)
    try:
        resolved = resolve()
        page += "".join(f"<p>warning: {escape(text)}</p>" for text in resolved.warnings())
        offered = resolved.offered_load()
    except AnabranchError as error:
        return f"{page}<p><b>error</b>: {escape(str(error))}</p>"
    if offered:
        header, cells = record_rows(offered)
        page += html_table(header, [[escape(cell) for cell in row] for row in cells])
    return page


def _flat(table: Mapping[str, Any], prefix: str) -> Sequence[tuple[str, Any]]:
    """Paths and values of a table, entries of lists with their numbers."""
    pairs: list[tuple[str, Any]] = []
    for name, value in table.items():
        path = f"{prefix}{name}"
        known = every_key().get(_unnumbered(path))
        if known is None or known.sort == VALUE:
            pairs.append((path, value))
        elif isinstance(value, Mapping):
            pairs += _flat(value, f"{path}.")
        elif isinstance(value, list):
            for number, one in enumerate(value):
                pairs += _flat(one, f"{path}.{number}.") if isinstance(one, Mapping) else [(f"{path}.{number}", one)]
    return pairs


def _unnumbered(path: str) -> str:
    return ".".join(step for step in path.split(".") if not step.isdigit())
