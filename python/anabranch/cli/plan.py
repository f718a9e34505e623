"""`anabranch plan`: the split that each target will really give, before anything is installed."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import DEPLOY, Json
from anabranch.errors import AnabranchError
from anabranch.targets.plan.options import FORECAST, TargetOptions, target_names, with_options
from anabranch.targets.registry import TARGETS, listed

STATUS_BOUND_MISSED = 1


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(with_options(options=FORECAST)(plan))


def plan(
    *,
    weights: Annotated[
        str | None, typer.Option(metavar="W,W,...", help="One weight per path, or a TOML file with the key `weights`.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Plan for this target: {listed()}; repeatable. Default: all.",
            autocompletion=target_names,
        ),
    ] = None,
    error: Annotated[
        str | None,
        typer.Option(metavar="PCT", help="Recommend what stays below this error; status 1 if a target cannot."),
    ] = None,
    fail: Annotated[
        list[int] | None,
        typer.Option(
            metavar="PATH", help="Show the split that is left when this path dies; paths count from 1; repeatable."
        ),
    ] = None,
    ports: Annotated[
        str | None, typer.Option(metavar="P,P,...", help="The port or device of each path, for the lines to paste.")
    ] = None,
    options: TargetOptions,
    json: Json = None,
) -> None:
    """Show the split that each target will really give, and how to get the one asked for. Nothing is installed."""
    if weights is None:
        raise AnabranchError("weights: missing; give one per path, as in --weights 4,3,2")
    from anabranch.targets import forecast
    from anabranch.targets.forecast_table import show
    from anabranch.targets.plan import group as groups
    from anabranch.targets.plan.bound import parse_bound
    from anabranch.terminal.console import terminal

    own = {name: options.of(name, strict=False) for name in TARGETS}
    wanted = groups.group(weights, fail or (), ports)
    bound = None if error is None else parse_bound(error)
    found = forecast.plan(wanted, target or (), own, bound)
    if json is not None:
        from anabranch.terminal.json_document import write_json

        write_json(json, found.record)
    if json != "-":
        show(found, terminal())
    if error is not None and not found.within_bound:
        raise typer.Exit(STATUS_BOUND_MISSED)
