"""`anabranch agent`: let a controller on another machine follow this one's switch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import DEPLOY
from anabranch.deploy.targets import registry
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import install
from anabranch.files.terminal.visible import one_line


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=DEPLOY)(agent)


def agent(
    address: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS",
            help="The address to listen at: ssl:HOST:PORT, unix:PATH, or at loopback tcp:HOST:PORT (port 6655).",
        ),
    ],
    key: Annotated[Path | None, typer.Option(metavar="PEM", help="The private key of this machine, for ssl.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="PEM", help="The certificate of this machine, for ssl.")
    ] = None,
    authority: Annotated[
        Path | None,
        typer.Option(metavar="PEM", help="The authority that must have signed the controller's certificate, for ssl."),
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="TARGET", help=f"The target of the switch: {registry.listed(registry.AGENTS)}.")
    ] = registry.AGENTS[0],
) -> None:
    """Let a controller on another machine follow this machine's switch; `anabranch control` connects to it.

    Runs in the network namespace of the switch's ports until SIGTERM, and needs CAP_NET_ADMIN. What it was asked to
    install stays in force when the connection is lost, and when it ends.
    """
    import asyncio

    try:
        daemon = registry.agent(target)
    except ModuleNotFoundError as error:
        raise AnabranchError(f"{error.name}: missing; {install('switches')}") from None
    from anabranch.deploy.openflow.tls import Tls

    files = {"key": key, "certificate": certificate, "authority": authority}
    missing = [name for name, file in files.items() if file is None]
    if missing and len(missing) < len(files):
        raise AnabranchError(f"{missing[0]}: missing; ssl takes --key, --certificate and --authority together")
    tls = None if key is None or certificate is None or authority is None else Tls(key, certificate, authority)
    asyncio.run(daemon.run(address, tls, lambda line: typer.echo(one_line(line), err=True)))
