"""`anabranch report`: runs or a study as one page, with every figure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import SIMULATE
from anabranch.cli.run import Classes
from anabranch.errors import AnabranchError

FORMATS = ("pdf", "svg", "png")


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
    from anabranch.atomic_file import write_whole
    from anabranch.plot.style import save
    from anabranch.report.figures import draw
    from anabranch.report.material import gather
    from anabranch.report.runs import page
    from anabranch.stats.size_classes import DEFAULT_BOUNDS_BYTES, parse_bounds, size_classes

    chosen = size_classes(parse_bounds(classes) if classes else DEFAULT_BOUNDS_BYTES)
    material = gather(runs)
    drawn = list(draw(material, chosen))
    write_whole(out, page(material, chosen, drawn, ["anabranch", *sys.argv[1:]]))
    typer.echo(f"report: {out}")
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        for one in drawn:
            for name in formats:
                save(one.figure, figures / f"{one.name}.{name}")
        typer.echo(f"figures: {len(drawn) * len(formats)} files in {figures}")
