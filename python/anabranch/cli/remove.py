"""`anabranch remove`: take a plan out of a switch."""

from __future__ import annotations

import typer

from anabranch.deploy.place import DryRun, Place, Plan, TargetName, options


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(options(remove))


def remove(
    *,
    plan: Plan,
    target_name: TargetName = "ovs",
    place: Place,
    dry_run: DryRun = False,
) -> None:
    """Take out of a switch all that is the plan's owner's, and nothing else."""
    from anabranch.cli.split import terminal
    from anabranch.deploy.show import show
    from anabranch.deploy.target import target

    outcome = target(target_name).remove(plan, place, dry_run=dry_run)
    show(outcome, dry_run, terminal())
