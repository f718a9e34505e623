"""`anabranch schemes`: what there is to choose from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import SIMULATE, Json
from anabranch.files.errors import AnabranchError


def names(incomplete: str) -> list[str]:
    """Load balancers whose names begin so, for completion."""
    from anabranch.simulate.load_balancers import schemes

    return [balancer.name for balancer in schemes() if balancer.name.startswith(incomplete)]


verbs = typer.Typer(
    help="List the load balancers, show one of them, or start one of your own.", invoke_without_command=True
)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.add_typer(verbs, name="schemes", rich_help_panel=SIMULATE)


@verbs.callback()
def schemes(context: typer.Context, json: Json = None) -> None:
    """List the load balancers with what each keeps together, who decides, what it needs and where it runs."""
    if context.invoked_subcommand is None:
        from anabranch.files.terminal.console import SafeConsole
        from anabranch.files.terminal.json_document import write_json
        from anabranch.report.tables.schemes_table import record, show_all

        if json is not None:
            write_json(json, record())
        if json == "-":
            return

        show_all(SafeConsole(highlight=False, emoji=False))


@verbs.command()
def show(
    name: Annotated[
        str, typer.Argument(help="The name of a load balancer, as `anabranch schemes` lists it.", autocompletion=names)
    ],
    json: Json = None,
) -> None:
    """Print the page of one load balancer: its rule, parameters, limits, and differences from its paper."""
    from anabranch.report.tables.schemes_table import named, page_record, show_page

    balancer = named(name)
    if json is not None:
        from anabranch.files.terminal.json_document import write_json

        write_json(json, {"scheme": page_record(balancer)})
    if json != "-":
        from anabranch.files.terminal.console import SafeConsole

        show_page(balancer, SafeConsole(highlight=False, emoji=False))


@verbs.command()
def new(
    name: Annotated[str, typer.Argument(help="The name of the scheme and of its crate.")],
    into: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The directory for the folder of the crate. Default: this one."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The sources to depend on, or the checkout to write into. Default: those of this anabranch.",
        ),
    ] = None,
    door: Annotated[
        str | None,
        typer.Option(
            metavar="DOOR",
            help="Start from a small scheme behind the door of `switches` or of `hosts`. Default: a choice of two "
            "queues in the tables of switches.",
        ),
    ] = None,
    in_tree: Annotated[
        bool, typer.Option("--in-tree", help="Write the folder of a new load balancer into the checkout, no crate.")
    ] = False,
) -> None:
    """Write a Rust crate for a load balancer of your own, with tests and a program that runs it beside ECMP."""
    if in_tree:
        if into is not None:
            raise AnabranchError("--into: a load balancer in the tree has its place; name the checkout by --source DIR")
        if door is not None:
            raise AnabranchError("--door: a load balancer in the tree begins in the tables of switches; leave it out")
        from anabranch.simulate.own.in_tree import lines_to_add, write_folder

        typer.echo(f"{write_folder(name, source)}: a load balancer that takes the first next hop. Next, add:")
        for path, line in lines_to_add(name):
            typer.echo(f"  {path}: {line.strip()}")
        typer.echo("Then fill in pick.rs, until its test passes:")
        typer.echo(f"  cargo test -p anabranch-balancers --lib {name.replace('-', '_')}")
        return
    from anabranch.simulate.own.crate import write_crate

    folder = write_crate(name, into or Path(), source, door)
    typer.echo(f"{folder}: a scheme{', its tests' if door is None else ''} and a program. Next:\n  cd {folder}")
    if door is None:
        typer.echo("  cargo test")
    typer.echo("  cargo run --release -- SCENARIO.toml")
