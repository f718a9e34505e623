"""Pieces of a page in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

GENERATED = "<!-- Written by `make reference`; a test compares. -->"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Formats a table; bars within cells are escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def code(text: str) -> str:
    """Formats text as code within a line."""
    return f"`{text}`" if text else ""


def replace_block(page: str, name: str, text: str) -> str:
    """Replaces the text of a page between its marks `<!-- begin NAME -->` and `<!-- end NAME -->`.

    Raises:
        ValueError: the page has no such marks.

    """
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    before, opening, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (opening and closed):
        raise ValueError(f"the page has no block {name}: write {begin.strip()} and {end}")
    return f"{before}{begin}\n{text}\n{end}{after}"
