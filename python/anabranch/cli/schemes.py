"""`anabranch schemes`: what there is to choose from."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table

import anabranch as ab


def register(app: typer.Typer) -> None:
    """Adds the verb."""

    @app.command()
    def schemes() -> None:
        """List the techniques: when each decides, what it does, where it is published."""
        table = Table(box=None, pad_edge=False)
        for column in ("technique", "decides per", "what it does", "source"):
            table.add_column(column, no_wrap=column == "technique")
        for technique in ab.techniques():
            table.add_row(technique.name, technique.granularity, technique.summary, technique.source)
        Console(highlight=False, emoji=False).print(table)
