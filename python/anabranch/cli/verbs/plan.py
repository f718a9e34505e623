"""`anabranch plan`: what will really be done with weights, or between two leaves, before anything is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import DEPLOY, Json
from anabranch.deploy.targets.plan.options import FORECAST, TargetOptions, target_names, with_options
from anabranch.deploy.targets.registry import TARGETS, WRITTEN, listed
from anabranch.files.errors import AnabranchError

if TYPE_CHECKING:
    from anabranch.deploy.targets.forecast import Forecasts

STATUS_BOUND_MISSED = 1


def _planned(incomplete: str) -> list[str]:
    """Targets, and load balancers that plan for a fabric, whose names begin so."""
    from anabranch.simulate.runs.pair_plan import planners

    return [*target_names(incomplete), *(name for name in (*WRITTEN, *planners()) if name.startswith(incomplete))]


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(with_options(options=FORECAST)(plan))


def plan(
    *,
    fabric: Annotated[
        str | None,
        typer.Argument(
            metavar="FABRIC.toml",
            help="A scenario, or the controller's fabric file: show what a load balancer's controller plans for a pair "
            "of its leaves.",
        ),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="W,W,...", help="One weight per path, or a TOML file with the key `weights`.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Plan for this target: {listed()}; repeatable. Default: all. With FABRIC.toml, the load balancer; "
            f"with {listed(WRITTEN)}, write files for such switches.",
            autocompletion=_planned,
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
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="TRACE",
            help="With --weights: show what each recipe makes of the connections and bytes of this capture or flow "
            "list (CSV), and recommend one.",
        ),
    ] = None,
    ports: Annotated[
        str | None, typer.Option(metavar="P,P,...", help="The port or device of each path, for the lines to paste.")
    ] = None,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LEAF LEAF", help="The leaf that sends and the leaf that receives, with FABRIC.toml."),
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            metavar="KEY=VALUE",
            help="Change a key of FABRIC.toml, as in `-o routing.scheme.max_n=512`; repeatable.",
        ),
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(metavar="DIR", help=f"The folder to write, with FABRIC.toml and --target {' or '.join(WRITTEN)}."),
    ] = None,
    options: TargetOptions,
    json: Json = None,
) -> None:
    """Show the split that each target will really give, and how to get the one asked for. Nothing is installed.

    With FABRIC.toml: show what a load balancer's controller plans for packets between two leaves, or write it as files
    for the switches of the fabric.
    """
    if fabric is not None:
        for option, given in (
            ("weights", weights),
            ("error", error),
            ("fail", fail),
            ("trace", trace),
            ("ports", ports),
        ):
            if given:
                raise AnabranchError(f"{option}: not used with {fabric}; leave out one of both")
        options.refuse_any(f"with {fabric}; leave it out")
        if any(name in WRITTEN for name in target or ()):
            _write_files(fabric, target or [], pair, override or [], folder, json)
            return
        if folder is not None:
            raise AnabranchError(f"folder: {folder}: nothing is written but with --target {' or '.join(WRITTEN)}")
        _plan_pair(fabric, target or [], pair, override or [], json)
        return
    for name in target or ():
        if name not in TARGETS:
            _refuse_planner(name)
    if pair is not None or override or folder is not None:
        option = "pair" if pair is not None else "-o" if override else "folder"
        raise AnabranchError(f"{option}: needs a fabric; give its file, as in `anabranch plan FABRIC.toml`")
    if weights is None:
        raise AnabranchError("weights: missing; give one per path, as in --weights 4,3,2")
    if trace is not None and error is not None:
        raise AnabranchError(
            f"error: {error}: not used with --trace, whose noise floor is the bound; leave out one of both"
        )
    from anabranch.deploy.targets import forecast
    from anabranch.deploy.targets.plan import group as groups
    from anabranch.deploy.targets.plan.bound import parse_bound
    from anabranch.files.terminal.console import terminal

    own = {name: options.of(name, strict=False) for name in TARGETS}
    asked = groups.group(weights, fail or (), ports)
    bound = None if error is None else parse_bound(error)
    forecasts = forecast.plan(asked, target or (), own, bound)
    if trace is not None:
        _show_on_traffic(forecasts, trace, json)
        return
    from anabranch.deploy.targets.forecast_table import show

    if json is not None:
        from anabranch.files.terminal.json_document import write_json

        write_json(json, forecasts.record)
    if json != "-":
        show(forecasts, terminal())
    if error is not None and not forecasts.within_bound:
        raise typer.Exit(STATUS_BOUND_MISSED)


def _show_on_traffic(forecasts: Forecasts, trace: str, json: str | None) -> None:
    """Shows what each recipe makes of the connections of a trace."""
    from anabranch.cli.verbs.split import warn_of_damage
    from anabranch.deploy.targets.traffic import OnTraffic
    from anabranch.deploy.targets.traffic_table import show
    from anabranch.files.terminal.console import terminal
    from anabranch.split.trace import read_trace

    read = read_trace(trace, direction="each-headers", partial=True)
    warn_of_damage(read)
    on_traffic = OnTraffic(forecasts, read)
    if json is not None:
        from anabranch.files.terminal.json_document import write_json

        write_json(json, on_traffic.record)
    if json != "-":
        show(on_traffic, terminal())


def _plan_pair(
    fabric: str, targets: list[str], pair: tuple[str, str] | None, override: list[str], json: str | None
) -> None:
    """Shows a load balancer's plan for a pair of leaves."""
    from anabranch.files.terminal.console import terminal
    from anabranch.simulate.runs.load import parse_overrides
    from anabranch.simulate.runs.pair_plan import plan_pair, planners

    if len(targets) != 1:
        given = ", ".join(targets) or "missing"
        raise AnabranchError(f"target: {given}; give one load balancer that plans for a fabric: {listed(planners())}")
    if targets[0] in TARGETS:
        raise AnabranchError(
            f"target: {targets[0]}: plans for --weights, not for a fabric; give a load balancer: {listed(planners())}"
        )
    if pair is None:
        raise AnabranchError("pair: missing; give two leaves, as in --pair leaf0 leaf1")
    pair_plan = plan_pair(fabric, targets[0], pair, parse_overrides(override))
    if json is not None:
        from anabranch.files.terminal.json_document import write_json

        write_json(json, pair_plan.record)
    if json != "-":
        from anabranch.report.tables.pair_plan_table import show

        show(pair_plan, terminal())


