"""A comparison on a terminal: what schemes are judged by, by load and scheme, and which differences are decided."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anabranch.files.terminal.console import SafeConsole
from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import count
from anabranch.report.comparison.frames import BETTER, NOT_PAIRED, WORSE, Frames
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.lazily import collected
from anabranch.simulate.study.criteria import ALL, Criterion
from anabranch.simulate.study.outcome import short, with_interval
from anabranch.split.stats.confidence import CONFIDENCE, EQUAL, UNDECIDED

ABSENT = "-"
STYLES = {BETTER: "green", WORSE: "red", UNDECIDED: "dim"}
TEXT_WIDTH = 120
WIDE_PCT = 1000.0


def show(frames: Frames, console: Console) -> None:
    """Prints a table for each criterion, and a line per scheme on what is decided."""
    seeds = len(frames.study.seeds)
    subjects = ", ".join(dict.fromkeys(one.subject for one in frames.criteria))
    console.print(
        f"{subjects}: mean over {seeds} seed{'s' * (seeds > 1)} ± half the width of its 95 % interval; "
        f"difference to {frames.baseline}, paired by seed, with its 95 % interval\n",
        markup=False,
        soft_wrap=True,
    )
    for criterion in frames.criteria:
        console.print(_table(frames, criterion))
        for line in conclusions(frames, criterion):
            console.print(line, markup=False, soft_wrap=True)
        console.print()
    for line in remarks(frames):
        console.print(line, style="yellow", markup=False, soft_wrap=True)


def _table(frames: Frames, criterion: Criterion) -> Table:
    axes = [short(axis) for axis in frames.study.axes if axis != "scheme"]
    table = frames.table.filter(size_class=criterion.size_class)
    columns = [(axis, False) for axis in axes] + [("scheme", False), (_heading(frames, criterion), True)]
    drawn = plain_table(*columns, (f"to {frames.baseline}", True), ("95 % interval", True), ("verdict", False))
    before: tuple[Any, ...] = ()
    for point, part in table.group_by(axes, maintain_order=True) if axes else [((), table)]:
        for number, row in enumerate(part.iter_rows(named=True)):
            new = [number == 0 and point[: at + 1] != before[: at + 1] for at in range(len(point))]
            shared = [str(value) if is_new else "" for value, is_new in zip(point, new, strict=True)]
            value = with_interval(row[criterion.column], row[f"{criterion.column}_ci95"], criterion.measure.text)
            drawn.add_row(*shared, row["scheme"], value, *_difference(frames, row, axes, criterion))
        before = point
        if axes:
            drawn.add_row()
    return drawn


def _heading(frames: Frames, criterion: Criterion) -> str:
    """Statistic, with what it is of where tables are of several things."""
    if len({one.subject for one in frames.criteria}) == 1:
        return criterion.statistic
    return f"{criterion.statistic} {criterion.subject}".replace(" of ", "\nof ")


def text(frames: Frames) -> str:
    """The table as text."""
    written = io.StringIO()
    show(frames, SafeConsole(file=written, width=TEXT_WIDTH, highlight=False, emoji=False, color_system=None))
    return written.getvalue()


def _difference(frames: Frames, row: dict[str, Any], axes: list[str], criterion: Criterion) -> list[str | Text]:
    """Difference, its interval, and the verdict."""
    if row["scheme"] == frames.baseline:
        return ["", "", ""]
    position = {axis: row[axis] for axis in axes}
    of = {"size_class": criterion.size_class, "statistic": criterion.column}
    rows = frames.differences.filter(scheme=row["scheme"], **of, **position)
    if not rows.height:
        return [ABSENT, "", ""]
    one = rows.row(0, named=True)
    if one["verdict"] == NOT_PAIRED:
        return [percent(one["difference_pct"]), "", Text("not paired: other flows", style="yellow")]
    if one["verdict"] is None:
        return [percent(one["difference_pct"]), "", Text("one seed decides nothing", style="dim")]
    needed = f": {count(one['seeds_needed'])} seeds" if one["seeds_needed"] else ""
    interval = f"{percent(one['low_pct'])} to {percent(one['high_pct'])}"
    verdict = Text(f"{one['verdict']}{needed}", style=STYLES.get(one["verdict"], ""))
    return [percent(one["difference_pct"]), interval, verdict]


def percent(value: float) -> str:
    """A difference with its sign; of bounds beyond `WIDE_PCT` nothing is known but that seeds are too few."""
    if value > WIDE_PCT:
        return f"over {WIDE_PCT:+,.0f} %"
    return f"{value:+.1f} %" if abs(value) < 100 else f"{value:+,.0f} %"


def conclusions(frames: Frames, criterion: Criterion) -> Iterator[str]:
    """What is decided of each scheme over all points."""
    of = _decidable(frames, criterion)
    if not of.height:
        return
    points = max(of.group_by("scheme").len()["len"].to_list())
    yield f"{criterion.words} over {points} point{'s' * (points > 1)}, against {frames.baseline}:"
    width = max(map(len, frames.schemes))
    for scheme in frames.schemes[1:]:
        mine = of.filter(scheme=scheme)
        numbers = {verdict: mine.filter(verdict=verdict).height for verdict in (BETTER, WORSE, EQUAL, UNDECIDED)}
        parts = [f"{verdict} at {number}" for verdict, number in numbers.items() if number]
        if numbers[UNDECIDED]:
            needed = mine.filter(verdict=UNDECIDED)["seeds_needed"]
            known = None if needed.null_count() else max(needed.to_list())
            parts[-1] += f" ({count(known)} seeds would decide all)" if known else " (no number of seeds in sight)"
        nothing = NOT_PAIRED if scheme in _others(frames) else "too few"
        yield f"  {scheme:{width}}  {', '.join(parts) or nothing}"


def remarks(frames: Frames) -> Iterator[str]:
    """What a reader must know before believing the table."""
    decidable = sum(_decidable(frames, one).filter(pl.col("verdict") != EQUAL).height for one in frames.criteria)
    if decidable:
        chance = (1 - CONFIDENCE) * decidable
        yield (
            f"of {decidable} differences above about {chance:.1g} would look decided by chance alone, even if no "
            "scheme differed"
        )
    elif len(frames.study.seeds) < 2:
        yield "one seed has no interval, and decides nothing; hint: --seeds 5"
    yield from gaps(frames)
    if others := _others(frames):
        yield (
            f"not paired: {', '.join(others)}: keys of these schemes change which flows there are, so they are not "
            f"compared with {frames.baseline} flow by flow; hint: change traffic for all schemes, with -o or --load"
        )
    yield from losses(frames)
    yield from unfinished(frames)


COUNTED = {"job": "jobs", "step": "steps", "ttft": "requests", "tpot": "requests"}
"""What there are several of in a run, by the measure that each has; all other measures are of flows."""


def gaps(frames: Frames) -> Iterator[str]:
    """Why some statistics have no value."""
    lacking = {
        (one.statistic, one.needed): one.measure
        for one in frames.criteria
        if frames.table.filter(size_class=one.size_class)[one.column].null_count()
    }
    for (statistic, needed), measure in lacking.items():
        word = COUNTED.get(measure.name, "flows")
        hint = "" if word != "flows" else "; hint: longer arrivals, -o traffic.duration=500ms"
        yield (
            f"-: a {statistic} needs {count(needed)} {word} in each run{hint}"
            if needed > 1
            else (f"-: in some run there are no {word} that ended")
        )


def unfinished(frames: Frames) -> Iterator[str]:
    """What did not end under each scheme, and is in no mean."""
    for what in dict.fromkeys(COUNTED.get(one.measure.name) for one in frames.criteria):
        column = f"unfinished_{what}" if what else "unfinished"
        of = frames.table.filter(size_class=ALL).group_by("scheme", maintain_order=True).agg(pl.col(column).sum())
        words = ", ".join(f"{count(number)} under {scheme}" for scheme, number in of.iter_rows() if number)
        if words:
            yield f"{what or 'flows'} that did not finish are in no mean: {words}"


LOST = {"dropped_packets": "dropped packets", "lost_packets": "packets lost to failures"}
"""Totals of a run, of packets of all kinds."""
RECOVERED = {
    "timeouts": "timeouts",
    "reordered_packets": "reordered packets",
    "retransmitted_packets": "packets sent again",
}
"""Columns of `flows`."""
TROUBLES = LOST | RECOVERED


def losses(frames: Frames) -> Iterator[str]:
    """What went wrong under each scheme in all runs, and how to look closer where it is more than the baseline."""
    sums: dict[str, dict[str, int]] = {}
    worst: dict[str, tuple[int, Path]] = {}
    for cell in frames.study.cells:
        scheme, run = str(cell.point["scheme"]), Run(cell.folder)
        row = {name: int(run.manifest[name]) for name in LOST}
        row |= collected(run.scanned_flows.select(pl.col(list(RECOVERED)).sum())).row(0, named=True)
        into = sums.setdefault(scheme, dict.fromkeys(TROUBLES, 0))
        for name, number in row.items():
            into[name] += int(number)
        worst[scheme] = max(worst.get(scheme, (-1, cell.folder)), (int(sum(row.values())), cell.folder))
    of_baseline = sums[frames.baseline]
    for scheme in frames.schemes:
        words = [f"{count(number)} {TROUBLES[name]}" for name, number in sums[scheme].items() if number]
        if words:
            yield f"{scheme}: {', '.join(words)} in all runs"
    more = [
        scheme
        for scheme in frames.schemes[1:]
        if any(sums[scheme][name] > of_baseline[name] for name in (*LOST, "timeouts"))
    ]
    if more:
        folder = worst[more[0]][1]
        yield f"look closer: anabranch report {folder} (flows, queues and paths of {more[0]}'s worst run)"


def _others(frames: Frames) -> list[str]:
    """Schemes that have other flows than the baseline at some point."""
    return frames.differences.filter(verdict=NOT_PAIRED)["scheme"].unique(maintain_order=True).to_list()


def _decidable(frames: Frames, criterion: Criterion) -> pl.DataFrame:
    return frames.differences.filter(
        pl.col("size_class") == criterion.size_class,
        pl.col("statistic") == criterion.column,
        pl.col("verdict").is_not_null(),
        pl.col("verdict") != NOT_PAIRED,
    )
