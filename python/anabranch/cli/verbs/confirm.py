"""`anabranch confirm`: keep a plan that would go back by itself."""

from __future__ import annotations

import typer

from anabranch.cli import DEPLOY
from anabranch.deploy.targets.plan.options import REACH, PlanPath, TargetName, TargetOptions, with_options
from anabranch.deploy.targets.registry import DEFAULT, target

STATUS_NONE = 1


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(with_options(options=REACH)(confirm))


def confirm(
    *,
    plan: PlanPath,
    target_name: TargetName = DEFAULT,
    options: TargetOptions,
) -> None:
    """Keep a plan that `apply --confirm` has put into a switch and that would go back by itself.

    Needs the same target options. The status is 1 if nothing waits to be confirmed.
    """
    from anabranch.deploy.targets import verbs
    from anabranch.files.terminal.visible import one_line

    if not verbs.confirm(target(target_name), plan, options.of(target_name)):
        typer.echo(f"nothing waits to be confirmed: {one_line(plan)}")
        raise typer.Exit(STATUS_NONE)
    typer.echo(f"confirmed: {one_line(plan)} stays")
