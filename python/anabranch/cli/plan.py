"""`anabranch plan`: the split that each target will really give, before anything is installed."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from anabranch.cli import DEPLOY
from anabranch.errors import AnabranchError

STATUS_BOUND_MISSED = 1


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(plan)


def plan(
    weights: Annotated[
        str | None, typer.Option(metavar="W,W,...", help="One per path, or a TOML file with the key weights.")
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="`ovs`, `linux`, `ebpf` or `table`; all when left out.")
    ] = None,
    error: Annotated[
        str | None, typer.Option(metavar="PCT", help="Recommend what stays below; status 1 if a target cannot.")
    ] = None,
    fail: Annotated[
        list[int] | None, typer.Option(metavar="PATH", help="What is left of the split when this path dies.")
    ] = None,
    ports: Annotated[
        str | None, typer.Option(metavar="P,P,...", help="Port or device of each path, for the lines to paste.")
    ] = None,
    bridge: Annotated[str, typer.Option(help="Of Open vSwitch.")] = "br0",
    group: Annotated[int, typer.Option(help="Group number in Open vSwitch.", min=0)] = 1,
    param: Annotated[int, typer.Option(help="Seed of this switch's hash in Open vSwitch.", min=0, max=2**64 - 1)] = 0,
    ovs_version: Annotated[str, typer.Option(metavar="X.Y.Z", help="Version of Open vSwitch.")] = "3.1.0",
    json: Annotated[str | None, typer.Option(metavar="FILE", help="Write everything as JSON; - is stdout.")] = None,
) -> None:
    """Say which split each target will really give, and how to get the one asked for. Nothing is installed."""
    if weights is None:
        raise AnabranchError("weights: missing; give one per path, as in --weights 4,3,2")
    from anabranch.atomic_file import write_whole
    from anabranch.targets import forecast as plans
    from anabranch.targets.forecast_table import show
    from anabranch.targets.ovs.recipes import Switch, parse_version
    from anabranch.targets.plan import group as groups
    from anabranch.terminal.console import terminal

    wanted = groups.group(weights, fail or (), ports)
    switch = Switch(parse_version(ovs_version), bridge, group, param)
    bound = None if error is None else plans.parse_bound(error)
    found = plans.plan(wanted, target or (), switch, bound)
    if json is not None:
        write_whole(json, found.as_json(["anabranch", *sys.argv[1:]]))
    if json != "-":
        show(found, terminal())
    if error is not None and not found.within_bound:
        raise typer.Exit(STATUS_BOUND_MISSED)
