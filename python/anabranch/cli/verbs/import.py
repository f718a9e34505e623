"""`anabranch import`: a scenario from files of other simulators and tools, or a plan from routes of a daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from anabranch.cli import SIMULATE, Json


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(name="import", rich_help_panel=SIMULATE)(import_files)


def import_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Topology: of ns-3 (HPCC, conweave-ns3, ASTRA-sim, SimAI), htsim (.topo), GraphML, GML, DOT, "
            "node-link JSON or containerlab. Beside it flows and size distributions of HPCC and conweave-ns3, their "
            "config.txt, or flows of htsim (.cm). Or a folder with such files. Or what FRR says to `show ip route "
            "json`: a plan is written with the weights that BGP gave.",
        ),
    ],
    into: Annotated[
        Path, typer.Option(metavar="DIR", help="New folder for scenario.toml and what it needs, or for plan.toml.")
    ] = Path("imported"),
    json: Json = None,
) -> None:
    """Write a scenario from the files of another simulator or tool, or a plan from the routes of a routing daemon.

    What a file says and is not understood is an error or a warning; what no file says is written as an assumption.
    """
    from anabranch.deploy.targets.registry import importer
    from anabranch.files.terminal.console import terminal
    from anabranch.files.terminal.json_document import write_json
    from anabranch.files.units import count
    from anabranch.simulate.importing.bring import SCENARIO, bring

    reader = importer(files[0]) if len(files) == 1 else None
    if reader is not None:
        _show_plan(reader.write(files[0], into), json)
        return
    brought = bring(files, into)
    scenario = str(brought.folder / SCENARIO)
    if json is not None:
        facts = {"hosts": brought.hosts, "nodes": brought.nodes, "links": brought.links, "flows": brought.flows}
        document = {
            "scenario": scenario,
            "files": brought.files,
            "assumed": brought.assumed,
            "warnings": brought.warnings,
        }
        write_json(json, {"import": document | facts})
    if json == "-":
        return
    console = terminal()
    flows = "" if brought.flows is None else f", {count(brought.flows)} flows"
    facts_text = f"{count(brought.hosts)} hosts, {count(brought.nodes)} nodes, {count(brought.links)} links{flows}"
    console.print(f"{scenario}: {facts_text}", markup=False, soft_wrap=True)
    for assumption in brought.assumed:
        console.print(f"assumed: {assumption}", markup=False, soft_wrap=True)
    for warning in brought.warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False, soft_wrap=True)
    console.print(f"next: anabranch run {scenario}", markup=False, soft_wrap=True)


def _show_plan(plan: Any, json: str | None) -> None:
    """Shows a plan that was written from routes."""
    from anabranch.files.terminal.console import terminal
    from anabranch.files.terminal.json_document import write_json

    if json is not None:
        write_json(json, {"import": plan.record})
    if json == "-":
        return
    console = terminal()
    console.print(f"{plan.file}: {plan.facts}", markup=False, soft_wrap=True)
    for warning in plan.warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False, soft_wrap=True)
    console.print(f"next: {plan.next_command}", markup=False, soft_wrap=True)
