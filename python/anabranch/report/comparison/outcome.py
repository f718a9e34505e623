"""A comparison that has run: frames, a table for people, figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.files.errors import AnabranchError
from anabranch.report.comparison.frames import Frames
from anabranch.simulate.runs.results import Run
from anabranch.simulate.study.criteria import Asked, read_asked
from anabranch.simulate.study.outcome import StudyOutcome, short

if TYPE_CHECKING:
    import polars as pl


FORMATS = (".pdf", ".svg", ".png")
OneOrMore = str | Sequence[str]


def several(names: OneOrMore) -> Sequence[str]:
    """Names, of which there may be one."""
    return [names] if isinstance(names, str) else names


@dataclass(frozen=True)
class Comparison:
    """Results of `ab.compare`; `print` shows tables of what was asked for, with what is decided."""

    study: StudyOutcome
    """The study behind it."""
    asked: Asked = field(default_factory=Asked)
    """Measures, statistics and size classes that tables and figures show."""

    @cached_property
    def frames(self) -> Frames:
        """Frames that tables and figures are made of."""
        return Frames(self.study, self.asked)

    @property
    def folder(self) -> Path:
        """Folder of all results."""
        return self.study.folder

    @property
    def schemes(self) -> list[str]:
        """Names of the schemes, the baseline first."""
        return self.frames.schemes

    @property
    def baseline(self) -> str:
        """Scheme that the others are set against."""
        return self.frames.baseline

    @property
    def table(self) -> pl.DataFrame:
        """One row per scheme, point and size class: means over seeds, each with the half-width of its interval.

        Columns: `scheme`, `load`, `sizes`, `fabric` and `change` if they are compared, `size_class`, `seeds`, `flows`,
        `unfinished`, `slowdown_mean`, `slowdown_mean_ci95`, and the same of `p50` to `p99.9`, of `fct_ns` and
        `throughput_bps`; in rows of all flows `jobs`, `unfinished_jobs`, `job_ns_mean`, ..., and likewise `steps`
        and `requests` (`ttft_ns_mean`, `tpot_ns_mean`, ...).
        """
        return self.frames.table

    @property
    def differences(self) -> pl.DataFrame:
        """One row per scheme but the baseline, point, size class and statistic: the paired difference to the baseline.

        Columns: as in `table`, `statistic`, `difference_pct` with the ends of its 95 % interval `low_pct` and
        `high_pct` (Student's t of the logarithms of the ratios of each seed), `seeds`, `verdict` (`better` or `worse`
        if the interval excludes no difference, `equal` to the last bit, `not paired` if keys of the scheme change which
        flows there are, else `undecided`; null for one seed), and `seeds_needed`, the number of seeds that would decide
        it at the spread seen.
        """
        return self.frames.differences

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow of every run: the columns of `Run.flows` behind those of the axes and `seed`."""
        import polars as pl

        parts = []
        for cell in self.study.cells:
            head = [pl.lit(value).alias(short(axis)) for axis, value in cell.point.items()]
            parts.append(Run(cell.folder).flows.select(*head, pl.lit(cell.seed).alias("seed"), pl.all()))
        return pl.concat(parts, how="vertical_relaxed")

    def plot(
        self,
        path: str | Path | Sequence[str | Path],
        measure: str | None = None,
        *,
        statistics: OneOrMore = (),
        size_classes: OneOrMore = (),
        difference: bool = False,
        columns: int | None = None,
    ) -> None:
        """Draws a measure by load into files that end with .pdf, .svg or .png.

        Args:
            path: The file, or several for the same figure.
            measure: As in `ab.compare`. Default: the first that was asked for there.
            statistics: Rows of the figure, as in `ab.compare`. Default: what was asked for there.
            size_classes: Panels of the figure, as in `ab.compare`. Default: what was asked for there.
            difference: Draw ratios to the baseline's values, paired by seed, instead of values.
            columns: Columns of a paper that the figure spans, 1 (3.5 inches) or 2 (7.16 inches). Default: 9 inches.

        Raises:
            AnabranchError: an unknown name, format or number of columns, or the file cannot be written.

        """
        names = [measure or self.frames.criteria[0].measure.name]
        asked = read_asked(names, several(statistics), several(size_classes), self.study.size_classes)
        shown = replace(
            asked,
            statistics=asked.statistics or self.asked.statistics,
            classes=asked.classes or self.asked.classes,
        )
        criteria = shown.criteria(self.study.summary, self.study.traffic_kinds)
        paths = [Path(path)] if isinstance(path, (str, Path)) else [Path(one) for one in path]
        for one in paths:
            if one.suffix not in FORMATS:
                raise AnabranchError(f"plot: {one}: no format of a figure; end it with .pdf, .svg or .png")
        from anabranch.report.comparison.figures import draw_differences, draw_values
        from anabranch.report.plot.sheet import drawn_on
        from anabranch.report.plot.style import save

        with drawn_on(columns):
            drawn = (draw_differences if difference else draw_values)(self.frames, criteria)
            for one in paths:
                save(drawn, one)

    @property
    def record(self) -> dict[str, Any]:
        """Everything as plain data; a value that is no number is null."""
        return {
            "results": str(self.folder),
            "baseline": self.baseline,
            "axes": self.study.axes,
            "seeds": self.study.seeds,
            "shown": [
                {"measure": one.measure.name, "size_class": one.size_class, "statistic": one.column}
                for one in self.frames.criteria
            ],
            "table": self.table.fill_nan(None).to_dicts(),
            "differences": self.differences.fill_nan(None).to_dicts(),
        }

    def __str__(self) -> str:
        from anabranch.report.comparison.table import text

        return text(self.frames)

    def __repr__(self) -> str:
        return f"Comparison({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        """The tables, for notebooks."""
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"
