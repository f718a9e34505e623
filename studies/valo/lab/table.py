"""Accuracy and completion times on a terminal, beside the paper and theory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import bit_rate, count, pct
from anabranch.reproduce.claims.claim import Claim

from . import completion
from .accuracy import ALL_SCHEMES, WEIGHT_MAX, WEIGHT_MIN, Line

SCORING_PCT = {2: 16.6, 3: 33.4, 4: 44.2, 5: 52.0, 6: 58.0, 7: 62.7, 8: 66.5}
"""Expected error of scoring over all weights from 1 to 100, by number of paths (4,000 draws, +-0.1)."""

Published = Mapping[tuple[str, Any], Claim]
"""Claims by scheme and number of paths, or workload."""


def accuracy_table(lines: Sequence[Line], published: Published) -> Table:
    """A row per number of paths and scheme."""
    table = plain_table(
        ("paths\n", True),
        ("recipe\n", False),
        ("what it is\n", False),
        ("paper\n% MAPE", True),
        ("theory\n% MAPE", True),
        ("measured\n% MAPE", True),
        ("band of\nchance", False),
        ("floor\n% MAPE", True),
        ("verdict\n", False),
    )
    before = 0
    for line in lines:
        if before not in (0, line.paths):
            table.add_row()
        claim = published.get((line.scheme, line.paths))
        table.add_row(
            str(line.paths) if line.paths != before else "",
            line.scheme,
            ALL_SCHEMES[line.scheme],
            "-" if claim is None else claim.text.removesuffix(" %"),
            pct(line.expected.mean),
            Text(pct(line.measured_pct), "bold"),
            f"{pct(line.expected.low)} to {pct(line.expected.high)}",
            pct(line.expected.floor),
            Text("as theory", "green") if line.as_expected else Text("not as theory", "red"),
        )
        before = line.paths
    return table


def show_accuracy(lines: Sequence[Line], published: Published, version: str, missing: str, console: Console) -> None:
    """Prints the table and what its columns are; `missing` is why it has no datapaths in the kernel, if it has none."""
    connections, trials = lines[0].connections, [line.trials for line in lines]
    held = sum(line.as_expected for line in lines)
    kernel = "" if missing else " and through datapaths in the kernel (kernel-...)"
    console.print(
        f"VALO, Fig. 10: {count(connections)} connections a trial through an unmodified Open vSwitch {version}"
        f"{kernel}, weights drawn from {WEIGHT_MIN} to {WEIGHT_MAX}",
        markup=False,
        soft_wrap=True,
    )
    console.print()
    console.print(accuracy_table(lines, published))
    notes = (
        f"measured: mean of {min(trials)} trials, by counters of ports or datapaths; every connection arrived",
        "theory: what a recipe's exact shares lead one to expect under these weights",
        _over_all(lines),
        "band: 999 of 1000 such experiments lie in it if theory holds; floor: the best any hash is expected to do",
        f"{held} of {len(lines)} rows are as theory has them",
        *([f"left out, rows kernel-...: {missing}"] if missing else []),
    )
    console.print("\n" + "\n".join(notes), style="dim", highlight=False, soft_wrap=True)


def completion_table(lines: Sequence[completion.Line], published: Published) -> Table:
    """A row per workload and scheme."""
    table = plain_table(
        ("workload\n", False),
        ("recipe\n", False),
        ("what it is\n", False),
        ("paper\nx ideal", True),
        ("measured\nx ideal", True),
        ("95 %\ninterval", False),
        ("flows\nunfinished", True),
    )
    before = ""
    for line in lines:
        ratio = line.times_ideal
        claim = published.get((line.scheme, line.workload))
        interval = "-" if ratio.low is None or ratio.high is None else f"{ratio.low:.2f} to {ratio.high:.2f}"
        table.add_row(
            line.workload if line.workload != before else "",
            line.scheme,
            ALL_SCHEMES[line.scheme],
            "-" if claim is None else claim.text.removesuffix("x"),
            Text(f"{ratio.mean:.2f}", "bold"),
            interval,
            f"{line.unfinished} of {count(line.flows)}",
        )
        before = line.workload
    return table


def show_completion(trials: Sequence[completion.Trial], published: Published, total_bps: int, console: Console) -> None:
    """Prints the table, what its columns are, and what to hold against it."""
    lines = completion.lines(trials)
    scales = sorted(trial.scale for trial in trials)
    console.print(
        f"\nVALO, Fig. 15: mean completion times of real TCP flows over the ideal's, {len(trials[0].weights)} paths of "
        f"together {bit_rate(total_bps)}, load {completion.LOAD:g}",
        markup=False,
        soft_wrap=True,
    )
    console.print()
    console.print(completion_table(lines, published))
    notes = [
        f"rates and sizes are the paper's times {scales[0]:.3f} to {scales[-1]:.3f}; geometric mean of "
        f"{lines[0].trials} draws of weights, the same flows under all",
    ]
    if lines[0].trials == 1:
        notes.append("too few flows to tell schemes apart: without --quick there are ten draws and longer runs")
    late = [warning for trial in trials for warning in trial.warnings]
    notes += [f"{len(late)} runs with warnings, such as {late[0]}"] if late else []
    console.print("\n" + "\n".join(notes), style="dim", highlight=False, soft_wrap=True)


def _over_all(lines: Sequence[Line]) -> str:
    """Means for comparison with the paper's number for scoring: it has other draws of weights."""
    paths = sorted({line.paths for line in lines})
    means = ", ".join(f"{SCORING_PCT[number]:.1f}" for number in paths)
    return f"over all weights, scoring is at {means} % ({', '.join(map(str, paths))} paths)"
