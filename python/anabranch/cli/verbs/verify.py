"""`anabranch verify`: whether a switch holds a plan, and splits as it says."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import DEPLOY, Json
from anabranch.deploy.targets.plan.options import COMPARE, ComparedName, PlanPath, TargetOptions, with_options
from anabranch.deploy.targets.registry import COMPARED, DEFAULT, compared

STATUS_WRONG, STATUS_UNSURE = 1, 3


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(with_options(options=COMPARE)(verify))


def verify(
    *,
    plan: PlanPath,
    target_name: ComparedName = DEFAULT,
    options: TargetOptions,
    seconds: Annotated[
        float, typer.Option(metavar="S", help="The duration of the measurement, in seconds.", min=0.01, max=86400)
    ] = 10.0,
    connections: Annotated[
        int | None,
        typer.Option(metavar="N", help="The connections that pass each group during the measurement, if known.", min=1),
    ] = None,
    json: Json = None,
) -> None:
    """Compare a switch with a plan, then measure its split.

    The status is 1 if the switch or its split is wrong, and 3 if the measurement cannot decide.
    """
    from anabranch.deploy.targets import verbs
    from anabranch.deploy.targets.plan.show import show_verified, waiting
    from anabranch.deploy.targets.plan.verification import Verdict
    from anabranch.files.terminal.console import terminal

    own = options.of(target_name)
    with waiting(seconds):
        verification = verbs.verify(compared(target_name), plan, own, seconds=seconds, connections=connections)
    if json is not None:
        from anabranch.deploy.targets.plan.record import verified
        from anabranch.files.terminal.json_document import write_json

        write_json(json, verified(verification, target_name, plan))
    if json != "-":
        show_verified(verification, terminal(), compared_only=target_name in COMPARED)
    if verification.verdict is not Verdict.RIGHT:
        raise typer.Exit(STATUS_WRONG if verification.verdict is Verdict.WRONG else STATUS_UNSURE)
