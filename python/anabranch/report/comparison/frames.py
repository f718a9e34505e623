"""Frames of a comparison: means by scheme and point, and paired differences to the baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from anabranch.simulate.stats.measures import MEASURES
from anabranch.simulate.study.criteria import Asked, Criterion
from anabranch.simulate.study.outcome import StudyOutcome, short
from anabranch.split.stats.confidence import HIGHER, LOWER

if TYPE_CHECKING:
    import polars as pl

NOT_PAIRED = "not paired"
"""Verdict where a scheme's flows are others than the baseline's: nothing is decided seed by seed."""
BETTER, WORSE = "better", "worse"


@dataclass(frozen=True)
class Frames:
    """Frames of a study whose first axis is `scheme`."""

    study: StudyOutcome
    asked: Asked = field(default_factory=Asked)
    """What is shown."""

    @cached_property
    def criteria(self) -> list[Criterion]:
        """What schemes are judged by, in the order of the tables.

        Raises:
            AnabranchError: the study lacks a measure or a class that was asked for.

        """
        return self.asked.criteria(self.study.summary, self.study.traffic_kinds)

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
        import polars as pl

        from anabranch.report.comparison.pairing import unpaired

        renamed = self.study.comparison.rename({axis: short(axis) for axis in self.study.axes})
        higher = [column for one in MEASURES.values() if not one.lower_is_better for column in one.columns()]
        gains = pl.when(pl.col("statistic").is_in(higher)).then(pl.lit(HIGHER)).otherwise(pl.lit(LOWER))
        is_decided = pl.col("verdict").is_in([LOWER, HIGHER])
        judged = pl.when(pl.col("verdict") == gains).then(pl.lit(BETTER)).otherwise(pl.lit(WORSE))
        renamed = renamed.with_columns(pl.when(is_decided).then(judged).otherwise(pl.col("verdict")).alias("verdict"))
        others = unpaired(self.study)
        if not others:
            return renamed
        at = [short(axis) for axis in self.study.axes]
        is_paired = pl.Series([row not in others for row in renamed.select(at).rows()], dtype=pl.Boolean)
        intervals = ("ratio_low", "ratio_high", "seeds_needed")
        return renamed.with_columns(
            *(pl.when(is_paired).then(pl.col(name)).alias(name) for name in intervals),
            pl.when(is_paired).then(pl.col("verdict")).otherwise(pl.lit(NOT_PAIRED)).alias("verdict"),
        )

    @cached_property
    def differences(self) -> pl.DataFrame:
        """As `ratios`, in percent."""
        percent = {"ratio": "difference_pct", "ratio_low": "low_pct", "ratio_high": "high_pct"}
        return self.ratios.with_columns(*((self.ratios[ratio] - 1) * 100 for ratio in percent)).rename(percent)
