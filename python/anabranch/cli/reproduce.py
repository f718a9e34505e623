"""`anabranch reproduce`: published evaluations run again, each of their claims beside ours."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import REPRODUCE, Json
from anabranch.errors import AnabranchError
from anabranch.exit_status import STATUS_STOPPED

if TYPE_CHECKING:
    from anabranch.reproduce.group import Group


STATUS_WRONG = 1
"""Status where ours contradicts theory: our code is wrong, whatever the papers say."""


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(name="reproduce", rich_help_panel=REPRODUCE)(reproduce)


def study_names(incomplete: str) -> list[str]:
    """Papers and figure groups whose names begin so, for completion; a group once its paper is written."""
    known = [group.label if "/" in incomplete else group.paper for group in _groups()]
    return [word for word in dict.fromkeys(known) if word.startswith(incomplete)]


def reproduce(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY]...",
            help="A paper, or one of its figure groups: `luopan`, `luopan/fig9`.",
            autocompletion=study_names,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All papers.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller fabrics, fewer seeds: minutes, not hours.")] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results go; runs/reproduce if left out.")
    ] = None,
    json: Json = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table and no progress bar.")] = False,
) -> None:
    """Run published evaluations again: their claims, our numbers, and why they differ; what is there stays.

    The status is 1 if ours contradicts theory: then our code is wrong, whatever the papers say.
    """
    from anabranch.reproduce.selection import select

    if not studies and not everything:
        labels = ", ".join(group.label for group in _groups())
        raise AnabranchError(f"reproduce: no study; give --all, or some of {labels}")
    chosen = select(studies or [], everything)
    name = "all" if everything else "-".join(study.replace("/", "-") for study in studies or [])
    _run(chosen, f"{name}{'-quick' if quick else ''}", quick, output or Path("runs") / "reproduce", json, quiet)


def _groups() -> list[Group]:
    from anabranch.reproduce.selection import groups

    return groups()


def _run(chosen: list[Group], name: str, quick: bool, output: Path, json: str | None, quiet: bool) -> None:
    from anabranch.reproduce.backend import Context
    from anabranch.reproduce.line import FAILS
    from anabranch.reproduce.report import write
    from anabranch.reproduce.session import run
    from anabranch.reproduce.table import show
    from anabranch.terminal.console import terminal

    quiet = quiet or json == "-"
    command = ["anabranch", *sys.argv[1:]]
    console = terminal()

    def report(text: str) -> None:
        if not quiet:
            console.print(text, markup=False, soft_wrap=True)

    try:
        evaluated = run(chosen, output, quick, Context(command, quiet, report))
    except KeyboardInterrupt:
        typer.echo(f"{output}: stopped; the same command runs what is left", err=True)
        raise typer.Exit(STATUS_STOPPED) from None
    page = write(evaluated, output / name, f"Reproduction: {name}", command)
    if json is not None:
        from anabranch.reproduce.document import document
        from anabranch.terminal.json_document import write_json

        write_json(json, document(evaluated, [output / name] * len(evaluated)))
    if not quiet:
        for one in evaluated:
            one.evidence.show(console)
        console.print()
        show(evaluated, console)
        console.print(f"\nreport: {page}", markup=False, soft_wrap=True)
    if any(line.check == FAILS for one in evaluated for line in one.lines):
        raise typer.Exit(STATUS_WRONG)
