"""Tables of a run's columns, as the files have them, within the page of results."""

from __future__ import annotations

from anabranch import _core
from anabranch.cli.reference.markdown import code, replace_block, table


def page(written: str) -> str:
    """The page `results.md` with its tables of columns anew."""
    for name, columns in _core.columns().items():
        rows = [(code(column), kind, meaning) for column, kind, meaning in columns]
        written = replace_block(written, f"columns of {name}", table(("column", "type", "meaning"), rows))
    return written
