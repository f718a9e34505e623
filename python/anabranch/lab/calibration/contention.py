"""Whether a machine was quiet enough for what was measured on it: a verdict from a rule with limits that have reasons.

All switches and hosts of a lab share the machine's processors. What others take of them delays senders and forwarding
by milliseconds, which a result does not show by itself. The limits hold for links of `REFERENCE_BPS`. On slower links
all times of a run are longer and a delay weighs less: the limits grow as the rate shrinks, and `--scale` helps.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from anabranch.files.units import pct
from anabranch.lab.calibration.ceiling import HEADROOM
from anabranch.lab.calibration.processor_time import Meter

REFERENCE_BPS = 100e6
"""The links of the labs that validated this (docs/validation/lab.md)."""
OTHERS_MAX = round((1 - HEADROOM) / 2, 6)
"""Share of the processors' time for other programs: half of what a load at the ceiling leaves idle."""
IDLE_PROCESSORS = 2
"""With so many idle on average it does not matter what others take: one for senders, one for what forwards."""
STOLEN_MAX = 0.02
"""Share of the processors' time for the hypervisor: it takes slices of milliseconds, whatever runs; a machine that has
its processors for itself shows a tenth of this and less."""
LOAD_MAX = 1.0
"""Processes for each processor in the minute before: with more, some waited. At 1 to 2.5 lab over simulator was 0.86,
as it was on an idle machine, or 1.25; above 4 it was 1.6 to 2.3 (docs/validation/lab.md)."""
LATE_MAX_MS = 5.0
"""Lateness of a run's senders at 1 % of their starts: longer than Linux' scheduler lets another process run before the
sender's turn comes (3 ms on two processors); an idle machine showed 2.9 ms at most in one of five runs."""
LATE_RUNS_MAX = 0.1
"""Share of several runs that may be late; on an idle machine 4 of 108 were (docs/validation/lab-wino.md)."""
FILE = "machine.json"


@dataclass(frozen=True)
class Contention:
    """Causes that disturbed runs, and the verdict."""

    usable: bool
    causes: tuple[str, ...]
    """Why not; empty if usable."""
    excess: float
    """The worst value over its limit."""
    processors: int
    load_before: float | None
    load_max: float
    others_share: float
    """Share of the time of all processors while runs were under way; so are the next three."""
    others_max: float
    stolen_share: float
    stolen_max: float
    own_share: float
    idle_share: float
    runs: int
    late_runs: int
    late_worst_ms: float
    """Lateness that 99 of 100 starts of all runs did not exceed."""
    late_max_ms: float


def judge(
    meter: Meter,
    *,
    link_bps: float = REFERENCE_BPS,
    late_max_ms: float = LATE_MAX_MS,
    processors: int | None = None,
) -> Contention:
    """Applies the rule.

    Args:
        meter: What was measured.
        link_bps: The rate of most links.
        late_max_ms: At which a run counts as late, on links of `REFERENCE_BPS`.
        processors: Of the machine; this one's if left out.

    """
    slower = max(1.0, REFERENCE_BPS / link_bps)
    count = processors or os.cpu_count() or 1
    spent, total_s = meter.spent, max(meter.spent.total_s, 1e-9)
    others, stolen, idle = spent.others_s / total_s, spent.stolen_s / total_s, spent.idle_s / total_s
    late_max_ms *= slower
    late = [each for each in meter.late_ms if each > late_max_ms]
    worst_ms = max(meter.late_ms, default=0.0)
    limits = {"others": OTHERS_MAX * slower, "stolen": STOLEN_MAX * slower, "load": LOAD_MAX * count * slower}
    reasons: list[tuple[float, str]] = []
    if others > limits["others"] and idle * count < IDLE_PROCESSORS:
        what = f"other programs took {_pct(others)} of the processors' time ({_pct(limits['others'])} at most)"
        reasons.append((others / limits["others"], what))
    if stolen > limits["stolen"]:
        what = f"the hypervisor took {_pct(stolen)} of the processors' time ({_pct(limits['stolen'])} at most)"
        reasons.append((stolen / limits["stolen"], what))
    if meter.load_before is not None and meter.load_before > limits["load"]:
        what = f"the load in the minute before was {meter.load_before:.1f} ({limits['load']:g} at most)"
        reasons.append((meter.load_before / limits["load"], what))
    if len(late) > LATE_RUNS_MAX * len(meter.late_ms):
        runs = (
            "1 % of flows" if len(meter.late_ms) == 1 else f"1 % of flows in {len(late)} of {len(meter.late_ms)} runs"
        )
        what = f"{runs} began {worst_ms:.1f} ms late or more ({late_max_ms:g} at most)"
        reasons.append((worst_ms / late_max_ms, what))
    return Contention(
        usable=not reasons,
        causes=tuple(what for _, what in reasons),
        excess=max((excess for excess, _ in reasons), default=0.0),
        processors=count,
        load_before=meter.load_before,
        load_max=limits["load"],
        others_share=others,
        others_max=limits["others"],
        stolen_share=stolen,
        stolen_max=limits["stolen"],
        own_share=spent.own_s / total_s,
        idle_share=idle,
        runs=len(meter.late_ms),
        late_runs=len(late),
        late_worst_ms=worst_ms,
        late_max_ms=late_max_ms,
    )


def usable_scale(contention: Contention, link_bps: float, scale: float) -> float:
    """The `--scale` at which nothing that was measured would exceed its limit; one digit, rounded down."""
    slower = max(1.0, REFERENCE_BPS / link_bps) * max(contention.excess, 1.0)
    exact = scale * min(1.0, REFERENCE_BPS / slower / link_bps)
    digit = 10.0 ** math.floor(math.log10(exact))
    # A whole number must not fall below itself by the rounding of a division.
    return math.floor(exact / digit + 1e-9) * digit


def lines(contention: Contention, hint: str) -> list[str]:
    """The verdict for people."""
    if contention.usable:
        load = "" if contention.load_before is None else f"; load {contention.load_before:.1f} in the minute before"
        return [
            f"machine: usable: other programs took {_pct(contention.others_share)} of the processors' time, "
            f"the hypervisor {_pct(contention.stolen_share)}{load}"
        ]
    return [f"not usable: the machine was busy: {'; '.join(contention.causes)}", f"hint: {hint}"]


def _pct(share: float) -> str:
    return f"{pct(100 * share)} %"


def show(contention: Contention, hint: str, console: Console) -> None:
    """Prints it."""
    style = "dim" if contention.usable else "bold red"
    for line in lines(contention, hint):
        console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def write(contention: Contention, folder: Path) -> None:
    """Keeps it with a study's results."""
    (folder / FILE).write_text(json.dumps(asdict(contention), indent=1) + "\n", encoding="utf-8")
