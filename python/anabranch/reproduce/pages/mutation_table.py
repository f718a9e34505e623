"""Verdicts by mutation on the terminal: of each study a table, what each mutation turned, and what none did."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from anabranch.reproduce.judge.line import AGREES, FAILS, RANKS, VOID
from anabranch.reproduce.judge.turns import MutationTable, Turns, Verdict
from anabranch.reproduce.pages.table import STYLES
from anabranch.reproduce.session import Evaluated

INDENT, GAP = 2, 2
UNCHANGED, THEORY = ".", "fails theory"
WHOLE = "as it is"
SUPPORTING = (AGREES, RANKS)
"""Verdicts that count for a paper, and for its mechanism only if some mutation turns them."""


def word(verdict: Verdict, whole: Verdict) -> str:
    """What a table shows of a verdict under a mutation."""
    if verdict == whole:
        return UNCHANGED
    return THEORY if verdict.check == FAILS else verdict.kind


def counted(table: MutationTable, mutation: str) -> str:
    """How many verdicts a mutation turns, as the end of a sentence."""
    turned = table.turned(mutation)
    fails = sum(one.broken[mutation].check == FAILS for one in turned)
    by_theory = f", {fails} of them by theory" if fails else ""
    return f"turns {len(turned) or 'none'} of {len(table.tried)} verdicts{by_theory}"


def unseen(table: MutationTable) -> list[Turns]:
    """Claims that count for the paper and that no mutation turns."""
    return [one for one in table.tried if one.whole.kind in SUPPORTING and not one.turned_by]


def show(evaluated: Sequence[Evaluated], console: Console) -> None:
    """Prints the table of each study of which mechanisms were broken."""
    for one in evaluated:
        if one.mutations is not None:
            _show_study(one.group.label, one.mutations, console)


def _show_study(label: str, table: MutationTable, console: Console) -> None:
    note = f"  {table.note}" if table.note else ""
    console.print(Text(f"\n{label}: verdicts with one mechanism broken on purpose", style="bold").append(note, "dim"))
    names = list(table.mutations)
    rows = [(one, [one.whole.kind, *(word(one.broken[name], one.whole) for name in names)]) for one in table.tried]
    heads = [WHOLE, *names]
    widths = [max(len(cells[at]) for cells in (heads, *(cells for _, cells in rows))) for at in range(len(heads))]
    console.print(_row([Text(head, "bold") for head in heads], widths))
    for one, cells in rows:
        console.print(Text(f"{one.id}  {one.what}"))
        console.print(_row([Text(cell, _style(cell)) for cell in cells], widths))
    console.print()
    for name, broken in table.mutations.items():
        console.print(Text(f"{name}: ", "bold").append(f"{broken} It {counted(table, name)}.", "not bold"))
    left = unseen(table)
    if left:
        ids = ", ".join(one.id for one in left)
        console.print(Text("no mutation turns: ", "bold").append(ids, "not bold"))


def _style(cell: str) -> str:
    return STYLES[VOID] if cell == THEORY else STYLES.get(cell, "dim")


def _row(cells: Sequence[Text], widths: Sequence[int]) -> Text:
    """Cells below each other, in as many lines as a narrow terminal takes."""
    row = Text(" " * INDENT)
    for cell, width in zip(cells, widths, strict=True):
        row.append(cell).append(" " * (width - len(cell) + GAP))
    row.rstrip()
    return row
