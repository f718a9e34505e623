"""`anabranch remove`: take a plan out of a switch."""

from __future__ import annotations

import typer

from anabranch.deploy.place import (
    Authority,
    Bridge,
    Certificate,
    Devices,
    DryRun,
    Hook,
    Key,
    OpenFlow,
    Ovsdb,
    Place,
    Plan,
    TargetName,
)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(remove)


def remove(
    plan: Plan,
    target_name: TargetName = "ovs",
    bridge: Bridge = "",
    openflow: OpenFlow = "",
    ovsdb: Ovsdb = "",
    key: Key = "",
    certificate: Certificate = "",
    authority: Authority = "",
    dev: Devices = None,
    hook: Hook = "",
    dry_run: DryRun = False,
) -> None:
    """Take out of a switch all that is the plan's owner's, and nothing else."""
    from anabranch.cli.split import terminal
    from anabranch.deploy.show import show
    from anabranch.deploy.target import target

    place = Place(bridge, openflow, ovsdb, key, certificate, authority, tuple(dev or ()), hook)
    outcome = target(target_name).remove(plan, place, dry_run=dry_run)
    show(outcome, dry_run, terminal())
