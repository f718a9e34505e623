"""`anabranch graph`: a workload graph, checked and timed without a network."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli import SIMULATE, Json
from anabranch.files.errors import AnabranchError

PARAMETERS = ("L", "o", "g", "G", "O", "S")


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(rich_help_panel=SIMULATE)(graph)


def graph(
    *,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Workload graph: .goal or .bin (GOAL), .et (Chakra: the file of rank 0, the others beside it), .xml "
            "(MSCCL) or .cm (htsim).",
        ),
    ],
    loggops: Annotated[
        str | None,
        typer.Option(
            metavar="L,o,g,G,O,S",
            help="Print when each rank ends under LogGOPS: latency, overhead and gap in ns, gap and overhead in ns per "
            "byte, and the largest message in bytes that does not wait for its receive; whole numbers.",
        ),
    ] = None,
    size: Annotated[
        int, typer.Option(metavar="BYTES", min=1, help="Buffer that an MSCCL algorithm divides into chunks.")
    ] = 1_000_000,
    json: Json = None,
) -> None:
    """Check a workload graph, and print its size and when each rank would end under LogGOPS."""
    from anabranch._core import describe_work
    from anabranch.files.terminal.console import terminal
    from anabranch.files.terminal.json_document import write_json
    from anabranch.files.terminal.plain_table import plain_table
    from anabranch.files.units import count

    (ranks, nodes, messages, size_bytes, warnings), ends = describe_work(
        file, size, parameters(loggops) if loggops else None
    )
    if json is not None:
        sums = {
            "file": file,
            "ranks": ranks,
            "nodes": nodes,
            "messages": messages,
            "bytes": size_bytes,
            "warnings": warnings,
        }
        write_json(json, {"graph": sums, "end_ns": ends})
    if json == "-":
        return
    console = terminal()
    console.print(
        f"{file}: {count(ranks)} ranks, {count(nodes)} nodes, {count(messages)} messages of {count(size_bytes)} B",
        markup=False,
        soft_wrap=True,
    )
    for warning in warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False, soft_wrap=True)
    if ends is not None:
        table = plain_table(("rank", True), ("end, ns", True))
        for rank, end in enumerate(ends):
            table.add_row(str(rank), count(end))
        console.print(table)


def parameters(text: str) -> list[int]:
    """Parameters of LogGOPS in their order.

    Raises:
        AnabranchError: they are not six whole numbers.

    """
    values = [value.strip() for value in text.split(",")]
    if len(values) != len(PARAMETERS) or not all(value.isascii() and value.isdecimal() for value in values):
        hint = "give six whole numbers, as in 2500,1500,1000,6,0,65535"
        raise AnabranchError(f"--loggops {text}: not {','.join(PARAMETERS)}; {hint}")
    if any(int(value) >= 2**64 for value in values):
        raise AnabranchError(f"--loggops {text}: a number of more than 64 bits; give smaller ones")
    return [int(value) for value in values]
