"""The final table on the terminal: what the paper says, what came out, what theory allows, the verdict."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from anabranch.reproduce.line import AGREES, DIFFERS, INCOMPARABLE, RANKS
from anabranch.reproduce.splitting.job import Outcome

STYLES = {AGREES: "green", RANKS: "green", DIFFERS: "red", INCOMPARABLE: "dim"}
NOTES = """\
ours: a value behind | is of a decent implementation in place of the published one (WRR: a hash table for the list)
theory: expected value, and where 95 of 100 means of as many trials as the paper's would lie; points of a sweep are
taken to share their weights, which gives the widest band; connections are generated: CAIDA's traces are not public"""


def summary(outcome: Outcome) -> str:
    """The verdicts counted."""
    kinds = Counter(row.kind for row in outcome.rows)
    counted = ", ".join(f"{kinds[kind]} {kind}" for kind in (AGREES, RANKS, DIFFERS, INCOMPARABLE) if kinds[kind])
    study = outcome.study
    quick = f"; --quick: {study.trials} trials, not {study.published_trials}, and smaller loads for times"
    return f"{len(outcome.rows)} published values: {counted}{quick if study.quick else ''}"


def show(outcome: Outcome, console: Console) -> None:
    """Prints the table: a line of numbers per value, and under it the reason, which no column would hold."""
    lines = [("id", "what", "paper", "ours", "floor or theory", "verdict")]
    lines += [(row.id, row.what, row.paper_with_unit, row.ours_text, row.theory_text, row.kind) for row in outcome.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line, row in zip(lines, (None, *outcome.rows), strict=True):
        id_, what, *numbers, kind = (
            text.rjust(width) if 2 <= column <= 4 else text.ljust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        text = Text("  ".join((id_, what, *numbers)), style="bold" if row is None else "")
        text.append(f"  {kind.rstrip()}", style="bold" if row is None else STYLES[row.kind])
        console.print(text, soft_wrap=True)
        if row is not None and row.because:
            indent = widths[0] + 4
            reason = f"because {row.because}" if row.kind in (DIFFERS, INCOMPARABLE) else row.because
            console.print(Padding(Text(reason, style="dim"), (0, 0, 0, indent)))
    console.print(f"\n{summary(outcome)}", markup=False)
    console.print(NOTES, style="dim", markup=False)
