"""`anabranch sweep`: a scenario over axes and seeds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import SIMULATE, Json
from anabranch.cli.run import Classes, Quiet, Runs
from anabranch.exit_status import STATUS_STOPPED


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=SIMULATE)(sweep)


def sweep(
    study: Annotated[str, typer.Argument(metavar="STUDY.toml", help="The study file.")],
    runs: Runs = Path("runs"),
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Run only the I-th of N parts, as one task of a job array.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Send the cells to the Dask scheduler at this address.")
    ] = None,
    classes: Classes = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run the small version of the study that its [quick] table describes.")
    ] = False,
    skip_impossible: Annotated[
        bool, typer.Option("--skip-impossible", help="Skip cells that cannot be simulated, and list them.")
    ] = False,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run a scenario over axes and seeds on all cores, and write the results to RUNS/NAME.

    Cells whose results are there already are not run again. All cells are checked before the first one runs.
    `docs/sweeps.md` describes shards, job arrays and Dask.
    """
    from anabranch.runs.folder import check_writable
    from anabranch.stats.size_classes import DEFAULT_BOUNDS_BYTES, parse_bounds, size_classes
    from anabranch.study.study import load_study, parse_shard
    from anabranch.study.sweep import finish, leave_out, resolve, shard_of
    from anabranch.terminal.console import terminal

    part, parts = parse_shard(shard) if shard is not None else (1, 1)
    chosen = size_classes(parse_bounds(classes) if classes else DEFAULT_BOUNDS_BYTES)
    resolved = resolve(load_study(study, quick), runs)
    mine = shard_of(resolved, part, parts)
    resolved = leave_out(resolved, mine, skip=skip_impossible)
    check_writable(resolved.folder)
    from anabranch.study.dask_cluster import run_on_cluster
    from anabranch.study.local import run_local
    from anabranch.terminal.sweep_progress import SweepProgress

    console = terminal()
    quiet = quiet or json == "-"
    command = ["anabranch", *sys.argv[1:]]
    jobs = [job for job in mine if job.folder in resolved.jobs]
    there = len(resolved.jobs) - len(resolved.missing)
    if not quiet:
        of_shard = f", shard {shard}" if shard else ""
        console.print(
            f"{resolved.folder}: {len(resolved.jobs)} cells, {there} complete, {len(jobs)} to run{of_shard}",
            markup=False,
            soft_wrap=True,
        )
        for line in resolved.warning_lines:
            console.print(f"warning: {line}", style="yellow", markup=False, soft_wrap=True)
    try:
        with SweepProgress(resolved.study.name, len(jobs), quiet) as watch:
            if dask is not None:
                run_on_cluster(dask, jobs, command, watch, lambda line: typer.echo(line, err=True))
            else:
                run_local(jobs, command, watch)
    except KeyboardInterrupt:
        left = len(resolved.missing)
        typer.echo(f"{resolved.folder}: stopped, {left} cells left; the same command runs these", err=True)
        raise typer.Exit(STATUS_STOPPED) from None
    missing = resolved.missing
    if missing and skip_impossible:
        # These cells are of other shards, which do not report what they leave out.
        resolved = leave_out(resolved, missing, skip=True)
        missing = resolved.missing
    left = len(missing)
    for one in [] if quiet else resolved.refused:
        console.print(f"left out: {one.reason}", markup=False, soft_wrap=True)
    if left:
        typer.echo(f"{left} cells are left for other shards; the last one to end writes the summary", err=json == "-")
        return
    outcome = finish(resolved, chosen, command)
    if json is not None:
        from anabranch.terminal.json_document import write_json

        write_json(json, outcome.record)
    if not quiet:
        from anabranch.report.sweep_table import show

        show(outcome, console)
