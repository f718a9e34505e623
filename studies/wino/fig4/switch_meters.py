"""Meters of Open vSwitch: how exactly they keep a rate, window by window (the Wino paper's Fig. 4).

Two hosts on one bridge with the userspace datapath. Frames of one size come in even steps, more than the meter lets
pass, and the kernel stamps those that reach the other host. Kernels with Open vSwitch's own datapath have meters too;
the lab has none of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.files.terminal.bar import Bar
from anabranch.lab.calibration import contention
from anabranch.lab.calibration.processor_time import Meter
from anabranch.lab.fabric.topology import Lab
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.lab.study import LabBackend, LabEvidence, LabStudy

from .switch_measure import Metered, Passed, measured
from .windows import Windows

SCENARIO = "scenario.toml"
BEYOND = 1.2
"""What must come to a meter at least, as a multiple of its rate: with less it would not limit in every window."""


@dataclass(frozen=True)
class Settings(Windows):
    """How much is measured."""

    offered: int
    """What is sent, as a multiple of the meter's rate."""
    least_offered_mbps: int
    most_offered_mbps: int
    """What is sent at most; meters whose rate is above half of it are left out."""
    duration_s: int
    """Time that a meter is measured."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_duration("duration_s", self.duration_s, 1000 * self.duration_s)

    def meter(self, rate_kbps: int, burst_ms: int) -> Metered:
        """A meter and what is sent to it."""
        offered_mbps = max(self.least_offered_mbps, self.offered * rate_kbps // 1000)
        return Metered(rate_kbps, burst_ms, min(self.most_offered_mbps, offered_mbps), self.duration_s)


class SwitchMeters(LabBackend):
    """Errors of meters of Open vSwitch's userspace datapath."""

    settings = Settings

    def run(self, study: LabStudy, context: Context) -> LabEvidence:
        """Makes the lab, measures one meter after the other, and removes the lab.

        Raises:
            AnabranchError: no lab can be made here, or something in it refuses.

        """
        settings: Settings = study.settings
        name = study.group.study
        steps = [(rate, burst) for rate in settings.rates_kbps for burst in settings.bursts_ms]
        cells = settings.cells()
        meter = Meter()
        context.report(f"{name}: {len(steps)} meters for {settings.duration_s} s each")
        with (
            Lab.temporary(study.group.folder / SCENARIO, f"meters-{os.getpid()}") as lab,
            Bar(name, len(steps), quiet=context.quiet) as bar,
        ):
            for number, (rate_kbps, burst_ms) in enumerate(steps):
                bar.draw(number, f"{rate_kbps} kb/s, bursts of {burst_ms} ms")
                reason = f"above half of {settings.most_offered_mbps} Mb/s, the most that is sent"
                if 2000 * rate_kbps <= 1_000_000 * settings.most_offered_mbps:
                    with meter.running(lab.record.mark):
                        passed = measured(lab, settings.meter(rate_kbps, burst_ms))
                    meter.late_ms.append(passed.late_p99_ms)
                    reason = not_usable(passed, rate_kbps)
                if reason:
                    settings.leave_out(cells, rate_kbps, burst_ms, reason)
                else:
                    settings.keep(cells, rate_kbps, burst_ms, partial(errors, passed.bits, rate_kbps))
        machine = contention.judge(meter)
        contention.write(machine, study.folder)
        return LabEvidence(cells, study.expected.figures, machine.usable, machine)


def not_usable(passed: Passed, rate_kbps: int) -> str:
    """Reason to leave a measurement out; empty if there is none."""
    if not passed.is_whole:
        return f"{passed}; the machine loses frames"
    if passed.came_bps < BEYOND * 1000 * rate_kbps:
        return f"{passed.came_bps / 1e6:.3g} Mb/s came to the meter; the machine forwards no more"
    return ""


def errors(bits: npt.NDArray[np.float64], rate_kbps: int, window_ms: int) -> npt.NDArray[np.float64]:
    """Error of each window in percent, given the bits that passed in each millisecond."""
    sums = bits[: len(bits) // window_ms * window_ms].reshape(-1, window_ms).sum(axis=1)
    return np.array([_core.meter_error_percent(1e3 * one / window_ms, 1e3 * rate_kbps) for one in sums.tolist()])
