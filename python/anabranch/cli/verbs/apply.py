"""`anabranch apply`: make a switch hold a plan."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import DEPLOY, Json
from anabranch.deploy.targets.plan.options import REACH, DryRun, PlanPath, TargetName, TargetOptions, with_options
from anabranch.deploy.targets.registry import DEFAULT, target
from anabranch.files.errors import AnabranchError


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(with_options(options=REACH)(apply))


def apply(
    *,
    plan: PlanPath,
    target_name: TargetName = DEFAULT,
    options: TargetOptions,
    dry_run: DryRun = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Keep running, and mask paths whose link dies until it is back, where the target can."
        ),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait",
            help="Return only when the switch splits as planned: a Linux kernel moves busy buckets later than it takes "
            "the plan.",
        ),
    ] = False,
    json: Json = None,
) -> None:
    """Make a switch hold a plan, all of it or nothing.

    Rules and groups of other owners stay as they are.
    """
    from anabranch.deploy.targets import verbs
    from anabranch.deploy.targets.plan.show import show
    from anabranch.files.terminal.console import terminal

    chosen = target(target_name)
    if follow and chosen.descriptor.follow is None:
        chosen.refuse("follow")
    if follow and dry_run:
        raise AnabranchError("follow: with --dry-run there is nothing to follow; leave one of them out")
    if wait and dry_run:
        raise AnabranchError("wait: with --dry-run there is nothing to wait for; leave one of them out")
    own = options.of(target_name)
    outcome = verbs.apply(chosen, plan, own, dry_run=dry_run, waits=wait)
    if json is not None:
        from anabranch.deploy.targets.plan.record import changes
        from anabranch.files.terminal.json_document import write_json

        write_json(json, changes(outcome, target_name, plan, dry_run=dry_run))
    if json != "-":
        show(outcome, dry_run, terminal())
    if follow and chosen.descriptor.follow is not None:
        chosen.descriptor.follow(plan, own, terminal(json))
