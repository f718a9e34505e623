"""A study of meters before and after it has run: rates, windows and bursts, and the error of each.

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
from anabranch.files.toml_document import read_toml
from anabranch.reproduce.backend import Announcement, Context
from anabranch.reproduce.cell_evidence import CellEvidence
from anabranch.reproduce.cells import Cells
from anabranch.reproduce.claim import Expected
from anabranch.reproduce.experiment_settings import check_keys, read_settings
from anabranch.reproduce.group import FILE, Group
from anabranch.reproduce.quantity import Quantity

KEYS = ("backend", "name", "title", "settings", "quick")
ERROR = Quantity("meter error")
WINDOW_NS = 1_000_000
"""Windows are whole numbers of these."""


@dataclass(frozen=True)
class Meters:
    """What is measured."""

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
    meters: Meters
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


def read_study(folder: Path, quick: bool) -> tuple[Meters, str]:
    """What is measured, and the note on what `--quick` makes smaller.

    Raises:
        AnabranchError: a key is missing, unknown or has a wrong value.

    """
    file = folder / FILE
    table = read_toml(file)
    check_keys(table, KEYS, file)
    smaller: dict[str, Any] = dict(table.get("quick", {}))
    note = str(smaller.pop("note", ""))
    meters = read_settings(Meters, {**table.get("settings", {}), **(smaller if quick else {})}, file)
    _check(meters, file)
    return meters, note if quick else ""


def _check(meters: Meters, file: Path) -> None:
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
