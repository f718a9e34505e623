"""`anabranch show`: what a scenario is, drawn and in numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli import SIMULATE, Json
from anabranch.cli.verbs.report import FORMATS
from anabranch.cli.verbs.run import Override
from anabranch.files.errors import AnabranchError


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=SIMULATE)(show)


def show(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.")],
    override: Override = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the fabric (.svg, .pdf, .png), or write it: .graphml, .txt (ns-3).",
        ),
    ] = None,
    settings: Annotated[
        bool, typer.Option("--settings", help="Print every setting, defaults included, as TOML.")
    ] = False,
    json: Json = None,
) -> None:
    """Show the fabric, paths, offered load and warnings of a scenario before it runs.

    Graphs have their messages and bytes. The last line is the work of a run: the packets that shortest paths carry,
    times the ports they pass; probes, longer paths and what is sent again are not foreseen.
    """
    if settings and json == "-":
        raise AnabranchError("json: -: stdout has the settings as TOML; give a file, or leave out --settings")
    if out is not None and out.suffix[1:] not in (*FORMATS, "graphml", "txt"):
        raise AnabranchError(f"out: {out}: no format of a fabric; end it with .svg, .pdf, .png, .graphml or .txt")
    if out is not None and not out.parent.is_dir():
        raise AnabranchError(f"{out}: there is no directory {out.parent}; make it first")
    from anabranch.files.terminal.console import terminal
    from anabranch.simulate.own.override import taken_out, taken_out_of_file
    from anabranch.simulate.runs.load import load, parse_overrides

    pairs, _ = taken_out(parse_overrides(override or ()), Path())
    in_place, _ = taken_out_of_file(scenario, [key for key, _ in pairs])
    loaded = load(scenario, [*in_place, *pairs])
    if json is not None:
        from anabranch.files.terminal.json_document import write_json
        from anabranch.report.tables.show_table import record

        write_json(json, record(loaded))
    if settings:
        typer.echo(loaded.resolved_toml(), nl=False)
    elif json != "-":
        from anabranch.report.tables.show_table import show as show_table

        show_table(loaded, terminal())
    if out is not None and out.suffix in (".graphml", ".txt"):
        from anabranch.files.atomic_file import write_whole
        from anabranch.simulate.importing.ns3_topology import ns3_topology
        from anabranch.simulate.importing.topology_graph import topology_graph

        topology = loaded.topology()
        write_whole(out, ns3_topology(topology) if out.suffix == ".txt" else topology_graph(topology).graphml())
        typer.echo(f"written: {out}", err=settings or json == "-")
        if set(topology["ports"]["cost"]) != {1}:
            what = "links of unlike costs to routing, which the file does not say; read again, all cost the same"
            typer.echo(f"warning: {what}", err=True)
    elif out is not None:
        from anabranch.report.plot.fabric import draw
        from anabranch.report.plot.style import save

        save(draw(loaded.topology()), out)
        typer.echo(f"drawn: {out}", err=settings or json == "-")
