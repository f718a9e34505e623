"""`anabranch mark`: this host labels its packets with the slices that the controller cut."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli import DEPLOY
from anabranch.files.errors import AnabranchError, unavailable

if TYPE_CHECKING:
    from anabranch.deploy.service.unit import Service

URLS = ("http://", "https://")
MISSING = "labels: missing; give the controller's address, as http://192.0.2.1:9653/slices.json"


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(mark)


def mark(
    labels: Annotated[
        str | None, typer.Argument(metavar="URL|FILE", help="The http URL or the file of the controller's slices.json.")
    ] = None,
    leaf: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The leaf of this host. Default: the leaf that has this host's address."),
    ] = None,
    device: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DEVICE",
            help="Send one segment per packet through this device while marking (gso_max_segs 1); repeatable.",
        ),
    ] = None,
    netns: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Mark in this network namespace, which a container or a host of a lab has."),
    ] = None,
    poll_s: Annotated[
        float,
        typer.Option("--poll", metavar="S", help="The time between two reads of the slices, in seconds.", min=0.01),
    ] = 0.5,
    once: Annotated[bool, typer.Option("--once", help="Set the marks once and exit; they stay.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the nftables table of the marks, and exit.")] = False,
) -> None:
    """Mark this host's packets to other leaves with the controller's slices in turn (Wino), in the DSCP field.

    The command runs until it is stopped, follows the controller, and removes its nftables table at the end. While the
    controller cannot be reached the marks stay as they are; switches forward packets without a known slice as well.
    """
    from anabranch.deploy.marking import nftables as marking
    from anabranch.deploy.marking.agent import Agent
    from anabranch.files.terminal.console import terminal

    enter = [] if netns is None else ["ip", "netns", "exec", netns]
    if remove:
        marking.remove(enter=enter)
        for name in device or ():
            marking.set_segments(name, marking.SEGMENTS_DEFAULT, enter=enter)
        return
    if labels is None:
        raise AnabranchError(MISSING)
    source = labels if labels.startswith(URLS) else Path(labels)
    console = terminal()
    agent = Agent(source, leaf=leaf, enter=enter, say=lambda line: console.print(line, markup=False, highlight=False))
    if once:
        agent.look()
        for name in device or ():
            marking.single_segments(name, enter=enter)
        return
    with unavailable():
        agent.run(poll_s, device or ())


def service(given: Mapping[str, Any]) -> Service:
    """What an agent with these parameters takes as a service.

    Raises:
        AnabranchError: no source of slices is given, or an option that ends.

    """
    from anabranch.deploy.service.needs import INTERNET, NETLINK
    from anabranch.deploy.service.unit import Service

    labels = given["labels"]
    ends = [name for name in ("once", "remove") if given[name]]
    if ends:
        raise AnabranchError(f"{ends[0]}: not for a service; leave it out")
    if given["netns"]:
        hint = f"leave it out, and give the unit NetworkNamespacePath=/run/netns/{given['netns']}"
        raise AnabranchError(f"netns: {given['netns']}: a service is started there; {hint}")
    if labels is None:
        raise AnabranchError(MISSING)
    is_url = labels.startswith(URLS)
    needs = NETLINK | INTERNET if is_url else NETLINK
    title = "anabranch: marks of this host's packets"
    return Service(title, "anabranch-mark", needs, () if is_url else (labels,), reports_ready=False)