def _write_files(
    fabric: str,
    targets: list[str],
    pair: tuple[str, str] | None,
    override: list[str],
    folder: str | None,
    json: str | None,
) -> None:
    """Writes files for the switches of a fabric, and shows what each switch holds."""
    from anabranch.deploy.targets.registry import files
    from anabranch.deploy.targets.written_table import show
    from anabranch.files.terminal.console import terminal
    from anabranch.simulate.runs.load import parse_overrides
    from anabranch.simulate.runs.pair_plan import planners

    written, balancers = ([name for name in targets if (name in WRITTEN) == which] for which in (True, False))
    for name in balancers:
        if name in TARGETS:
            raise AnabranchError(f"target: {name}: plans for --weights, not for a fabric; leave it out")
        if name not in planners():
            raise AnabranchError(f"target: {name}: no load balancer that plans for a fabric; give {listed(planners())}")
    if len(written) > 1 or len(balancers) > 1:
        raise AnabranchError(f"target: {', '.join(targets)}: give one target and at most one load balancer")
    if folder is None:
        raise AnabranchError("folder: missing; name the folder to write, as in --folder switches")
    pairs = [] if pair is None else [pair]
    written_files = files(written[0]).write(fabric, folder, "".join(balancers), pairs, parse_overrides(override))
    if json is not None:
        from anabranch.files.terminal.json_document import write_json

        write_json(json, {"target": written[0], "folder": written_files.folder, **written_files.record})
    if json != "-":
        show(written_files, terminal())


def _refuse_planner(name: str) -> None:
    """Raises an AnabranchError if a name is that of a load balancer, or of a target, that plans for a fabric."""
    from anabranch.simulate.runs.pair_plan import planners

    if name in WRITTEN:
        raise AnabranchError(
            f"target: {name}: files for the switches of a fabric; give its file, as in `anabranch plan --target {name} "
            "FABRIC.toml --folder switches`"
        )
    if name in planners():
        raise AnabranchError(
            f"target: {name}: a load balancer, which plans for a fabric; give the file, as in `anabranch plan "
            f"--target {name} FABRIC.toml --pair leaf0 leaf1`"
        )
