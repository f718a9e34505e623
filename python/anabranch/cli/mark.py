"""`anabranch mark`: this host labels its packets with the slices that the controller cut."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.errors import AnabranchError


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(mark)


def mark(
    labels: Annotated[
        str | None, typer.Argument(metavar="URL|FILE", help="Of the controller's slices.json: an http URL or a file.")
    ] = None,
    leaf: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of this host. Left out: the one with this host's address.")
    ] = None,
    device: Annotated[
        list[str] | None,
        typer.Option(metavar="DEVICE", help="Send one segment per packet through it while marking (gso_max_segs 1)."),
    ] = None,
    netns: Annotated[
        str | None, typer.Option(metavar="NAME", help="Mark in this network namespace, of a container or a lab's host.")
    ] = None,
    poll_s: Annotated[float, typer.Option("--poll", metavar="S", help="Time between two looks.", min=0.01)] = 0.5,
    once: Annotated[bool, typer.Option("--once", help="Mark as said now, and stay so after the end.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Stop marking: take our nftables table away.")] = False,
) -> None:
    """Label packets towards other leaves with the controller's slices in turn (Wino), in their DSCP field.

    Runs until it is ended, follows what the controller says, and takes its nftables table away at the end. While the
    controller cannot be reached the labels stay as they are: switches forward what bears none of their slices anyhow.
    """
    from anabranch.cli.split import terminal
    from anabranch.marking import nftables as marking
    from anabranch.marking.agent import Agent

    enter = [] if netns is None else ["ip", "netns", "exec", netns]
    if remove:
        marking.remove(enter=enter)
        for name in device or ():
            marking.set_segments(name, marking.SEGMENTS_DEFAULT, enter=enter)
        return
    if labels is None:
        raise AnabranchError("labels: missing; give the controller's address, as http://192.0.2.1:9653/slices.json")
    source = labels if labels.startswith(("http://", "https://")) else Path(labels)
    console = terminal()
    agent = Agent(source, leaf=leaf, enter=enter, say=lambda line: console.print(line, markup=False, highlight=False))
    if once:
        agent.look()
        for name in device or ():
            marking.single_segments(name, enter=enter)
        return
    agent.run(poll_s, device or ())
