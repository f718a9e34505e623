"""`anabranch paths`: a table of explicit paths, made from a fabric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import SIMULATE
from anabranch.files.errors import AnabranchError


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=SIMULATE)(paths)


def paths(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO.toml", help="A scenario file, or any other with a table [fabric].")
    ],
    most: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Paths of each pair of leaves, evenly spread. Default: all."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="File to write. Default: the table goes to stdout.")
    ] = None,
) -> None:
    """Write the shortest paths between all leaves as a table of explicit paths, for routing.paths."""
    from anabranch import _core
    from anabranch.files.atomic_file import write_whole
    from anabranch.simulate.runs.load import read_text

    if out is not None and out.suffix != ".csv":
        raise AnabranchError(f"out: {out}: a table of paths is CSV; end it with .csv")
    if out is not None and not out.parent.is_dir():
        raise AnabranchError(f"{out}: there is no directory {out.parent}; make it first")
    table, number, pairs = _core.Fabric(read_text(scenario), str(scenario)).path_table(most)
    if out is None:
        typer.echo(table, nl=False)
        return
    write_whole(out, table)
    typer.echo(
        f"written: {out}: {number} paths of {pairs} pairs of leaves. In the scenario:\n\n"
        f'[routing]\nbalance = "explicit"\npaths.file = "{out.name}"'
    )
