"""The paper's Fig. 4 in the simulator: rates, windows and bursts of meters, and the error of each.

Frames of one size come back to back, and the meter is a leaf's in the simulator: a token bucket, full at first. The
error of a window is what it carries beyond the rate, in percent, and none below it (section III-D); its mean over the
windows of a part of the run is a value, and parts stand in the place of seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends.backend import Announcement, Context
from anabranch.reproduce.backends.cell_evidence import CellBackend, CellEvidence
from anabranch.reproduce.backends.experiment_settings import read_study
from anabranch.reproduce.claims.claim import Expected
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import FILE, Group
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.records.cell_record import read
from anabranch.reproduce.records.record import Record
from anabranch.reproduce.records.spot_check import SpotCheck, compared
from anabranch.reproduce.values.cells import Cells

ERROR = Quantity("meter error")
WINDOW_NS = 1_000_000
"""Windows are whole numbers of these."""


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    rates_kbps: tuple[int, ...]
    windows_ms: tuple[int, ...]
    bursts_ms: tuple[int, ...]
    """Depths of the bucket, as the time that its rate takes for them; two frames at least."""
    offered_mbps: int
    frame_bytes: int
    duration_ms: int
    parts: int


@dataclass(frozen=True)
class MeterStudy:
    """See `backend.Prepared`."""

    group: Group
    expected: Expected
    meters: Settings
    quick_note: str

    announcement: Announcement | None = None

    def run(self, context: Context) -> CellEvidence:
        """Sends the frames of every meter once, and looks at them through every window."""
        del context
        made = Cells(
            {
                "rate": list(self.meters.rates_kbps),
                "window": list(self.meters.windows_ms),
                "burst": list(self.meters.bursts_ms),
            },
            list(range(1, self.meters.parts + 1)),
        )
        for rate_kbps in self.meters.rates_kbps:
            rate_bps = 1000 * rate_kbps
            for burst_ms in self.meters.bursts_ms:
                frames = self._frames(rate_bps, burst_ms)
                for window_ms in self.meters.windows_ms:
                    errors = self._errors(frames, rate_bps, window_ms)
                    cell = made.cell({"rate": rate_kbps, "window": window_ms, "burst": burst_ms})
                    for part, some in enumerate(np.array_split(errors, self.meters.parts), start=1):
                        made.numbers[cell, part, ERROR] = float(some.mean())
        return CellEvidence(made, self.expected.figures)

    def _frames(self, rate_bps: int, burst_ms: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Frames that pass in each millisecond."""
        passed = _core.metered_frames(
            rate_bps,
            burst_bytes=max(2 * self.meters.frame_bytes, rate_bps * burst_ms // 8000),
            frame_bytes=self.meters.frame_bytes,
            offered_bps=1_000_000 * self.meters.offered_mbps,
            window_ns=WINDOW_NS,
            windows=self.meters.duration_ms,
        )
        return np.array(passed, np.int64)

    def _errors(
        self, frames: np.ndarray[Any, np.dtype[np.int64]], rate_bps: int, window_ms: int
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Error of each window, in percent."""
        whole = frames[: len(frames) // window_ms * window_ms].reshape(-1, window_ms).sum(axis=1)
        carried_bps = whole * self.meters.frame_bytes * 8e3 / window_ms
        return np.array([_core.meter_error_percent(bps, rate_bps) for bps in carried_bps.tolist()])


class Meters(CellBackend):
    """Meters of the simulator: how exactly a token bucket keeps a rate, window by window."""

    quantities = (ERROR.name,)
    modelled = True

    def prepare(self, group: Group, quick: bool, output: Path) -> MeterStudy:
        """Reads a study; it keeps nothing for later runs."""
        del output
        expected = load_expected(group.folder, quick, self.read_measure)
        settings, note = read_study(group.folder, Settings, quick)
        _check(settings, group.folder / FILE)
        return MeterStudy(group, expected, settings, note)

    def spot_check(self, group: Group, record: Record, cells: int, context: Context) -> SpotCheck:
        """See `Backend`; all of them, which takes no longer."""
        del cells
        study = self.prepare(group, quick=False, output=group.folder)
        kept = read(record, study.expected.quantities)
        return compared(group, study.run(context).cells, kept, len({(cell, seed) for cell, seed, _ in kept.numbers}))


def _check(meters: Settings, file: Path) -> None:
    for name, value in vars(meters).items():
        for number in value if isinstance(value, tuple) else (value,):
            if type(number) is not int or number < 1:
                raise AnabranchError(f"{file}: settings.{name}: {number!r}; give whole numbers from 1")
        if value == ():
            raise AnabranchError(f"{file}: settings.{name}: empty; give a number at least")
    if meters.duration_ms < (least := max(meters.windows_ms) * meters.parts):
        raise AnabranchError(
            f"{file}: settings.duration_ms: {meters.duration_ms}, and {meters.parts} parts with a window of "
            f"{max(meters.windows_ms)} ms each take {least}; give that, or smaller windows"
        )
