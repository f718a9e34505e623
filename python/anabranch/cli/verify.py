"""`anabranch verify`: whether a switch holds a plan, and splits as it says."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import DEPLOY
from anabranch.targets.plan.options import Place, Plan, TargetName, options

STATUS_WRONG, STATUS_UNSURE = 1, 3


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(options(verify))


def verify(
    *,
    plan: Plan,
    target_name: TargetName = "ovs",
    place: Place,
    seconds: Annotated[float, typer.Option(metavar="S", help="How long to measure.", min=0.01, max=86400)] = 10.0,
    connections: Annotated[
        int | None, typer.Option(metavar="N", help="That pass each group meanwhile, if you know.", min=1)
    ] = None,
) -> None:
    """Compare a switch with a plan, then measure its split; status 1 if it is wrong, 3 if that cannot be told."""
    from anabranch.targets.plan.show import show_verified, waiting
    from anabranch.targets.plan.verification import Verdict
    from anabranch.targets.protocol import target
    from anabranch.terminal.console import terminal

    with waiting(seconds):
        found = target(target_name).verify(plan, place, seconds=seconds, connections=connections)
    show_verified(found, terminal())
    verdicts = [group.judged[0] for group in found.groups]
    if found.lines or Verdict.WRONG in verdicts:
        raise typer.Exit(STATUS_WRONG)
    if Verdict.UNSURE in verdicts:
        raise typer.Exit(STATUS_UNSURE)
