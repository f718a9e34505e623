"""One table over all figure groups: what the paper says, what came out, the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from anabranch.reproduce.line import AGREES, DIFFERS, INCOMPARABLE, KINDS, NOT_RUN, RANKS, UNDECIDED, WITH_BECAUSE, Line

STYLES = {AGREES: "green", RANKS: "green", DIFFERS: "red", UNDECIDED: "yellow", INCOMPARABLE: "dim", NOT_RUN: "dim"}
WHAT_CHARACTERS = 80
"""Of a claim in words; the page has it whole."""
WIDTHS_MAX = (8, WHAT_CHARACTERS, 34, 40, 24)
"""Of columns: what is longer moves the rest of its line."""
BESIDE_CHARACTERS = 50
"""Of a reason, up to which it stands on the line itself."""
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
    header = ("id", "what", "paper", "ours", "verdict")
    rows = [(line.id, _cut(line.what), line.paper, line.ours, line.kind) for line in lines]
    widest = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    widths = [min(width, most) for width, most in zip(widest, WIDTHS_MAX, strict=True)]
    smaller = dict(notes)
    console.print(Text(_aligned(header, widths), style="bold"), soft_wrap=True)
    group = ""
    for line, row in zip(lines, rows, strict=True):
        if line.group != group:
            group = line.group
            note = f"  --quick: {smaller[group]}" if smaller.get(group) else ""
            console.print(Text(f"\n{group}", style="bold").append(note, style="dim"), soft_wrap=True)
        text = Text(_aligned(row[:-1], widths[:-1]) + "  ")
        text.append(line.kind, style=STYLES[line.kind])
        beside = len(line.reason) <= BESIDE_CHARACTERS
        if line.reason and beside:
            text.append(
                f" {'' if line.kind in WITH_BECAUSE else '('}{line.reason}{'' if line.kind in WITH_BECAUSE else ')'}",
                style="dim",
            )
        console.print(text, soft_wrap=True)
        if line.reason and not beside:
            console.print(Padding(Text(line.reason, style="dim"), (0, 0, 0, widths[0] + 4)))
    console.print(f"\n{summary(lines)}", markup=False)
    console.print(NOTES, style="dim", markup=False)


def _cut(text: str) -> str:
    return text if len(text) <= WHAT_CHARACTERS else f"{text[: WHAT_CHARACTERS - 3]}..."


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers to the right; text to the left."""
    cells = [
        cell.rjust(width) if 2 <= at <= 3 else cell.ljust(width)
        for at, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells)
