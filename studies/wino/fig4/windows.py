"""Errors of meters, window by window: what the studies of the simulator's meters and of a switch's have alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends.experiment_settings import check_whole_numbers
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.values.cells import Cells

ERROR = Quantity("meter error")


@dataclass(frozen=True)
class Windows:
    """Axes, and the parts of the measured time that stand in the place of seeds."""

    rates_kbps: tuple[int, ...]
    """Rates of meters: the axis `rate`."""
    windows_ms: tuple[int, ...]
    """Windows that throughput is measured in: the axis `window`."""
    bursts_ms: tuple[int, ...]
    """Depths of the bucket, as the time that its rate takes for them; two frames at least. The axis `burst`."""
    parts: int

    def __post_init__(self) -> None:
        check_whole_numbers(self)

    def check_duration(self, name: str, value: int, duration_ms: int) -> None:
        """Refuses a time in which not every part has a window of the longest kind.

        Raises:
            AnabranchError: it is too short.

        """
        if duration_ms < (least := max(self.windows_ms) * self.parts):
            raise AnabranchError(
                f"settings.{name}: {value}: {self.parts} parts with a window of {max(self.windows_ms)} ms each take "
                f"{least} ms; give that, or smaller windows"
            )

    def cells(self) -> Cells:
        """Cells of all meters, as yet without numbers."""
        axes = {"rate": self.rates_kbps, "window": self.windows_ms, "burst": self.bursts_ms}
        return Cells({axis: list(values) for axis, values in axes.items()}, list(range(1, self.parts + 1)))

    def keep(
        self, cells: Cells, rate_kbps: int, burst_ms: int, errors: Callable[[int], npt.NDArray[np.float64]]
    ) -> None:
        """Puts a meter's mean error in each part into its cells, given the errors of all windows of a length."""
        for window_ms in self.windows_ms:
            cell = cells.cell({"rate": rate_kbps, "window": window_ms, "burst": burst_ms})
            for part, some in enumerate(np.array_split(errors(window_ms), self.parts), start=1):
                cells.numbers[cell, part, ERROR] = float(some.mean())

    def leave_out(self, cells: Cells, rate_kbps: int, burst_ms: int, reason: str) -> None:
        """Says why a meter has no numbers."""
        for window_ms in self.windows_ms:
            cell = cells.cell({"rate": rate_kbps, "window": window_ms, "burst": burst_ms})
            cells.missing.update({(cell, part): reason for part in cells.seeds})
