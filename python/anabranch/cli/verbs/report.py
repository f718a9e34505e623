"""`anabranch report`: runs or a study as one page, with every figure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import SIMULATE
from anabranch.cli.verbs.run import Classes
from anabranch.files.errors import AnabranchError

FORMATS = ("pdf", "svg", "png")

Columns = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Draw the files of figures for N columns of a paper: 1 (3.5 inches wide) or 2 (7.16 inches), with letters "
        "of 7 points or more. Default: 9 inches.",
    ),
]

Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="M,M,...",
        help="What tables and figures show: slowdown, fct, throughput, job (time of a job, such as an incast or a "
        "training job), step (of workload graphs), ttft and tpot (time to first token and per output token, of "
        "inference); repeatable. Default: those of requests, steps and jobs where there are some, and slowdown for "
        "flows by themselves; in a report fct, too.",
    ),
]
Statistics = Annotated[
    list[str] | None,
    typer.Option(
        "--statistic",
        metavar="S,S,...",
        help="The statistics of each measure: mean, p50, p95, p99, p99.9; repeatable. Default: mean, and p99 of "
        "slowdown and fct.",
    ),
]
SizeClasses = Annotated[
    list[str] | None,
    typer.Option(
        "--class",
        metavar="CLASS",
        help="A size class of flows to show: all, one such as 'up to 100 KB', or each; repeatable. Default: all; in a "
        "report each.",
    ),
]


def listed(given: list[str] | None) -> list[str]:
    """Names that were given one by one or with commas."""
    return [name.strip() for one in given or () for name in one.split(",")]


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=SIMULATE)(report)


def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUNS...", help="The folders of some runs, or of one study.")],
    out: Annotated[str, typer.Option(metavar="FILE.html", help="The HTML page to write.")] = "report.html",
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write every figure into this directory as well.")
    ] = None,
    format: Annotated[  # noqa: A002
        str, typer.Option(metavar="F,F,...", help="The formats of the files in --figures: `pdf`, `svg`, `png`.")
    ] = "pdf,svg",
    columns: Columns = None,
    measure: Measures = None,
    statistic: Statistics = None,
    size_class: SizeClasses = None,
    classes: Classes = None,
) -> None:
    """Draw runs side by side, or a study with its confidence intervals, in one HTML page."""
    formats = [name.strip() for name in format.split(",")]
    for name in formats:
        if name not in FORMATS:
            raise AnabranchError(f"format: {name}: unknown; use {', '.join(FORMATS)}")
    if not Path(out).parent.is_dir():
        raise AnabranchError(f"{out}: there is no directory {Path(out).parent}; make it first")
    # Matplotlib takes a second to load: not before the input is known to be good.
    from anabranch.files.atomic_file import write_whole
    from anabranch.report.page.figures import draw
    from anabranch.report.page.material import gather
    from anabranch.report.page.runs import page
    from anabranch.report.plot.sheet import check_columns, drawn_on
    from anabranch.report.plot.style import save
    from anabranch.simulate.stats.size_classes import DEFAULT_BOUNDS_BYTES, parse_bounds, size_classes
    from anabranch.simulate.study.criteria import Asked, read_asked

    check_columns(columns)
    chosen = size_classes(parse_bounds(classes) if classes else DEFAULT_BOUNDS_BYTES)
    material = gather(runs)
    known = material.study.size_classes if material.study else []
    asked = read_asked(listed(measure), listed(statistic), size_class or (), known)
    if asked != Asked() and material.study is None:
        raise AnabranchError("--measure, --statistic, --class: a study has these, single runs do not; leave them out")
    criteria = asked.of_report(material.study.summary) if material.study else []
    drawn = list(draw(material, chosen, criteria, every=figures is not None))
    write_whole(
        out, page(material, chosen, [one for one in drawn if one.on_page], ["anabranch", *sys.argv[1:]], criteria)
    )
    typer.echo(f"report: {out}")
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        with drawn_on(columns):
            for one in drawn if columns is None else draw(material, chosen, criteria, every=True):
                for name in formats:
                    save(one.figure, figures / f"{one.name}.{name}")
        typer.echo(f"figures: {len(drawn) * len(formats)} files in {figures}")
