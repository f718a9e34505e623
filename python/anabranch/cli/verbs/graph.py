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
            "(MSCCL), .cm (htsim) or .txt (AICB, SimAI).",
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
        int,
        typer.Option(
            metavar="BYTES",
            min=1,
            help="Buffer that an MSCCL algorithm divides into chunks; size of a connection of htsim that has size 0.",
        ),
    ] = 1_000_000,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Ranks of a Chakra trace's communicator groups, as JSON. Default: comm_group.json or NAME.json beside "
            "the trace.",
        ),
    ] = None,
    dimensions: Annotated[
        str | None,
        typer.Option(
            metavar="N,...",
            help="Sizes of the dimensions that involved_dim of a Chakra trace speaks of; first that of neighbouring "
            "ranks.",
        ),
    ] = None,
    accelerator: Annotated[
        str | None,
        typer.Option(
            metavar="FLOPS,BANDWIDTH",
            help="Operations and bytes of memory per second, whole numbers, for nodes of a Chakra trace without a "
            "duration: 312000000000000,2000000000000.",
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Check a workload graph, and print its size and when each rank would end under LogGOPS."""
    from anabranch._core import describe_work
    from anabranch.files.terminal.console import terminal
    from anabranch.files.terminal.json_document import write_json
    from anabranch.files.terminal.plain_table import plain_table
    from anabranch.files.units import count

    speeds = whole_numbers("accelerator", accelerator, "FLOPS,BANDWIDTH", 63) if accelerator else None
    (ranks, nodes, messages, size_bytes, warnings), ends = describe_work(
        file,
        size,
        parameters(loggops) if loggops else None,
        groups,
        whole_numbers("dimensions", dimensions, "N,...", 32) if dimensions else [],
        (speeds[0], speeds[1]) if speeds else None,
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


def whole_numbers(option: str, text: str, example: str, bits: int) -> list[int]:
    """Whole numbers from 1, as many as `example` has or, if that has an ellipsis, any.

    Raises:
        AnabranchError: they are something else, or have more than `bits` bits.

    """
    values = [value.strip() for value in text.split(",")]
    many = example.endswith("...") or len(values) == len(example.split(","))
    if many and all(value.isascii() and value.isdecimal() and 0 < int(value) < 2**bits for value in values):
        return [int(value) for value in values]
    raise AnabranchError(f"--{option} {text}: not {example}; give whole numbers from 1 below 2^{bits}")
