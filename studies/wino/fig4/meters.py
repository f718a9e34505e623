"""The paper's Fig. 4 in the simulator: rates, windows and bursts of meters, and the error of each.

Frames of one size come back to back, and the meter is a leaf's in the simulator: a token bucket, full at first. The
error of a window is what it carries beyond the rate, in percent, and none below it (section III-D); its mean over the
windows of a part of the run is a value, and parts stand in the place of seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.reproduce.backends.backend import Announcement, Context
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.backends.experiment_settings import read_study
from anabranch.reproduce.backends.short_cells import ShortCellBackend
from anabranch.reproduce.claims.claim import Expected
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import Group

from .windows import ERROR, Windows

WINDOW_NS = 1_000_000
"""Windows are whole numbers of these."""


@dataclass(frozen=True)
class Settings(Windows):
    """How much is measured."""

    offered_mbps: int
    """Rate at which frames come."""
    frame_bytes: int
    duration_ms: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_duration("duration_ms", self.duration_ms, self.duration_ms)


@dataclass(frozen=True)
class MeterStudy:
    """A study of simulated meters, ready to run (`backend.Prepared`)."""

    group: Group
    expected: Expected
    meters: Settings
    quick_note: str

    announcement: Announcement | None = None

    def run(self, context: Context) -> CellEvidence:
        """Sends the frames of every meter once, and looks at them through every window."""
        del context
        cells = self.meters.cells()
        for rate_kbps in self.meters.rates_kbps:
            for burst_ms in self.meters.bursts_ms:
                errors = partial(self._errors, self._frames(1000 * rate_kbps, burst_ms), 1000 * rate_kbps)
                self.meters.keep(cells, rate_kbps, burst_ms, errors)
        return CellEvidence(cells, self.expected.figures)

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


class Meters(ShortCellBackend):
    """Meters of the simulator: how exactly a token bucket keeps a rate, window by window."""

    quantities = (ERROR.name,)

    def prepare(self, group: Group, quick: bool, output: Path) -> MeterStudy:
        """Reads a study; it keeps nothing for later runs."""
        del output
        expected = load_expected(group.folder, quick, self.read_measure)
        settings, note = read_study(group.folder, Settings, quick)
        return MeterStudy(group, expected, settings, note)
