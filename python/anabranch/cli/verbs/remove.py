"""`anabranch remove`: take a plan out of a switch."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import DEPLOY, Json
from anabranch.deploy.targets.plan.options import REACH, DryRun, TargetName, TargetOptions, with_options
from anabranch.deploy.targets.registry import DEFAULT, TARGETS, target
from anabranch.files.errors import AnabranchError


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(with_options(options=REACH)(remove))


def remove(
    *,
    plan: Annotated[
        str | None, typer.Argument(metavar="PLAN.TOML", help="The plan file whose owner's rules are removed.")
    ] = None,
    target_name: TargetName = DEFAULT,
    options: TargetOptions,
    dry_run: DryRun = False,
    stale: Annotated[
        bool,
        typer.Option(
            "--stale", help="Remove, without a plan, what a target keeps of network namespaces that have ended."
        ),
    ] = False,
    json: Json = None,
) -> None:
    """Remove everything of a plan's owner from a switch, and nothing else."""
    from anabranch.deploy.targets import verbs
    from anabranch.deploy.targets.plan.show import show, show_stale
    from anabranch.files.terminal.console import terminal

    chosen = target(target_name)
    if stale:
        if plan is not None or chosen.descriptor.stale is None:
            able = next(name for name in TARGETS if target(name).descriptor.stale is not None)
            problem = f"with --target {able}, and without a plan, only"
            raise AnabranchError(f"stale: {problem}; write anabranch remove --target {able} --stale")
        options.refuse_any("with --stale; leave it out", values=False)
        gone, notes = chosen.descriptor.stale(dry_run)
        outcome = verbs.Outcome(gone, len(gone), notes, "nothing of network namespaces that have ended")
    elif plan is None:
        raise AnabranchError(
            "plan: missing; name the plan whose owner's rules shall go, as in anabranch remove plan.toml"
        )
    else:
        outcome = verbs.remove(chosen, plan, options.of(target_name), dry_run=dry_run)
    if json is not None:
        from anabranch.deploy.targets.plan.record import changes
        from anabranch.files.terminal.json_document import write_json

        write_json(json, changes(outcome, target_name, plan, dry_run=dry_run))
    if json == "-":
        return
    if stale:
        show_stale(outcome, terminal())
    else:
        show(outcome, dry_run, terminal())
