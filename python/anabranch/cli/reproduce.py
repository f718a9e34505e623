"""`anabranch reproduce`: a published evaluation run again, each of its claims beside ours and theory's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.split import terminal
from anabranch.report.progress import PassProgress


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(name="reproduce")(reproduce)


def reproduce(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Its name, as in `valo-splitting`.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer trials, and smaller loads for times.")] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results go; runs/STUDY if left out.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table and no progress bar.")] = False,
) -> None:
    """Run a published evaluation again: its claims, our numbers, what theory allows, and why they differ."""
    from anabranch.reproduce.study import find, load

    wanted = load(find(study), quick)
    # SciPy and matplotlib take a second to load: not before the study is known to be good.
    from anabranch.reproduce.job import run
    from anabranch.reproduce.output import write
    from anabranch.reproduce.table import show

    with PassProgress(study, quiet) as progress:
        outcome = run(wanted, progress)
    folder = output or Path("runs") / study
    written = write(outcome, folder, ["anabranch", *sys.argv[1:]])
    if not quiet:
        show(outcome, terminal())
        typer.echo(f"\n{outcome.seconds:.0f} s; report: {written[0]}, with the numbers behind it in {folder}")
