"""`anabranch compare`: load balancers side by side, with paired intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import SIMULATE, Json
from anabranch.cli.verbs.report import Columns, Measures, SizeClasses, Statistics, listed
from anabranch.cli.verbs.run import Classes, Override, Quiet, Runs
from anabranch.cli.verbs.sweep import Dask, Jobs, Shard


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=SIMULATE)(compare)


def compare(
    schemes: Annotated[
        list[str],
        typer.Argument(
            metavar="SCHEME...",
            help="The load balancers, the baseline first: a name, FILE.py:CLASS or crate:FOLDER; keys may follow, as "
            "in letflow,routing.gap=200us.",
        ),
    ],
    load: Annotated[
        str | None,
        typer.Option(
            "--load",
            metavar="L,L,...",
            help="The loads, or FIRST:LAST:STEP. Default: 0.3,0.5,0.7, or the load of --scenario.",
        ),
    ] = None,
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIZES",
            help="A distribution of flow sizes to compare under: a name such as data-mining, a size, or a FILE.csv; "
            "repeatable. Default: that of the scenario.",
        ),
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="N", help="Number of seeds, or which: 1,2,5 or 11:20.")] = "5",
    fabric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FABRIC",
            help="A fabric to compare in: a kind, or a TOML file with [fabric] and [[change]]; repeatable.",
        ),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANGE",
            help="A change to compare under: LINK=down, LINK=RATE, several joined by commas, or none; repeatable.",
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The scenario. Default: 32 hosts at 10 Gbit/s under 4 leaves and 4 spines, web-search flows over "
            "DCTCP for 150 ms.",
        ),
    ] = None,
    override: Override = None,
    measure: Measures = None,
    statistic: Statistics = None,
    size_class: SizeClasses = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="The name of the folder of results.")] = "comparison",
    jobs: Jobs = None,
    runs: Runs = Path("runs"),
    shard: Shard = None,
    dask: Dask = None,
    classes: Classes = None,
    columns: Columns = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Compare load balancers on the same flows, seed by seed, and say which differences are real.

    Results go to RUNS/NAME: tables, figures (PDF, SVG and PNG), and the study, which `anabranch sweep` runs as well.
    Runs that are complete are not run again; a scheme of your own whose source has changed is.
    """
    from anabranch.files.terminal.console import terminal
    from anabranch.report.comparison.compare import FIGURES, STUDY, designed, run
    from anabranch.report.comparison.fabrics import parse_changes
    from anabranch.simulate.runs.load import parse_overrides
    from anabranch.simulate.stats.size_classes import DEFAULT_BOUNDS_BYTES, parse_bounds, size_classes
    from anabranch.simulate.study.conduct import Where, to_terminal
    from anabranch.simulate.study.criteria import read_asked
    from anabranch.simulate.study.ranges import parse_numbers, parse_seeds
    from anabranch.simulate.study.study import parse_shard

    part, parts = parse_shard(shard) if shard is not None else (1, 1)
    chosen = size_classes(parse_bounds(classes) if classes else DEFAULT_BOUNDS_BYTES)
    asked = read_asked(listed(measure), listed(statistic), size_class or (), [one.label for one in chosen])
    quiet = quiet or json == "-"
    design = designed(
        schemes,
        parse_numbers(load, "load") if load is not None else None,
        sizes or [],
        parse_seeds(seeds, "seeds"),
        fabric or (),
        parse_changes(change or ()),
        scenario,
        dict(parse_overrides(override or ())),
        name,
    )
    if not quiet:
        terminal().print(design.announcement, markup=False, soft_wrap=True)
    comparison = run(design, runs, chosen, Where(part, parts, dask, jobs), to_terminal(quiet), asked, columns)
    if comparison is None:
        return
    if json is not None:
        from anabranch.files.terminal.json_document import write_json

        write_json(json, comparison.record)
    if not quiet:
        from anabranch.report.comparison.table import show

        console = terminal()
        console.print()
        show(comparison.frames, console)
        console.print(f"figures: {comparison.folder / FIGURES}", markup=False, soft_wrap=True)
        console.print(
            f"results: {comparison.folder}; the study: {comparison.folder / STUDY}; "
            f"anabranch report {comparison.folder}",
            markup=False,
            soft_wrap=True,
        )
