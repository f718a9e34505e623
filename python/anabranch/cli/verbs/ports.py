"""`anabranch ports`: source ports of queue pairs that lead to different paths."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import SIMULATE, Json
from anabranch.cli.verbs.run import Override


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=SIMULATE)(ports)


def ports(
    scenario: Annotated[
        str,
        typer.Argument(metavar="SCENARIO.toml", help="The scenario file, with routing.hash."),
    ],
    source: Annotated[str, typer.Argument(metavar="FROM", help="Host that opens the queue pairs, by name: host0.")],
    destination: Annotated[str, typer.Argument(metavar="TO", help="Host that they are opened to.")],
    queue_pairs: Annotated[
        int, typer.Option("--queue-pairs", "-k", metavar="N", min=1, max=64, help="Number of queue pairs.")
    ] = 4,
    override: Override = None,
    json: Json = None,
) -> None:
    """Choose UDP source ports so that queue pairs between two hosts take paths which share no link."""
    from dataclasses import asdict

    from anabranch.files.terminal.console import terminal
    from anabranch.files.terminal.json_document import write_json
    from anabranch.files.terminal.plain_table import plain_table
    from anabranch.simulate.runs.load import load, parse_overrides
    from anabranch.simulate.source_ports import choose_ports

    chosen = choose_ports(load(scenario, parse_overrides(override or ())), source, destination, queue_pairs)
    source_ports = [port.source_port for port in chosen.ports]
    if json is not None:
        write_json(json, {**asdict(chosen), "source_ports": source_ports})
    if json == "-":
        return
    console = terminal()
    table = plain_table(("queue pair", True), ("source port", True), ("path", False))
    for port in chosen.ports:
        table.add_row(str(port.queue_pair), str(port.source_port), " > ".join(port.path))
    console.print(table)
    console.print(
        f"\n{queue_pairs} paths from {source} to {destination} share no link; the fabric has at most "
        f"{chosen.disjoint_most}. In the scenario:\n\n[transport]\nqueue_pairs = {queue_pairs}\n"
        f"source_ports = {source_ports}",
        markup=False,
        soft_wrap=True,
        highlight=False,
    )
