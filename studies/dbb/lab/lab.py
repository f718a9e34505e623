"""DBB (Wu et al., section IV): packets in turn against packets at random, four paths in the kernel, real TCP."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from anabranch._core import VERSION
from anabranch.files.atomic_file import write_whole
from anabranch.files.terminal.bar import Bar
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.lab.cell_table import LAB, as_csv
from anabranch.reproduce.backends.lab.journal import Journal, still_missing, time_is_up, to_run
from anabranch.reproduce.backends.lab.study import LabBackend, LabEvidence, LabStudy, published
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.values.cells import LEFT_OUT, Cells

from . import rows, table
from .cases import (
    BY_NAME,
    CASES,
    DUPLICATES,
    FULL,
    NO_RACK,
    PAIRS,
    RACK,
    Case,
    Recovery,
)
from .fabric import PATHS, Fabric, fabric
from .measure import Row, run_lab
from .schemes import ONE_PATH, SCHEMES, Scheme
from .simulate import run_simulator

ALONE = Case("one path", "what the machine reorders", 1, 0.5 / PATHS)
"""Half the load of one path: nothing should be lost, and nothing overtaken."""
RECOVERIES = (RACK, NO_RACK, DUPLICATES)
SETTLE_S = 0.6
"""Time that a run takes beside its traffic."""


@dataclass(frozen=True)
class Run:
    """One run in the lab, to be done."""

    scheme: Scheme
    case: Case
    recovery: Recovery
    draw: int = 0
    gso: bool = False


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    cases: tuple[Mapping[str, Any], ...]
    """Tables with a rule of loss (`losses`) and the names of `cases` under it."""
    warm_up_s: float
    """Traffic before the window."""
    window_s: float
    """Time that is measured."""
    draws: int
    """Draws of ports in the lab, which a hash sees; they are the seeds of the claims."""
    seeds: int
    """Seeds of the simulator."""

    @property
    def span(self) -> tuple[float, float]:
        """Warm-up and window, in seconds."""
        return self.warm_up_s, self.window_s

    @property
    def chosen(self) -> list[tuple[Recovery, list[Case]]]:
        """Rules of loss with the cases under each."""
        by_name = {recovery.name: recovery for recovery in RECOVERIES}
        return [(by_name[one["losses"]], [BY_NAME[name] for name in one["cases"]]) for one in self.cases]


class DbbLab(LabBackend):
    """Goodput of the paper's cases over datapaths in the kernel."""

    settings = Settings

    def run(self, study: LabStudy, context: Context) -> LabEvidence:
        """Measures, and writes rows and a figure.

        Raises:
            AnabranchError: no lab with datapaths can be made here, or something in it refuses.

        """
        size: Settings = study.settings
        name = study.group.study
        steps = {_key(step): step for step in _steps(size)}
        journal = study.journal(context, table.LATE_MS)
        missing = [steps[key] for key in journal.lacks(steps)]
        context.report(to_run(name, missing, list(steps), len(missing) * (sum(size.span) + SETTLE_S)))
        if missing and not time_is_up(context):
            # All pieces have links of one rate, which the first has chosen by what its machine carries.
            rates = {journal[key]["link_bps"] for key in steps if key in journal}
            with (
                fabric(SCHEMES[-1], next(iter(rates), 0) // 1_000_000 or None) as lab_fabric,
                Bar(name, len(missing), quiet=context.quiet) as bar,
            ):
                _measure(lab_fabric, missing, size, journal, context, bar)
        runs = [journal[key] for key in steps if key in journal]
        return _evidence(study, runs, journal, list(steps))


def _key(step: Run) -> str:
    """Name of a run in the journal."""
    whole = ", whole" if step.gso else ""
    return f"{step.case.name}, {step.recovery.name}, {step.scheme.name}{whole}, draw {step.draw}"


def _measure(
    lab_fabric: Fabric, steps: Sequence[Run], size: Settings, journal: Journal, context: Context, bar: Bar
) -> None:
    """Runs of one lab, until the time is up."""
    installed, whole = SCHEMES[-1], False
    for number, step in enumerate(steps):
        if time_is_up(context):
            return
        bar.draw(number, f"{step.case.name}, {step.scheme.name}, {step.recovery.name}")
        if whole != step.gso:
            lab_fabric.whole_segments(step.gso)
            whole = step.gso
        if installed != step.scheme:
            lab_fabric.install(step.scheme)
            installed = step.scheme
        simulated = list(_simulated(lab_fabric, step, size))
        with journal.running(_key(step), lab_fabric.lab.record.mark) as run:
            row = run_lab(lab_fabric, step.case, step.recovery, step.scheme, size.span, draw=step.draw, gso=step.gso)
            run.late_ms = [row.late_p99_ms]
            run.values = {
                "link_bps": lab_fabric.link_bps,
                "ceiling_bps": lab_fabric.ceiling_bps,
                "rows": [asdict(one) for one in (row, *simulated)],
            }


def _steps(size: Settings) -> Iterator[Run]:
    """Scheme by scheme, so that datapaths are made anew as rarely as can be."""
    yield Run(ONE_PATH, ALONE, RACK)
    for scheme in SCHEMES:
        for recovery, cases in size.chosen:
            for case in cases:
                for draw in range(size.draws):
                    yield Run(scheme, case, recovery, draw)
    for scheme in SCHEMES:
        yield Run(scheme, FULL, RACK, gso=True)


def _simulated(lab_fabric: Fabric, step: Run, size: Settings) -> Iterator[Row]:
    """The simulator's share of a step: all its seeds at the first draw."""
    if step.draw == 0 and not step.gso and step.scheme is not ONE_PATH:
        for seed in range(size.seeds):
            yield run_simulator(lab_fabric.link_bps, step.case, step.recovery, step.scheme, size.span, draw=seed)


def _evidence(study: LabStudy, runs: Sequence[Mapping[str, Any]], journal: Journal, keys: Sequence[str]) -> LabEvidence:
    """Writes what was measured, and puts it into cells."""
    usable, machine = study.verdict(journal, keys)
    missing = still_missing(study.group.study, journal, keys)
    if not runs:
        return LabEvidence(cells([], 1, study.settings), [], usable, machine, journal=journal, missing=missing)
    all_rows = [Row(**row) for one in runs for row in one["rows"]]
    link_bps, ceiling_bps = runs[0]["link_bps"], min(one["ceiling_bps"] for one in runs)
    # matplotlib takes a second to load: not before there is something to draw.
    from anabranch.report.plot.style import save

    from .figure import draw

    claims = published(study.expected.claims, "goodput", "case")
    lines = rows.lines(all_rows, link_bps, {key: claim.low for key, claim in claims.items() if claim.low is not None})
    order = {case.name: number for number, case in enumerate((ALONE, *CASES))}
    names = [recovery.name for recovery in RECOVERIES]
    lines.sort(key=lambda line: (order[line.cell.case], names.index(line.cell.recovery), line.cell.gso))
    numbers = {
        "made_by": f"anabranch {VERSION}",
        "link_bps": link_bps,
        "pairs": PAIRS,
        "ceiling_bps": ceiling_bps,
        "rows": [asdict(row) for row in all_rows],
    }
    write_whole(study.folder / "result.json", json.dumps(numbers, indent=1) + "\n")
    write_whole(study.folder / "rows.csv", as_csv(all_rows, Row))
    figure = draw(lines)
    for ending in ("png", "svg"):
        save(figure, study.folder / f"goodput.{ending}")
    return LabEvidence(
        cells(all_rows, link_bps, study.settings),
        study.expected.figures,
        usable,
        machine,
        lambda console: table.show(lines, RECOVERIES, ceiling_bps, console),
        [("goodput", "goodput in the lab, in the simulator and in the paper", figure)],
        journal,
        missing,
    )


def cells(all_rows: Sequence[Row], link_bps: int, settings: Settings) -> Cells:
    """Runs of single packets in the lab, goodput as on the paper's links; the draws of ports are the seeds."""
    axes: dict[str, list[Any]] = {
        "scheme": [scheme.name for scheme in SCHEMES],
        "case": [case.name for case in CASES],
        "losses": [recovery.name for recovery in RECOVERIES],
    }
    table = Cells(axes, list(range(1, settings.draws + 1)))
    for row in all_rows:
        if row.where != LAB or row.gso or row.scheme not in axes["scheme"] or row.case not in axes["case"]:
            continue
        cell = table.cell({"scheme": row.scheme, "case": row.case, "losses": row.recovery})
        values = {
            "goodput": row.goodput_mbps * rows.PAPER_LINK_GBPS * 1e6 / link_bps,
            "reordered": row.disorder_pct,
            "retransmitted": row.again_pct,
            "dropped": row.dropped_pct,
        }
        for name, value in values.items():
            table.numbers[cell, row.draw + 1, Quantity(name)] = value
    ran = {(cell, seed) for cell, seed, _ in table.numbers}
    for cell in product(*axes.values()):
        for seed in table.seeds:
            if (cell, seed) not in ran:
                table.missing[cell, seed] = f"{', '.join(cell[1:])}: {LEFT_OUT}"
    return table
