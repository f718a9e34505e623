"""A table without lines."""

from __future__ import annotations

from rich.table import Table


def plain_table(*columns: tuple[str, bool]) -> Table:
    """A table without lines; each column is a header of two lines and whether it holds numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for header, number in columns:
        table.add_column(header, justify="right" if number else "left", no_wrap=True)
    return table
