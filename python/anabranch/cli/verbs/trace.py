"""`anabranch trace`: a run as a timeline for Perfetto."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import SIMULATE


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=SIMULATE)(trace)


def trace(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, simulated or in a lab.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The trace to write.")] = Path("run.pftrace"),
) -> None:
    """Write a run that is there as a trace, which https://ui.perfetto.dev opens.

    Ports are counters, flows are slices with arrows to their receivers. Single drops, losses, marks and changes of path
    are in it if the scenario has `record.events`; `anabranch run --trace` sets that itself.
    """
    from anabranch.simulate.runs.results import Run
    from anabranch.simulate.runs.timeline.target import check_target

    check_target(out)
    recorded = Run(run)
    recorded.trace(out)
    typer.echo(f"trace: {out}; open it at https://ui.perfetto.dev")
