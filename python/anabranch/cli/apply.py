"""`anabranch apply`: make a switch hold a plan."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import DEPLOY
from anabranch.errors import AnabranchError
from anabranch.targets.plan.options import DryRun, Place, Plan, TargetName, options


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(options(apply))


def apply(
    *,
    plan: Plan,
    target_name: TargetName = "ovs",
    place: Place,
    dry_run: DryRun = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="For ebpf: stay, and mask members whose link dies until it is back.")
    ] = False,
) -> None:
    """Make a switch hold a plan: all of it or, if anything is refused, none. What is others' stays as it is."""
    from anabranch.targets.plan.show import show
    from anabranch.targets.protocol import target
    from anabranch.terminal.console import terminal

    if follow and (target_name != "ebpf" or dry_run):
        raise AnabranchError("follow: with --target ebpf, and without --dry-run, only; leave it out")
    outcome = target(target_name).apply(plan, place, dry_run=dry_run)
    show(outcome, dry_run, terminal())
    if follow:
        from anabranch.targets.ebpf.follow import follow as follow_links

        follow_links(plan, place, terminal())
