"""Pages of the reproduced papers: what full runs came to, claim by claim, computed from their records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.cli.reference.markdown import GENERATED, code, table
from anabranch.reproduce.judge.line import DIFFERS, RANKS, UNDECIDED, Line
from anabranch.reproduce.pages.overview import AGREEING, SHOWN, Overview
from anabranch.reproduce.pages.table import chosen, remarks
from anabranch.reproduce.selection import papers, select
from anabranch.reproduce.session import Evaluated, recall

TURNS = "turns if broken"
COLUMNS = ("claim", "paper", "ours (95 % interval)", "verdict", "ours against theory", "why, and what to know")

READING = """\
"Ours" is a mean with its 95 % interval; behind a bar stands the same with a fair competitor in place of the published
one. [What each verdict means](../study.md). Curves of the papers are images: only their text is compared."""

MECHANISM = """\
`--mutations` breaks each named mechanism of the paper's load balancer on purpose, one at a time. A verdict that turns
then sees the mechanism; one that no mutation turns is listed apart, and is no agreement with the mechanism."""
APART = "No mutation turns these, which hold with the mechanism broken as well:"


def pages() -> dict[str, str]:
    """A page for each paper by its name."""
    by_paper: dict[str, list[Evaluated]] = {paper: [] for paper in papers()}
    for one in recall(select([], everything=True, with_records=True)):
        by_paper[one.group.paper].append(one)
    return {f"{paper}.md": _page(paper, studies) for paper, studies in by_paper.items()}


def _page(paper: str, studies: Sequence[Evaluated]) -> str:
    recorded = [one for one in studies if one.recorded]
    left = [one for one in studies if not one.recorded]
    overview = Overview(paper, [line for one in recorded for line in one.lines])
    text = f"# {papers()[paper]}, reproduced\n\n{GENERATED}\n\n"
    text += f"What full runs came to: `anabranch reproduce {paper} --recorded` computes this page's verdicts from the\n"
    text += "records in `studies/`, without running anything.\n"
    if left:
        names = ", ".join(code(one.group.label) for one in left)
        text += f"\nNot recorded yet: {names}. `anabranch reproduce STUDY --quick` runs a small form of one.\n"
    if recorded:
        text += f"\n{overview.verdicts}.\n{overview.checked[0].upper()}{overview.checked[1:]}.\n"
    if overview.tried:
        text += _mechanism(overview, recorded)
    if overview.main:
        rows = [(line.what, line.paper, line.ours, f"**{line.kind}**") for line in overview.main]
        text += f"\n## What the paper stands on\n\n{table(('claim', 'paper', 'ours', 'verdict'), rows)}"
    text += "".join(_study(one) for one in recorded)
    return f"{text}\n{READING}\n"


def _mechanism(overview: Overview, recorded: Sequence[Evaluated]) -> str:
    """How much of the agreement is with the mechanism: verdicts counted by whether a mutation turns them."""
    kinds = (*AGREEING, RANKS, DIFFERS, UNDECIDED)
    text = f"\n## Agreement with the mechanism\n\n{MECHANISM}\n\n"
    text += table(kinds, [[str(overview.agreement[kind]) for kind in kinds]])
    broken = {name: text for one in recorded if one.mutations for name, text in one.mutations.mutations.items()}
    turned = {name: sum(name in (line.turned_by or ()) for line in overview.counted) for name in broken}
    rows = [(code(name), sentence, str(turned[name])) for name, sentence in broken.items()]
    text += f"\n{table(('mutation', 'so that', 'turns'), rows)}"
    apart = [(one, [line for line in one.lines if _is_unseen(line)]) for one in recorded]
    if any(lines for _, lines in apart):
        text += f"\n{APART}\n\n"
        for one, lines in apart:
            if lines:
                ids = "; ".join(f"{line.id} {line.what} (*{line.kind}*)" for line in lines)
                text += f"* {code(one.group.label)}: {ids}\n"
    return text


def _is_unseen(line: Line) -> bool:
    return line.counted and line.kind in SHOWN and line.turned_by == ()


def _study(one: Evaluated) -> str:
    text = f"\n## {one.group.label}\n\n{one.expected.source}; {one.origin}.\n"
    for name, setting in chosen(one.lines).items():
        text += f"Chosen knowing the answer: {name}: {setting}.\n"
    if one.mutations is None:
        text += f"\n{table(COLUMNS, map(_row, one.lines))}"
    else:
        text += f"\n{table((*COLUMNS, TURNS), ((*_row(line), line.turns) for line in one.lines))}"
        text += f"\nMutations: {one.mutations.note}.\n"
    expected = dict.fromkeys(line.checked_by for line in one.lines if line.checked_by)
    if expected:
        text += "\nOurs against theory:\n\n" + "".join(f"* {checked}\n" for checked in expected)
    return f"{text}\n{FIGURES.format(one.group.label)}\n"


FIGURES = "Figures: `anabranch reproduce {} --recorded` draws them."
"""Line that the site replaces by the figures."""


def _row(line: Line) -> tuple[str, ...]:
    what = f"{line.id} {line.what} ({line.where})"
    known = "; ".join(remarks(replace(line, turned_by=None)))
    return what, line.paper, line.ours, f"**{line.kind}**", line.check, known
