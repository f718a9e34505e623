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
    from anabranch.deploy.openflow.tls import Tls
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

    daemon, tls = _daemon(target), _tls({"key": key, "certificate": certificate, "authority": authority})
    asyncio.run(daemon.run(address, tls, lambda line: typer.echo(one_line(line), err=True)))


def service(given: Mapping[str, Any]) -> Service:
    """What an agent with these parameters takes as a service.

    Raises:
        AnabranchError: the address or the certificates are not as they must be.

    """
    from anabranch.deploy.service.unit import Service

    address, files = given["address"], {name: given[name] for name in ("key", "certificate", "authority")}
    return Service(
        f"anabranch: agent of this machine's switch at {address}",
        "anabranch-agent",
        _daemon(given["target"]).needs(address, _tls(files)),
        tuple(str(file) for file in files.values() if file is not None),
    )


def _tls(files: Mapping[str, Path | None]) -> Tls | None:
    """The certificates that options name, if any."""
    from anabranch.deploy.openflow.tls import Tls

    named = {name: file for name, file in files.items() if file is not None}
    missing = [name for name in files if name not in named]
    if named and missing:
        raise AnabranchError(f"{missing[0]}: missing; ssl takes --key, --certificate and --authority together")
    return Tls(**named) if named else None


def _daemon(target: str) -> ModuleType:
    """The agent of a target."""
    try:
        return registry.agent(target)
    except ModuleNotFoundError as error:
        raise AnabranchError(f"{error.name}: missing; {install('switches')}") from None
