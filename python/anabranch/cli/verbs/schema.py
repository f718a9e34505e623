"""`anabranch schema`: JSON Schemas of the files that people write, for editors."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import MACHINE


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=MACHINE)(schema)


def kinds(incomplete: str = "") -> list[str]:
    """Kinds of files that have a schema and whose names begin so."""
    from anabranch.files.project import schemas

    return [path.stem for path in sorted(schemas().glob(f"{incomplete}*.json"))]


def schema(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="KIND", help="Kind of file: `scenario`, for instance.", autocompletion=kinds),
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of file, for completion and checks in editors; without a kind list them all."""
    from anabranch.files.hints import choose
    from anabranch.files.project import schemas

    if kind is None:
        typer.echo("\n".join(kinds()))
    else:
        file = schemas() / f"{choose(kind, kinds(), 'schema')}.json"
        typer.echo(file.read_text(encoding="utf-8"), nl=False)
