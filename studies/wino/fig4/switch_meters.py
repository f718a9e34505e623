"""Meters of Open vSwitch: how exactly they keep a rate, window by window (the Wino paper's Fig. 4).

Two hosts on one bridge with the userspace datapath. Frames of one size come in even steps, more than the meter lets
pass, and the kernel stamps those that reach the other host. Kernels with Open vSwitch's own datapath have meters too;
the lab has none of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.files.errors import AnabranchError
from anabranch.files.terminal.bar import Bar
from anabranch.lab.calibration import contention
from anabranch.lab.calibration.processor_time import Meter
from anabranch.lab.fabric.topology import Lab
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.lab.study import LabBackend, LabEvidence, LabStudy
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.values.cells import Cells

from .switch_measure import Metered, Passed, measured

SCENARIO = "scenario.toml"
ERROR = Quantity("meter error")
BEYOND = 1.2
"""What must come to a meter at least, as a multiple of its rate: with less it would not limit in every window."""


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    rates_kbps: tuple[int, ...]
    windows_ms: tuple[int, ...]
    bursts_ms: tuple[int, ...]
    offered: int
    least_offered_mbps: int
    most_offered_mbps: int
    duration_s: int
    parts: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            for number in value if isinstance(value, tuple) else (value,):
                if type(number) is not int or number < 1:
                    raise AnabranchError(f"settings.{name}: {number!r}; give whole numbers from 1")
        if 1000 * self.duration_s < (least := max(self.windows_ms) * self.parts):
            raise AnabranchError(
                f"settings.duration_s: {self.duration_s}: {self.parts} parts take {least} ms; give that"
            )

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
        made = cells(settings)
        meter = Meter()
        context.report(f"{name}: {len(steps)} meters for {settings.duration_s} s each")
        lab = Lab.up(study.group.folder / SCENARIO, f"meters-{os.getpid()}")
        try:
            with Bar(name, len(steps), quiet=context.quiet) as bar:
                for number, (rate_kbps, burst_ms) in enumerate(steps):
                    bar.draw(number, f"{rate_kbps} kb/s, bursts of {burst_ms} ms")
                    if 2000 * rate_kbps > 1_000_000 * settings.most_offered_mbps:
                        _leave_out(
                            made,
                            settings,
                            (rate_kbps, burst_ms),
                            f"above half of {settings.most_offered_mbps} Mb/s, the most that is sent",
                        )
                        continue
                    with meter.running(lab.record.mark):
                        found = measured(lab, settings.meter(rate_kbps, burst_ms))
                    meter.late_ms.append(found.late_p99_ms)
                    if reason := not_usable(found, rate_kbps):
                        _leave_out(made, settings, (rate_kbps, burst_ms), reason)
                        continue
                    _keep(made, settings, (rate_kbps, burst_ms), found.bits)
        finally:
            lab.down()
        machine = contention.judge(meter)
        contention.write(machine, study.folder)
        return LabEvidence(made, study.expected.figures, machine.usable, machine)


def cells(settings: Settings) -> Cells:
    """Cells of all meters, as yet without numbers."""
    axes = {"rate": settings.rates_kbps, "window": settings.windows_ms, "burst": settings.bursts_ms}
    return Cells({axis: list(values) for axis, values in axes.items()}, list(range(1, settings.parts + 1)))


def not_usable(found: Passed, rate_kbps: int) -> str:
    """Reason to leave a measurement out; empty if there is none."""
    if not found.is_whole:
        return f"{found}; the machine loses frames"
    if found.came_bps < BEYOND * 1000 * rate_kbps:
        return f"{found.came_bps / 1e6:.3g} Mb/s came to the meter; the machine forwards no more"
    return ""


def errors(bits: npt.NDArray[np.float64], rate_kbps: int, window_ms: int) -> npt.NDArray[np.float64]:
    """Error of each window in percent, given the bits that passed in each millisecond."""
    sums = bits[: len(bits) // window_ms * window_ms].reshape(-1, window_ms).sum(axis=1)
    return np.array([_core.meter_error_percent(1e3 * one / window_ms, 1e3 * rate_kbps) for one in sums.tolist()])


def _keep(made: Cells, settings: Settings, meter: tuple[int, int], bits: npt.NDArray[np.float64]) -> None:
    rate_kbps, burst_ms = meter
    for window_ms in settings.windows_ms:
        cell = made.cell({"rate": rate_kbps, "window": window_ms, "burst": burst_ms})
        for part, some in enumerate(np.array_split(errors(bits, rate_kbps, window_ms), settings.parts), start=1):
            made.numbers[cell, part, ERROR] = float(some.mean())


def _leave_out(made: Cells, settings: Settings, meter: tuple[int, int], reason: str) -> None:
    for window_ms in settings.windows_ms:
        cell = made.cell({"rate": meter[0], "window": window_ms, "burst": meter[1]})
        for part in made.seeds:
            made.missing[cell, part] = reason
