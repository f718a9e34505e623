"""Claims on the terminal: a header per paper, and of a single figure group every claim with both comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from anabranch.reproduce.judge.line import (
    AGREES,
    BLIND,
    BOUNDED,
    DIFFERS,
    FAILS,
    HOLDS,
    INCOMPARABLE,
    KINDS,
    NO_ORACLE,
    NOT_RUN,
    RANKS,
    UNDECIDED,
    VOID,
    Line,
)  # fmt: skip
from anabranch.reproduce.pages.overview import Overview, papers
from anabranch.reproduce.session import Evaluated

STYLES = {
    AGREES: "green",
    RANKS: "cyan",
    DIFFERS: "magenta",
    UNDECIDED: "yellow",
    BLIND: "dim",
    INCOMPARABLE: "dim",
    NOT_RUN: "dim",
    VOID: "bold white on red",
    HOLDS: "green",
    BOUNDED: "none",
    NO_ORACLE: "dim",
    FAILS: "bold white on red",
}
"""One meaning each: green is agreement, cyan half of it, magenta a finding, yellow open, red our own fault."""
HEADER = ("id", "ours: theory", "paper: ours", "what", "paper", "ours")
FIXED = 3
"""Columns that are never wrapped."""
SHARES = (0.44, 0.2, 0.36)
"""Shares of the other columns in the width that is left."""
GAP = 2
GROUP_INDENT = 2
NOTES = """\
ours: mean and its 95 % interval (Student's t over seeds, schemes on the same flows; a jackknife over trials; of times
the least and the most repetition); behind a bar the same with a fair competitor in place of the published one
ours: theory  holds: what theory, an invariant or an independent implementation expects of our value; within bounds: no
more than capacity, propagation and conservation allow; fails: our code is wrong, and the status is not 0
paper: ours   agrees: the whole interval is within the tolerance of expected.toml; same side only: another number, the
published side; undecided: the interval holds both. Curves of the papers are images: only their text is compared"""


def show(evaluated: Sequence[Evaluated], console: Console) -> None:
    """Prints a header per paper, then the claims of a single group, or of several the counts of each."""
    single = len(evaluated) == 1
    for paper in papers(evaluated):
        _show_paper(paper, single, console)
        if not single:
            _show_groups([one for one in evaluated if one.group.paper == paper.name], console)
    if single:
        _show_claims(evaluated[0], console)
        console.print(f"\n{NOTES}", style="dim", markup=False, highlight=False)
    else:
        if len({one.group.paper for one in evaluated}) > 1:
            everything = Overview("in all", [line for one in evaluated for line in one.lines])
            console.print(Text(f"\n{everything.name}", style="bold").append(f"  {everything.verdicts}", "not bold"))
            console.print(Text(everything.checked))
        hint = f"the report has every claim; so has `anabranch reproduce {evaluated[0].group.label}`"
        console.print(f"\n{hint}", style="dim", markup=False, highlight=False)


def _show_paper(paper: Overview, whole: bool, console: Console) -> None:
    """Counts, main claims (those that repeat a number only where `whole`), and where ours is wrong."""
    console.print(Text(f"\n{paper.name}", style="bold").append(f"  {paper.verdicts}", style="not bold"))
    console.print(Text(f"{paper.checked}"))
    if paper.tried:
        console.print(Text(paper.tried))
    if paper.headline:
        console.print(Text(paper.headline))
    for line in [line for line in paper.main if line.counted or whole]:
        summary = (
            Text("  ")
            .append(line.kind, style=STYLES[line.kind])
            .append(f"  {line.what}: {line.paper}; ours {line.ours}")
        )
        console.print(Padding(summary, (0, 0, 0, 0)))
    for line in paper.failed:
        summary = Text("  ").append(f"{line.group} {line.id}: ours is wrong", style=STYLES[FAILS])
        console.print(summary.append(f"  {line.what}: {line.checked_by}"))


def _show_groups(evaluated: Iterable[Evaluated], console: Console) -> None:
    groups = [(one, Overview(one.group.label, one.lines)) for one in evaluated]
    width = max(len(overview.name) for _, overview in groups)
    for _, overview in groups:
        line = Text(" " * GROUP_INDENT).append(f"{overview.name:{width}}")
        for kind in KINDS:
            if overview.kinds[kind]:
                line.append(f"  {overview.kinds[kind]} ").append(kind, style=STYLES[kind])
        console.print(line)


def _show_claims(one: Evaluated, console: Console) -> None:
    """A line per claim, and below it the reason, which no column would hold."""
    widths = _widths([HEADER, *map(_cells, one.lines)], console.width)
    console.print(Text(f"\n{one.group.label}", style="bold").append(f"  {one.note}" if one.note else "", "dim"))
    for name, text in chosen(one.lines).items():
        console.print(Text(f"chosen knowing the answer: {name}: {text}", style="dim"))
    console.print(_row([Text(word, style="bold") for word in HEADER], widths))
    for line in one.lines:
        id_, check, kind, *cells = _cells(line)
        console.print(_row([id_, Text(check, STYLES[check]), Text(kind, STYLES[kind]), *cells], widths))
        indent = sum(widths[:FIXED]) + FIXED * GAP
        for text in remarks(line):
            console.print(Padding(Text(text, style="dim"), (0, 0, 0, indent)))


def remarks(line: Line) -> list[str]:
    """Reason of a verdict, what was chosen knowing the answer, where the number counts, and which mutations turn it."""
    known = f"chosen knowing the answer: {', '.join(line.chosen)}" if line.chosen else ""
    once = f"the number counts at {line.repeats}" if line.repeats else "a claim of no publication" if line.own else ""
    turns = f"turns if broken: {line.turns}" if line.turns else ""
    return [text for text in (line.reason, "; ".join(filter(None, (known, once))), turns) if text]


def chosen(lines: Iterable[Line]) -> dict[str, str]:
    """Settings of a group that were chosen knowing the answer."""
    return {name: text for line in lines for name, text in line.chosen.items()}


def _cells(line: Line) -> list[str]:
    return [line.id, line.check, line.kind, line.what, line.paper, line.ours]


def _widths(rows: Sequence[Sequence[str]], total: int) -> list[int]:
    """Widths of the columns: as much as they need, or what a terminal of `total` characters leaves them."""
    needed = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = total - sum(needed[:FIXED]) - GAP * (len(needed) - 1)
    if sum(needed[FIXED:]) <= left:
        return needed
    return [*needed[:FIXED], *(max(12, int(share * left)) for share in SHARES)]


def _row(cells: Sequence[str | Text], widths: Sequence[int]) -> Table:
    """One line, or several where a cell is longer than its column."""
    row = Table.grid(padding=(0, GAP, 0, 0))
    for width in widths:
        row.add_column(width=width)
    row.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))
    return row
