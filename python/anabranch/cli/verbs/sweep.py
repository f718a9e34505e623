"""`anabranch sweep`: a scenario over axes and seeds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import SIMULATE, Json
from anabranch.cli.verbs.run import Classes, Override, Quiet, Runs

Shard = Annotated[
    str | None, typer.Option(metavar="I/N", help="Run only the I-th of N parts, as one task of a job array.")
]
Dask = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Send the cells to the Dask scheduler at this address.")
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, metavar="N", help="Run N cells at once, on N cores. Default: one per core."),
]
SkipImpossible = Annotated[
    bool,
    typer.Option(
        "--skip-impossible/--refuse-impossible",
        help="Skip cells that cannot be simulated, and list them; or run nothing if there is one.",
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=SIMULATE)(sweep)


def sweep(
    study: Annotated[str, typer.Argument(metavar="STUDY.toml", help="The study file.")],
    override: Override = None,
    loads: Annotated[
        str | None,
        typer.Option(
            metavar="L,L,...", help="Values of the axis `traffic.load`, or FIRST:LAST:STEP. Default: the study's."
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="N", help="Number of seeds, or which: 1,2,5 or 11:20. Default: the study's."),
    ] = None,
    jobs: Jobs = None,
    runs: Runs = Path("runs"),
    shard: Shard = None,
    dask: Dask = None,
    classes: Classes = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run the small version of the study that its [quick] table describes.")
    ] = False,
    skip_impossible: SkipImpossible = True,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run a scenario over axes and seeds on all cores, and write the results to RUNS/NAME.

    Cells whose results are there already are not run again. All cells are checked before the first one runs.
    `docs/sweeps.md` describes shards, job arrays and Dask.
    """
    from anabranch.simulate.runs.load import parse_overrides
    from anabranch.simulate.stats.size_classes import DEFAULT_BOUNDS_BYTES, parse_bounds, size_classes
    from anabranch.simulate.study.changed import changed
    from anabranch.simulate.study.ranges import parse_numbers, parse_seeds
    from anabranch.simulate.study.study import load_study, parse_shard

    part, parts = parse_shard(shard) if shard is not None else (1, 1)
    chosen = size_classes(parse_bounds(classes) if classes else DEFAULT_BOUNDS_BYTES)
    asked = changed(
        load_study(study, quick),
        parse_overrides(override or ()),
        parse_seeds(seeds, "seeds") if seeds is not None else None,
        parse_numbers(loads, "loads") if loads is not None else None,
    )
    from anabranch.simulate.study.conduct import Where, conduct, to_terminal
    from anabranch.simulate.study.sweep import resolve

    where = Where(part, parts, dask, jobs, skip_impossible)
    quiet = quiet or json == "-"
    outcome = conduct(resolve(asked, runs), chosen, ["anabranch", *sys.argv[1:]], where, to_terminal(quiet))
    if outcome is None:
        return
    if json is not None:
        from anabranch.files.terminal.json_document import write_json

        write_json(json, outcome.record)
    if not quiet:
        from anabranch.files.terminal.console import terminal
        from anabranch.report.tables.sweep_table import show

        show(outcome, terminal())
