"""Summary of a study on a terminal."""

from __future__ import annotations

from rich.console import Console

from anabranch.study.outcome import StudyOutcome, short, with_interval
from anabranch.terminal.plain_table import plain_table
from anabranch.units import count


def show(study: StudyOutcome, console: Console) -> None:
    """Prints a row per point: the slowdowns that papers quote, the mean, the tail of small flows, and large flows."""
    summary = study.summary
    classes = summary["size_class"].unique(maintain_order=True).to_list()
    columns = [(classes[0], "slowdown_mean")]
    if len(classes) > 1:
        columns += [(classes[1], "slowdown_p99"), (classes[-1], "slowdown_mean")]
    table = plain_table(
        *((f"\n{short(axis)}", False) for axis in study.axes),
        ("un-\nfinished", True),
        *((f"{one}\n{statistic.rpartition('_')[2]}", True) for one, statistic in columns),
    )
    for point, part in summary.group_by(list(study.axes), maintain_order=True) if study.axes else [((), summary)]:
        by_class = {row["size_class"]: row for row in part.iter_rows(named=True)}
        cells = [with_interval(by_class[one][name], by_class[one][f"{name}_ci95"], False) for one, name in columns]
        table.add_row(*map(str, point), count(by_class[classes[0]]["unfinished"]), *cells)
    console.print("slowdown by size class, mean over seeds ± half the width of its 95 % interval (Student's t)\n")
    console.print(table)
    for sentence in study.advice():
        console.print(f"\nadvice: {sentence}", markup=False, soft_wrap=True)
    console.print(f"\nresults: {study.folder}; anabranch report {study.folder}", markup=False, soft_wrap=True)
