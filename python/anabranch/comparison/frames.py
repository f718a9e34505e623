"""Frames of a comparison: means by scheme and point, and paired differences to the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from anabranch.stats.confidence import EQUAL, HIGHER, LOWER
from anabranch.study.outcome import StudyOutcome, short

if TYPE_CHECKING:
    import polars as pl

STATISTICS = ("slowdown_mean", "slowdown_p99")
"""Statistics of the printed tables and figures."""
VERDICTS = {LOWER: "better", HIGHER: "worse", EQUAL: EQUAL}
"""Verdicts on a slowdown, which is better where it is lower."""


@dataclass(frozen=True)
class Frames:
    """Frames of a study whose first axis is `scheme`."""

    study: StudyOutcome

    @property
    def schemes(self) -> list[str]:
        """Names of the schemes, the baseline first."""
        return [str(name) for name in self.study.axes["scheme"]]

    @property
    def baseline(self) -> str:
        """Scheme that the others are set against."""
        return self.schemes[0]

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per scheme, point and size class: means over seeds with half the width of their intervals."""
        return self.study.summary.rename({axis: short(axis) for axis in self.study.axes})

    @cached_property
    def ratios(self) -> pl.DataFrame:
        """One row per scheme but the baseline, point, size class and statistic: the ratio to the baseline."""
        found = self.study.comparison.rename({axis: short(axis) for axis in self.study.axes})
        return found.with_columns(found["verdict"].replace(VERDICTS))

    @cached_property
    def differences(self) -> pl.DataFrame:
        """As `ratios`, in percent."""
        percent = {"ratio": "difference_pct", "ratio_low": "low_pct", "ratio_high": "high_pct"}
        return self.ratios.with_columns(*((self.ratios[ratio] - 1) * 100 for ratio in percent)).rename(percent)
