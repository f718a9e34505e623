"""Explanations on a terminal: few connections step by step, many as a table with a sum for each path."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.text import Text

from anabranch.deploy.targets.plan.explanation import Explanation, Predicted
from anabranch.deploy.targets.plan.group import Group
from anabranch.files.terminal.plain_table import plain_table

STEPPED = 20
"""Connections up to which each is shown step by step; more are rows of a table."""
STEPS_SHOWN = 40

Step = tuple[str, str]
"""A step of an explanation: its name, and its value."""
Row = tuple[str, Sequence[Step], Step]
"""A connection, its steps, and the last of them."""
Sizes = npt.NDArray[np.uint64]
"""Bytes of each connection on the wire, shape (connections,)."""


def show(explanations: Sequence[Explanation], asked: Group, sizes: Sizes | None, console: Console) -> None:
    """Prints the path of every connection in a group; `sizes` where a trace tells them."""
    paths = len(asked.weights)
    rows = [(one.connection, one.steps, ("path", _end(one, paths))) for one in explanations]
    shares = {}
    for one, (_, _, (_, end)) in zip(explanations, rows, strict=True):
        if one.path is not None:
            shares[end] = float(asked.asked[one.path - 1])
    _print(rows, sizes, shares, console)


def show_predicted(predicted: Sequence[Predicted], sizes: Sizes | None, console: Console) -> None:
    """Prints where every connection goes under a plan; `sizes` where a trace tells them."""
    _print([(one.connection, one.steps, one.last) for one in predicted], sizes, {}, console)


def _end(one: Explanation, paths: int) -> str:
    if one.path is None:
        return f"not known {one.unknown}"
    return f"{one.path} of {paths}" + ("" if one.bucket_id is None else f", bucket {one.bucket_id}")


def _print(rows: Sequence[Row], sizes: Sizes | None, asked: Mapping[str, float], console: Console) -> None:
    if len(rows) > STEPPED:
        _table(rows, sizes, console)
        _sums(rows, sizes, asked, console)
        return
    for connection, steps, (last, end) in rows:
        console.print(str(connection), style="bold")
        column = max(len(what) for what, _ in [*steps, (last, end)])
        for what, value in steps[:STEPS_SHOWN]:
            console.print(f"  {what:<{column}}  {value}", markup=False, soft_wrap=True)
        if len(steps) > STEPS_SHOWN:
            console.print(f"  ... {len(steps) - STEPS_SHOWN} more steps: all are in --json", markup=False)
        console.print(Text.assemble(f"  {last:<{column}}  ", (end, "bold green")))


def _table(rows: Sequence[Row], sizes: Sizes | None, console: Console) -> None:
    """A row per connection. The columns are aligned here: a table of Rich takes a minute for 100,000 rows."""
    width = max(len(connection) for connection, _, _ in rows)
    last = rows[0][2][0]
    if sizes is None:
        console.print(f"{'connection':<{width}}  {last}", style="bold", soft_wrap=True)
        lines = [f"{connection:<{width}}  {end}" for connection, _, (_, end) in rows]
    else:
        texts = [f"{size:,}" for size in sizes.tolist()]
        column = max(len("bytes"), *map(len, texts))
        console.print(f"{'connection':<{width}}  {'bytes':>{column}}  {last}", style="bold", soft_wrap=True)
        lines = [
            f"{connection:<{width}}  {size:>{column}}  {end}"
            for (connection, _, (_, end)), size in zip(rows, texts, strict=True)
        ]
    console.print(Text("\n".join(lines)), soft_wrap=True)


def _sums(rows: Sequence[Row], sizes: Sizes | None, asked: Mapping[str, float], console: Console) -> None:
    """Connections and bytes by where they go, and their parts of all; `asked` has the parts that weights ask for."""
    ends = [end for _, _, (_, end) in rows]
    names = sorted(set(ends), key=_by_numbers)
    number = {name: index for index, name in enumerate(names)}
    places = [number[end] for end in ends]
    counts = np.bincount(places)
    bytes_by_path = None if sizes is None else np.bincount(places, sizes.astype(np.float64))
    table = plain_table(
        (rows[0][2][0], False),
        *([("asked, %", True)] if asked else []),
        ("connections", True),
        ("%", True),
        *([("bytes", True), ("%", True)] if bytes_by_path is not None else []),
    )
    for index, name in enumerate(names):
        cells = [f"{100 * asked[name]:.2f}" if name in asked else "-"] if asked else []
        cells += [f"{counts[index]:,}", f"{100 * counts[index] / len(rows):.2f}"]
        if bytes_by_path is not None:
            share = f"{100 * bytes_by_path[index] / bytes_by_path.sum():.2f}" if bytes_by_path.any() else "-"
            cells += [f"{bytes_by_path[index]:,.0f}", share]
        table.add_row(name, *cells)
    console.print()
    console.print(table)


def _by_numbers(text: str) -> list[tuple[bool, int, str]]:
    """Orders texts with numbers in them as people do: 2 before 10."""
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", text)]
