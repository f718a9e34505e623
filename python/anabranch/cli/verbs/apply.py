"""`anabranch apply`: make a switch hold a plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli import DEPLOY, Json
from anabranch.deploy.targets.plan.options import REACH, DryRun, PlanPath, TargetName, TargetOptions, with_options
from anabranch.deploy.targets.registry import DEFAULT, target
from anabranch.files.errors import AnabranchError, unavailable

if TYPE_CHECKING:
    from anabranch.deploy.service.unit import Service

UNITS_S = {"s": 1, "min": 60, "h": 3600}
CONFIRM_MOST_S = 7 * 24 * 3600


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
    confirm: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Go back to what was there after this time, as in `60s` or `5min`, unless `anabranch confirm` comes "
            "first.",
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Make a switch hold a plan, all of it or nothing.

    Rules and groups of other owners stay as they are. With --follow the status is 75 where nothing is wrong with the
    plan, and the switch or the kernel refuses it: the same command may succeed later.
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
    if confirm is not None and (follow or dry_run):
        raise AnabranchError("confirm: with --follow or --dry-run there is nothing to go back from; leave one out")
    confirm_s = None if confirm is None else _seconds(confirm)
    own = options.of(target_name)
    if follow:
        # Beyond this nothing is wrong with what the user wrote, so a service manager may start it again.
        chosen.read(plan, own)
    with unavailable() if follow else nullcontext():
        outcome = verbs.apply(chosen, plan, own, dry_run=dry_run, waits=wait, confirm_s=confirm_s)
    if json is not None:
        from anabranch.deploy.targets.plan.record import changes
        from anabranch.files.terminal.json_document import write_json

        write_json(json, changes(outcome, target_name, plan, dry_run=dry_run))
    if json != "-":
        show(outcome, dry_run, terminal())
    if follow and chosen.descriptor.follow is not None:
        with unavailable():
            chosen.descriptor.follow(plan, own, terminal(json))


def service(given: Mapping[str, Any]) -> Service:
    """What `apply --follow` with these parameters takes as a service.

    Raises:
        AnabranchError: the target cannot follow, the plan is not as it must be, or another option is given.

    """
    from anabranch.deploy.service.unit import Service

    plan, chosen = given["plan"], target(given["target_name"])
    if chosen.descriptor.follow is None:
        chosen.refuse("follow")
    if not given["follow"]:
        raise AnabranchError("follow: missing; a service follows the links: give --follow")
    others = [name for name in ("dry_run", "wait", "confirm", "json") if given[name]]
    if others:
        raise AnabranchError(f"{others[0].replace('_', '-')}: not for a service; leave it out")
    # An option that may be repeated has no list yet.
    own = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
    options = TargetOptions(REACH, own).of(chosen.name)
    chosen.read(plan, options)
    title = f"anabranch: {chosen.descriptor.title} at the plan {plan}"
    return Service(title, f"anabranch-apply-{Path(plan).stem}", chosen.needs(options), (plan,))


def _seconds(text: str) -> float:
    """A duration of the command line in seconds."""
    match = re.fullmatch(r"(\d{1,7}(?:\.\d{1,3})?) ?(s|min|h)", text.strip(), re.ASCII)
    seconds = float(match[1]) * UNITS_S[match[2]] if match else 0.0
    if not 0 < seconds <= CONFIRM_MOST_S:
        raise AnabranchError(f"confirm: {text}: not a duration up to a week; write it as in 60s, 5min or 1h")
    return seconds
