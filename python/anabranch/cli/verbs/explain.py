"""`anabranch explain`: how a connection comes to its path."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import DEPLOY, Json
from anabranch.cli.verbs.split import hash_names, technique_names
from anabranch.deploy.targets import registry
from anabranch.deploy.targets.plan.options import EXPLAIN, EXPLAIN_GROUP, TargetOptions, target_names, with_options
from anabranch.deploy.targets.registry import DEFAULT, listed
from anabranch.files.errors import AnabranchError

STATUS_UNSURE = 3


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(with_options(with_plan=EXPLAIN, with_weights=EXPLAIN_GROUP)(explain))


def explain(
    *,
    connections: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SRC,DST,PROTO,SPORT,DPORT",
            help="Connections, as in 10.0.0.1,10.0.0.2,tcp,40000,80 or 10.0.0.1,10.0.0.2,icmp,8,0 (type, code).",
        ),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="W,W,...", help="One weight per path, or a TOML file with the key `weights`.")
    ] = None,
    plan: Annotated[
        str | None, typer.Option(metavar="PLAN.TOML", help="Explain by the rules and groups of this plan.")
    ] = None,
    with_plan: TargetOptions,
    file: Annotated[
        str | None, typer.Option(metavar="TRACE", help="Explain the connections of this flow list (CSV) or capture.")
    ] = None,
    technique: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE]", help="The technique. Default: min-move.", autocompletion=technique_names
        ),
    ] = None,
    hash: Annotated[  # noqa: A002
        str | None,
        typer.Option(help="The hash that makes keys of 5-tuples. Default: xxh3.", autocompletion=hash_names),
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the hash.", min=0, max=2**32 - 1)] = 0,
    fail: Annotated[
        list[int] | None, typer.Option(metavar="PATH", help="Take this path for dead; paths count from 1; repeatable.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"As a target itself chooses; with a plan, its own: {listed()}.",
            autocompletion=target_names,
        ),
    ] = None,
    with_weights: TargetOptions,
    json: Json = None,
) -> None:
    """Explain step by step which path each connection takes.

    The status is 3 if the path of a connection is not known.
    """
    if weights is None and plan is None:
        raise AnabranchError("weights: missing; give one per path, as in --weights 4,3,2, or a --plan")
    if bool(connections) == (file is not None):
        problem = "both given" if connections else "both missing"
        raise AnabranchError(f"connections, file: {problem}; give 10.0.0.1,10.0.0.2,tcp,40000,80 or --file flows.csv")
    of_library: dict[str, object] = {"technique": technique, "hash": hash, "seed": seed or None}
    unused: dict[str, object] = {}
    problem = "with a target; leave it out"
    if plan is not None:
        unused, problem = {**of_library, "weights": weights, "fail": fail or None}, "with a plan; leave it out"
        with_weights.refuse_any(problem)
    elif target is None:
        for options in (with_weights, with_plan):
            options.refuse_any("without a target; give --target {target} too")
    else:
        unused = of_library
        with_plan.refuse_any(problem)
    for key, value in unused.items():
        if value is not None:
            raise AnabranchError(f"{key}: {value}: not used {problem}")

    from anabranch.cli.verbs.split import warn_of_damage
    from anabranch.deploy.targets.explanation_table import show, show_predicted
    from anabranch.deploy.targets.plan import explanation
    from anabranch.deploy.targets.plan.captured import with_headers
    from anabranch.deploy.targets.plan.group import group
    from anabranch.files.hints import choose
    from anabranch.files.terminal.console import terminal
    from anabranch.files.terminal.json_document import write_json
    from anabranch.split.request import choices
    from anabranch.split.splitter import hashes
    from anabranch.split.trace import read_trace

    sizes = None
    if file is None:
        tuples = explanation.parse_tuples(connections or ())
    else:
        # A technique of the library gives a 5-tuple one path; what a target reads of it may differ by packet.
        of_library_only = plan is None and target is None
        trace = read_trace(file, direction="each" if of_library_only else "each-headers", partial=True)
        warn_of_damage(trace)
        tuples, sizes = explanation.untyped(trace.tuples), trace.bytes
        if not of_library_only:
            tuples = with_headers(tuples, trace.headers)
    if plan is not None:
        name = target or DEFAULT
        predicted = registry.target(name).explain(plan, with_plan.of(name), tuples)
        if json is not None:
            write_json(json, explanation.record(predicted))
        if json != "-":
            show_predicted(predicted, sizes, terminal())
        if not all(one.known for one in predicted):
            raise typer.Exit(STATUS_UNSURE)
        return
    asked = group(weights or "", fail or ())
    if target is None:
        names = [hash_.name for hash_ in hashes()]
        name = choose(hash or "xxh3", names, "hash")
        chosen, *others = choices([technique or "min-move"])
        if others:
            raise AnabranchError(f"technique: {technique}: several; give one")
        explanations = explanation.by_technique(tuples, asked, chosen, name, seed)
    else:
        explanations = registry.target(target).explain_group(asked, with_weights.of(target), tuples)
    if json is not None:
        write_json(json, explanation.record(explanations))
    if json != "-":
        show(explanations, asked, sizes, terminal())
    if any(one.path is None for one in explanations):
        raise typer.Exit(STATUS_UNSURE)
