"""Accuracy and completion times on a terminal, beside the paper and theory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from anabranch.files.units import bit_rate, count, pct
from anabranch.reproduce.backends.lab import cell_table
from anabranch.reproduce.backends.lab.cell_table import Column
from anabranch.reproduce.claims.claim import Claim

from . import completion
from .accuracy import ALL_SCHEMES, WEIGHT_MAX, WEIGHT_MIN, Line

SCORING_PCT = {2: 16.6, 3: 33.4, 4: 44.2, 5: 52.0, 6: 58.0, 7: 62.7, 8: 66.5}
"""Expected error of scoring over all weights from 1 to 100, by number of paths (4,000 draws, +-0.1)."""

Published = Mapping[tuple[str, Any], Claim]
"""Claims by scheme and number of paths, or workload."""


def show_accuracy(lines: Sequence[Line], published: Published, version: str, missing: str, console: Console) -> None:
    """Prints the table and what its columns are; `missing` is why it has no datapaths in the kernel, if it has none."""
    connections, trials = lines[0].connections, [line.trials for line in lines]
    kernel = "" if missing else " and through datapaths in the kernel (kernel-...)"
    console.print(
        f"VALO, Fig. 10: {count(connections)} connections a trial through an unmodified Open vSwitch {version}"
        f"{kernel}, weights drawn from {WEIGHT_MIN} to {WEIGHT_MAX}\n",
        markup=False,
        soft_wrap=True,
    )
    columns = (
        Column[Line]("recipe\n", lambda line: line.scheme, number=False),
        Column[Line]("what it is\n", lambda line: ALL_SCHEMES[line.scheme], number=False),
        Column[Line]("paper\n% MAPE", lambda line: _printed(published, line.scheme, line.paths, " %")),
        Column[Line]("theory\n% MAPE", lambda line: pct(line.expected.mean)),
        Column[Line]("measured\n% MAPE", lambda line: Text(pct(line.measured_pct), "bold")),
        Column[Line](
            "band of\nchance", lambda line: f"{pct(line.expected.low)} to {pct(line.expected.high)}", number=False
        ),
        Column[Line]("floor\n% MAPE", lambda line: pct(line.expected.floor)),
        Column[Line]("verdict\n", _verdict, number=False),
    )
    notes = (
        f"measured: mean of {min(trials)} trials, by counters of ports or datapaths; every connection arrived",
        "theory: what a recipe's exact shares lead one to expect under these weights",
        _over_all(lines),
        "band: 999 of 1000 such experiments lie in it if theory holds; floor: the best any hash is expected to do",
        f"{sum(line.as_expected for line in lines)} of {len(lines)} rows are as theory has them",
        *([f"left out, rows kernel-...: {missing}"] if missing else []),
    )
    parts = [(f"{paths} paths", list(some)) for paths, some in groupby(lines, key=lambda line: line.paths)]
    cell_table.show(parts, columns, notes, console)


def show_completion(trials: Sequence[completion.Trial], published: Published, total_bps: int, console: Console) -> None:
    """Prints the table, what its columns are, and what to hold against it."""
    lines = completion.lines(trials)
    scales = sorted(trial.scale for trial in trials)
    console.print(
        f"\nVALO, Fig. 15: mean completion times of real TCP flows over the ideal's, {len(trials[0].weights)} paths of "
        f"together {bit_rate(total_bps)}, load {completion.LOAD:g}\n",
        markup=False,
        soft_wrap=True,
    )
    columns = (
        Column[completion.Line]("recipe\n", lambda line: line.scheme, number=False),
        Column[completion.Line]("what it is\n", lambda line: ALL_SCHEMES[line.scheme], number=False),
        Column[completion.Line]("paper\nx ideal", lambda line: _printed(published, line.scheme, line.workload, "x")),
        Column[completion.Line]("measured\nx ideal", lambda line: Text(f"{line.times_ideal.mean:.2f}", "bold")),
        Column[completion.Line]("95 %\ninterval", _interval, number=False),
        Column[completion.Line]("flows\nunfinished", lambda line: f"{line.unfinished} of {count(line.flows)}"),
    )
    notes = [
        f"rates and sizes are the paper's times {scales[0]:.3f} to {scales[-1]:.3f}; geometric mean of "
        f"{lines[0].trials} draws of weights, the same flows under all",
    ]
    if lines[0].trials == 1:
        notes.append("too few flows to tell schemes apart: without --quick there are ten draws and longer runs")
    late = [warning for trial in trials for warning in trial.warnings]
    notes += [f"{len(late)} runs with warnings, such as {late[0]}"] if late else []
    parts = [(workload, list(some)) for workload, some in groupby(lines, key=lambda line: line.workload)]
    cell_table.show(parts, columns, notes, console)


def _printed(published: Published, scheme: str, at: Any, unit: str) -> str:
    claim = published.get((scheme, at))
    return "-" if claim is None else claim.text.removesuffix(unit)


def _verdict(line: Line) -> Text:
    return Text("as theory", "green") if line.as_expected else Text("not as theory", "red")


def _interval(line: completion.Line) -> str:
    low, high = line.times_ideal.low, line.times_ideal.high
    return "-" if low is None or high is None else f"{low:.2f} to {high:.2f}"


def _over_all(lines: Sequence[Line]) -> str:
    """Means for comparison with the paper's number for scoring: it has other draws of weights."""
    paths = sorted({line.paths for line in lines})
    means = ", ".join(f"{SCORING_PCT[number]:.1f}" for number in paths)
    return f"over all weights, scoring is at {means} % ({', '.join(map(str, paths))} paths)"
