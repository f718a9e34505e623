"""`anabranch schemes`: what there is to choose from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

verbs = typer.Typer(help="List the load balancers, show the page of one.", invoke_without_command=True)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.add_typer(verbs, name="schemes")


@verbs.callback()
def schemes(context: typer.Context) -> None:
    """List the load balancers: what each keeps together, who decides, what it needs, where it runs."""
    if context.invoked_subcommand is None:
        from rich.console import Console

        from anabranch.report.schemes_table import show_all

        show_all(Console(highlight=False, emoji=False))


@verbs.command()
def show(name: Annotated[str, typer.Argument(help="A load balancer, as `anabranch schemes` lists it.")]) -> None:
    """Print the page of one load balancer: rule, parameters, what differs from its paper, limits."""
    from rich.console import Console

    from anabranch.report.schemes_table import show_page

    show_page(name, Console(highlight=False, emoji=False))


@verbs.command()
def new(
    name: Annotated[str, typer.Argument(help="What the scheme and its crate are called.")],
    into: Annotated[Path, typer.Option(metavar="DIR", help="Where the crate's folder goes.")] = Path(),
    source: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The checkout to depend on; where this was installed from.")
    ] = None,
) -> None:
    """Write a crate for a scheme of one's own in Rust, with tests and a program that runs it beside ECMP."""
    from anabranch.own.crate import write_crate

    folder = write_crate(name, into, source)
    typer.echo(f"{folder}: a scheme, its tests and a program. Next:")
    typer.echo(f"  cd {folder}\n  cargo test\n  cargo run --release -- SCENARIO.toml")
