"""Summary of a study on a terminal."""

from __future__ import annotations

from rich.console import Console

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import count
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats import replay
from anabranch.simulate.stats.measures import SLOWDOWN
from anabranch.simulate.study.criteria import Criterion, measures_of_jobs
from anabranch.simulate.study.outcome import StudyOutcome, short, with_interval
from anabranch.simulate.study.study import labels_text


def show(study: StudyOutcome, console: Console) -> None:
    """Prints a row per point: the slowdowns that papers quote (of all, the tail of small, large flows), and of jobs."""
    summary = study.summary
    classes = study.size_classes
    columns = [Criterion(SLOWDOWN, "mean")]
    if len(classes) > 1:
        columns += [Criterion(SLOWDOWN, "p99", classes[1]), Criterion(SLOWDOWN, "mean", classes[-1])]
    columns += [Criterion(measure, "mean") for measure in measures_of_jobs(summary)]
    table = plain_table(
        *((f"\n{short(axis)}", False) for axis in study.axes),
        ("un-\nfinished", True),
        *(
            (f"{one.size_class if one.measure.by_class else one.measure.words}\n{one.statistic}", True)
            for one in columns
        ),
    )
    for point, part in summary.group_by(list(study.axes), maintain_order=True) if study.axes else [((), summary)]:
        by_class = {row["size_class"]: row for row in part.iter_rows(named=True)}
        cells = []
        for one in columns:
            row = by_class[one.size_class]
            cells.append(with_interval(row[one.column], row[f"{one.column}_ci95"], one.measure.text))
        table.add_row(*map(str, point), count(by_class[classes[0]]["unfinished"]), *cells)
    console.print("slowdown by size class, mean over seeds ± half the width of its 95 % interval (Student's t)\n")
    console.print(table)
    replays = {labels_text(cell.point, cell.seed): Run(cell.folder).manifest.get("replay") for cell in study.cells}
    if (off := replay.worst(replays)) is not None:
        console.print(f"\nwarning: {off}", style="yellow", markup=False, soft_wrap=True)
    for sentence in study.advice():
        console.print(f"\nadvice: {sentence}", markup=False, soft_wrap=True)
    console.print(f"\nresults: {study.folder}; anabranch report {study.folder}", markup=False, soft_wrap=True)
