"""`anabranch install`: units of systemd for commands that run all the time."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import DEPLOY, app, verbs
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import choose

if TYPE_CHECKING:
    from anabranch.deploy.service.unit import Service

VERBS = ("agent", "apply", "control", "mark")
"""Verbs that can be services; the module of each has `service`."""
FOLDER = Path("/etc/systemd/system")


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    # What follows the command's name is the command's, options too.
    settings = {"allow_interspersed_args": False, "ignore_unknown_options": True}
    app.command(rich_help_panel=DEPLOY, context_settings=settings)(install)


def install(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND...",
            help="The command as it is typed, without `anabranch`: `control FABRIC.toml`, `apply PLAN.toml --target "
            "NAME --follow`, `agent ADDRESS` or `mark URL`.",
        ),
    ],
    systemd: Annotated[bool, typer.Option("--systemd", help="Write a unit of systemd. Required.")] = False,
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the unit.")] = FOLDER,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of the unit, without `.service`. Default: of the command and its file's name."
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="User that it runs as. Default: root where files or sockets are root's, without root's capabilities; "
            "else a user that systemd makes for it.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a unit of this name that has other content.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the unit, and write nothing.")] = False,
) -> None:
    """Write a unit of systemd for a command that runs all the time, with the fewest rights that it needs.

    The files of the command are read, and refused as by the command itself. Nothing is started.
    """
    from anabranch.deploy.service.unit import checked_name, unit
    from anabranch.files.atomic_file import write_whole
    from anabranch.files.terminal.visible import one_line

    if not systemd:
        raise AnabranchError("systemd: missing; give --systemd, the one service manager that units are written for")
    service = _service(command)
    named = checked_name(name or service.name)
    text = unit(service, command, name=named, user=user)
    if dry_run:
        typer.echo(text, nl=False)
        return
    file = folder / f"{named}.service"
    before = file.read_text(encoding="utf-8", errors="replace") if file.exists() else None
    if before not in (None, text) and not overwrite:
        raise AnabranchError(f"{file}: there is one with other content; give --overwrite, or another --name")
    if before != text:
        write_whole(file, text)
    typer.echo(f"{one_line(str(file))}: {'as it was' if before == text else 'written'}")
    typer.echo(f"to start it now and at each boot: systemctl daemon-reload && systemctl enable --now {named}")


def _service(command: list[str]) -> Service:
    """The service that a command line is, which is read as the verb itself reads it."""
    verb, *arguments = command
    choose(verb, VERBS, "command")
    with typer.main.get_command(app).make_context("anabranch", command) as context:
        known = context.command.get_command(context, verb)  # type: ignore[attr-defined]
        with known.make_context(verb, arguments, parent=context) as given:
            service: Service = importlib.import_module(f"{verbs.__name__}.{verb}").service(given.params)
    return service
