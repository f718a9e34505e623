"""`anabranch agent`: let a controller on another machine follow this one's switch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli import DEPLOY
from anabranch.deploy.targets import registry
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import install
from anabranch.files.terminal.visible import one_line

if TYPE_CHECKING:
    from anabranch.deploy.service.unit import Service


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
    install stays in force when the connection is lost, and when it ends. The status is 75 if the address cannot be
    listened at.
    """
    import asyncio

    daemon = _daemon(target)
    from anabranch.deploy.openflow.tls import Tls

    files = {"key": key, "certificate": certificate, "authority": authority}
    missing = [name for name, file in files.items() if file is None]
    if missing and len(missing) < len(files):
        raise AnabranchError(f"{missing[0]}: missing; ssl takes --key, --certificate and --authority together")
    tls = None if key is None or certificate is None or authority is None else Tls(key, certificate, authority)
    asyncio.run(daemon.run(address, tls, lambda line: typer.echo(one_line(line), err=True)))


def service(given: Mapping[str, Any]) -> Service:
    """What an agent with these parameters takes as a service.

    Raises:
        AnabranchError: nobody can listen at the address, or everybody could change the routes there.

    """
    from anabranch.deploy.service.unit import Service

    address, files = given["address"], [given[name] for name in ("key", "certificate", "authority")]
    return Service(
        f"anabranch: agent of this machine's switch at {address}",
        "anabranch-agent",
        _daemon(given["target"]).needs(address),
        tuple(str(file) for file in files if file is not None),
    )


def _daemon(target: str) -> ModuleType:
    """The agent of a target."""
    try:
        return registry.agent(target)
    except ModuleNotFoundError as error:
        raise AnabranchError(f"{error.name}: missing; {install('switches')}") from None
