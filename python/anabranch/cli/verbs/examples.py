"""`anabranch examples`: the files that the documentation uses, copied to where they can be changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import MACHINE, Json


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=MACHINE)(examples)


def examples(
    into: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Copy all of them into this new folder, `examples` for instance.")
    ] = None,
    json: Json = None,
) -> None:
    """List the examples that the documentation uses, or copy them into a folder.

    Commands of the documentation name them `examples/FILE`: `anabranch examples --into examples` writes that folder.
    """
    from anabranch.files.project.examples_list import copy, listed

    names = listed()
    if json is not None:
        from anabranch.files.terminal.json_document import write_json

        write_json(json, {"examples": [example._asdict() for example in names]})
    if into is not None:
        copy(into)
        typer.echo(f"{into}: {len(names)} files", err=json == "-")
    elif json != "-":
        from rich.table import Table

        from anabranch.files.terminal.console import terminal

        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for example in names:
            table.add_row(example.name, example.about)
        terminal().print(table, markup=False, highlight=False)
