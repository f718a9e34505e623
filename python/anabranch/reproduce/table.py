"""One table over all figure groups: what the paper says, what came out, the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from anabranch.reproduce.line import AGREES, DIFFERS, INCOMPARABLE, KINDS, NOT_RUN, RANKS, UNDECIDED, Line

STYLES = {AGREES: "green", RANKS: "green", DIFFERS: "red", UNDECIDED: "yellow", INCOMPARABLE: "dim", NOT_RUN: "dim"}
HEADER = ("id", "verdict", "what", "paper", "ours")
SHARES = (0.44, 0.22, 0.34)
"""Of the width that is left to the last three columns."""
GAP = 2
NOTES = """\
ours: mean over seeds, schemes compared on the same flows; in parentheses its 95 % interval (Student's t over seeds)
agrees: within the tolerance that expected.toml states; in rank only: the same side wins, and the interval excludes a
draw; undecided: it does not; the curves of the papers are images, so only what their text states is compared"""


def summary(lines: Sequence[Line]) -> str:
    """The verdicts counted."""
    kinds = Counter(line.kind for line in lines)
    return f"{len(lines)} claims: {', '.join(f'{kinds[kind]} {kind}' for kind in KINDS if kinds[kind])}"


def show(lines: Sequence[Line], notes: Sequence[tuple[str, str]], console: Console) -> None:
    """Prints the table: a line per claim under the name of its group, and the reason, which no column would hold.

    Args:
        lines: Of all groups, group by group.
        notes: By group: what a quick study makes smaller.
        console: Where to.

    """
    widths = _widths(lines, console.width)
    smaller = dict(notes)
    console.print(_row([Text(word, style="bold") for word in HEADER], widths))
    group = ""
    for line in lines:
        if line.group != group:
            group = line.group
            note = f"  --quick: {smaller[group]}" if smaller.get(group) else ""
            console.print(Text(f"\n{group}", style="bold").append(note, style="dim"))
        verdict = Text(line.kind, style=STYLES[line.kind])
        console.print(_row([line.id, verdict, line.what, line.paper, line.ours], widths))
        if line.reason:
            indent = widths[0] + widths[1] + 2 * GAP
            console.print(Padding(Text(line.reason, style="dim"), (0, 0, 0, indent)))
    console.print(f"\n{summary(lines)}", markup=False)
    console.print(NOTES, style="dim", markup=False)


def _widths(lines: Sequence[Line], total: int) -> list[int]:
    """Of the columns: as much as they need, or what a terminal of `total` characters leaves them."""
    rows = [(line.id, line.kind, line.what, line.paper, line.ours) for line in lines]
    needed = [max(len(row[column]) for row in [HEADER, *rows]) for column in range(len(HEADER))]
    left = total - sum(needed[:2]) - GAP * (len(HEADER) - 1)
    if sum(needed[2:]) <= left:
        return needed
    return [*needed[:2], *(max(12, int(share * left)) for share in SHARES)]


def _row(cells: Sequence[str | Text], widths: Sequence[int]) -> Table:
    """One line, or several where a cell is longer than its column."""
    row = Table.grid(padding=(0, GAP, 0, 0))
    for width in widths:
        row.add_column(width=width)
    row.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))
    return row
