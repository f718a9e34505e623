"""`anabranch reproduce`: published evaluations run again, each of their claims beside ours."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import REPRODUCE
from anabranch.errors import AnabranchError
from anabranch.exit_status import STATUS_STOPPED

if TYPE_CHECKING:
    from anabranch.reproduce.selection import Group


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(name="reproduce", rich_help_panel=REPRODUCE)(reproduce)


def reproduce(
    studies: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STUDY]...", help="A paper, or one of its figure groups: `luopan`, `luopan/fig9`."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All papers.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller fabrics, fewer seeds: minutes, not hours.")] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results go; runs/reproduce if left out.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table and no progress bar.")] = False,
) -> None:
    """Run published evaluations again: their claims, our numbers, and why they differ; what is there stays."""
    from anabranch.reproduce.selection import select

    if not studies and not everything:
        raise AnabranchError(f"reproduce: no study; give --all, or some of {', '.join(_names())}")
    chosen = select(studies or [], everything)
    if len(chosen) == 1 and chosen[0].splits:
        _splitting(chosen[0], quick, output, quiet)
        return
    name = "all" if everything else "-".join(study.replace("/", "-") for study in studies or [])
    _networks(chosen, f"{name}{'-quick' if quick else ''}", quick, output or Path("runs") / "reproduce", quiet)


def _names() -> list[str]:
    from anabranch.reproduce.selection import groups

    return [group.label for group in groups()]


def _networks(chosen: list[Group], name: str, quick: bool, output: Path, quiet: bool) -> None:
    from anabranch.reproduce.report import write
    from anabranch.reproduce.session import run
    from anabranch.reproduce.table import show
    from anabranch.terminal.console import terminal

    command = ["anabranch", *sys.argv[1:]]
    console = terminal()

    def told(text: str) -> None:
        if not quiet:
            console.print(text, markup=False, soft_wrap=True)

    try:
        session = run(chosen, output, quick, quiet, command, told)
    except KeyboardInterrupt:
        typer.echo(f"{output}: stopped; the same command runs what is left", err=True)
        raise typer.Exit(STATUS_STOPPED) from None
    page = write(session.lines, session.evaluated, output / name, f"Reproduction: {name}", command)
    if not quiet:
        console.print()
        show(session.lines, session.notes, console)
        console.print(f"\nreport: {page}", markup=False, soft_wrap=True)


def _splitting(group: Group, quick: bool, output: Path | None, quiet: bool) -> None:
    """A study that splits connections, by itself: its own table has the floor and theory too."""
    from anabranch.reproduce.splitting.study import load
    from anabranch.terminal.console import terminal
    from anabranch.terminal.pass_progress import PassProgress

    wanted = load(group.folder, quick)
    # SciPy and matplotlib take a second to load: not before the study is known to be good.
    from anabranch.reproduce.splitting.job import run
    from anabranch.reproduce.splitting.output import write
    from anabranch.reproduce.splitting.table import show

    with PassProgress(group.study, quiet) as progress:
        outcome = run(wanted, progress)
    folder = output or Path("runs") / group.study
    written = write(outcome, folder, ["anabranch", *sys.argv[1:]])
    if not quiet:
        show(outcome, terminal())
        typer.echo(f"\n{outcome.seconds:.0f} s; report: {written[0]}, with the numbers behind it in {folder}")
