"""One table over all figure groups: what the paper says, what came out, what theory expects, the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from anabranch.reproduce.line import AGREES, DIFFERS, INCOMPARABLE, KINDS, NOT_RUN, RANKS, UNDECIDED, Line
from anabranch.reproduce.reasons import theory_text
from anabranch.reproduce.session import Evaluated

STYLES = {AGREES: "green", RANKS: "green", DIFFERS: "red", UNDECIDED: "yellow", INCOMPARABLE: "dim", NOT_RUN: "dim"}
HEADER = ("id", "verdict", "what", "paper", "ours")
THEORY = "theory"
SHARES, SHARES_WITH_THEORY = (0.44, 0.22, 0.34), (0.36, 0.18, 0.26, 0.2)
"""Shares of the columns behind the verdict in the width that is left."""
GAP = 2
NOTES = """\
ours: mean over seeds, schemes compared on the same flows; in parentheses its 95 % interval (Student's t over seeds);
behind a bar the same with a fair competitor in place of the published one
theory: expected value, and where 95 of 100 means of as many trials as the paper's would lie
agrees: within the tolerance that expected.toml states; in rank only: the same side wins, and the interval excludes a
draw; undecided: it does not; the curves of the papers are images, so only what their text states is compared"""


def summary(lines: Sequence[Line]) -> str:
    """The verdicts counted."""
    kinds = Counter(line.kind for line in lines)
    return f"{len(lines)} claims: {', '.join(f'{kinds[kind]} {kind}' for kind in KINDS if kinds[kind])}"


def show(evaluated: Sequence[Evaluated], console: Console) -> None:
    """Prints the table: a line per claim under the name of its group, and the reason, which no column would hold."""
    lines = [line for one in evaluated for line in one.lines]
    with_theory = any(line.theory is not None for line in lines)
    header = (*HEADER, THEORY) if with_theory else HEADER
    widths = _widths([header, *(_cells(line, with_theory) for line in lines)], console.width)
    console.print(_row([Text(word, style="bold") for word in header], widths))
    for one in evaluated:
        small = one.prepared.quick_note
        note = f"  --quick: {small}" if small else ""
        console.print(Text(f"\n{one.prepared.group.label}", style="bold").append(note, style="dim"))
        for line in one.lines:
            id_, kind, *cells = _cells(line, with_theory)
            console.print(_row([id_, Text(kind, style=STYLES[kind]), *cells], widths))
            if line.reason:
                indent = widths[0] + widths[1] + 2 * GAP
                console.print(Padding(Text(line.reason, style="dim"), (0, 0, 0, indent)))
    console.print(f"\n{summary(lines)}", markup=False)
    console.print(NOTES, style="dim", markup=False)


def _cells(line: Line, with_theory: bool) -> list[str]:
    cells = [line.id, line.kind, line.what, line.paper, line.ours]
    return [*cells, theory_text(line.theory)] if with_theory else cells


def _widths(rows: Sequence[Sequence[str]], total: int) -> list[int]:
    """Widths of the columns: as much as they need, or what a terminal of `total` characters leaves them."""
    needed = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = total - sum(needed[:2]) - GAP * (len(needed) - 1)
    if sum(needed[2:]) <= left:
        return needed
    shares = SHARES if len(needed) == len(HEADER) else SHARES_WITH_THEORY
    return [*needed[:2], *(max(12, int(share * left)) for share in shares)]


def _row(cells: Sequence[str | Text], widths: Sequence[int]) -> Table:
    """One line, or several where a cell is longer than its column."""
    row = Table.grid(padding=(0, GAP, 0, 0))
    for width in widths:
        row.add_column(width=width)
    row.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))
    return row
