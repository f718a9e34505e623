"""`anabranch diff`: what a plan would change in a switch."""

from __future__ import annotations

import typer

from anabranch.cli import DEPLOY
from anabranch.targets.plan.options import Place, Plan, TargetName, options

STATUS_DIFFERENT = 1


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(options(diff))


def diff(
    *,
    plan: Plan,
    target_name: TargetName = "ovs",
    place: Place,
) -> None:
    """Say what `apply` would change in a switch; status 1 if there is anything."""
    from anabranch.targets.plan.show import show
    from anabranch.targets.protocol import target
    from anabranch.terminal.console import terminal

    outcome = target(target_name).apply(plan, place, dry_run=True)
    show(outcome, True, terminal())
    if outcome.lines:
        raise typer.Exit(STATUS_DIFFERENT)
