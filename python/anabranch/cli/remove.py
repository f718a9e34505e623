"""`anabranch remove`: take a plan out of a switch."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import DEPLOY
from anabranch.errors import AnabranchError
from anabranch.targets.plan.options import DryRun, Place, TargetName, options

EBPF = "ebpf"


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(options(remove))


def remove(
    *,
    plan: Annotated[
        str | None, typer.Argument(metavar="PLAN.TOML", help="Which packets go over which ports in which shares.")
    ] = None,
    target_name: TargetName = "ovs",
    place: Place,
    dry_run: DryRun = False,
    stale: Annotated[
        bool,
        typer.Option("--stale", help="For ebpf, without a plan: datapaths of network namespaces that have ended."),
    ] = False,
) -> None:
    """Take out of a switch all that is the plan's owner's, and nothing else."""
    if stale and (plan is not None or target_name != EBPF):
        problem = f"with --target {EBPF}, and without a plan, only"
        raise AnabranchError(f"stale: {problem}; write anabranch remove --target {EBPF} --stale")
    if stale:
        place.refuse_any("with --stale")
        _remove_stale(dry_run)
        return
    if plan is None:
        raise AnabranchError(
            "plan: missing; name the plan whose owner's rules shall go, as in anabranch remove plan.toml"
        )
    from anabranch.targets.plan.show import show
    from anabranch.targets.protocol import target
    from anabranch.terminal.console import terminal

    outcome = target(target_name).remove(plan, place, dry_run=dry_run)
    show(outcome, dry_run, terminal())


def _remove_stale(dry_run: bool) -> None:
    from anabranch.targets.ebpf.datapath import locked
    from anabranch.targets.ebpf.leftovers import collect, leftovers
    from anabranch.terminal.console import terminal

    with locked(make=False):
        found = leftovers()
        if not dry_run:
            collect(found)
    console = terminal()
    for line in (line for one in found for line in one.lines):
        console.print(line, style="red", markup=False, soft_wrap=True)
    if not found:
        console.print("nothing to do: no network namespace that has ended has a datapath")
