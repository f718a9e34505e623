"""`anabranch diff`: what a plan would change in a switch."""

from __future__ import annotations

import typer

from anabranch.cli import DEPLOY, Json
from anabranch.deploy.targets.plan.options import COMPARE, ComparedName, PlanPath, TargetOptions, with_options
from anabranch.deploy.targets.registry import COMPARED, DEFAULT, compared

STATUS_DIFFERENT = 1


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(with_options(options=COMPARE)(diff))


def diff(
    *,
    plan: PlanPath,
    target_name: ComparedName = DEFAULT,
    options: TargetOptions,
    json: Json = None,
) -> None:
    """Show what `apply` would change in a switch.

    The status is 1 if there is anything to change.
    """
    from anabranch.deploy.targets import verbs
    from anabranch.deploy.targets.plan.show import show
    from anabranch.files.terminal.console import terminal

    outcome = verbs.apply(compared(target_name), plan, options.of(target_name), dry_run=True)
    if json is not None:
        from anabranch.deploy.targets.plan.record import changes
        from anabranch.files.terminal.json_document import write_json

        write_json(json, changes(outcome, target_name, plan, dry_run=True))
    if json != "-":
        show(outcome, True, terminal(), compared_only=target_name in COMPARED)
    if outcome.lines:
        raise typer.Exit(STATUS_DIFFERENT)
