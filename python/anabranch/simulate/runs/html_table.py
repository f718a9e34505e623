"""A table in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{cell}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def titled(name: str, folder: Path) -> str:
    """Name of results above their table, and their folder."""
    return f"<p><b>{escape(name)}</b> <code>{escape(str(folder))}</code></p>"
