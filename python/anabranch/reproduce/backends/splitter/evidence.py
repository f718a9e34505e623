"""Evidence of a study of splitting: estimates with theory's bands, the paper's figures, and every number in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from anabranch.errors import AnabranchError
from anabranch.reproduce.backends.splitter.job import Outcome
from anabranch.reproduce.backends.splitter.measure import ValueMeasure
from anabranch.reproduce.backends.splitter.theory import jensen_random_pct
from anabranch.reproduce.claim import Claim
from anabranch.reproduce.estimate import Band, Estimate, Estimates
from anabranch.reproduce.ranking import Ranking
from anabranch.stats.confidence import half_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

TIMED = ("cost-", "changes/")
SMALLER = "--quick measures smaller loads than the paper"


@dataclass(frozen=True)
class SplitterEvidence:
    """Values of a study of splitting; see `backend.Evidence`."""

    outcome: Outcome
    claims: Sequence[Claim]

    usable = True

    def estimates(self, measure: ValueMeasure) -> Estimates:
        """See `backend.Evidence`."""
        measures, study = self.outcome.measures, self.outcome.study
        value = float(np.mean([measures.value(name) for name in measure.of]))
        value = value if measure.over is None else value / measures.value(measure.over)
        half = self._half_width(measure, value)
        trials = measures.trials(measure.of[0]) is not None
        ends = (None, None) if half is None else (value - half, value + half)
        return Estimates(
            points=[Estimate(value, *ends)],
            mean=Estimate(value, *ends),
            missing=[],
            seeds=study.trials if trials else 0,
            theory=self._theory(measure),
            connections=measures.connections(measure.of[0]),
            smaller=SMALLER if study.quick and measure.of[0].startswith("cost-") else "",
            timed=any(name.startswith(TIMED) and "/memory" not in name for name in measure.of),
        )

    def _half_width(self, measure: ValueMeasure, value: float) -> float | None:
        """Half the interval over trials; of a ratio of means by its residuals (Cochran, Sampling Techniques, 6.4)."""
        columns = [self.outcome.measures.trials(name) for name in measure.of]
        found = [column for column in columns if column is not None]
        if len(found) < len(columns):
            return None
        ours = np.asarray(np.mean(found, axis=0), dtype=np.float64)
        if measure.over is None:
            return half_width(ours)
        other = self.outcome.measures.trials(measure.over)
        if other is None:
            return None
        half = half_width(ours - value * other)
        return None if half is None else half / float(other.mean())

    def _theory(self, measure: ValueMeasure) -> Band | None:
        """Expectation of theory; of a ratio of means, without a spread."""
        measures = self.outcome.measures
        if measure.scoring is not None:
            bound = jensen_random_pct(measure.scoring)
            return Band(bound, bound, inf)
        if measure.over is None:
            return measures.band(measure.of[0], measure.weights)
        bands = [measures.band(name) for name in (*measure.of, measure.over)]
        values = [band.value for band in bands if band is not None]
        if len(values) < len(bands):
            return None
        ratio = float(np.mean(values[:-1])) / values[-1]
        return Band(ratio, ratio, ratio)

    def ranking(self, measure: ValueMeasure) -> Ranking:
        """Refuses: values of splitting are compared in pairs.

        Raises:
            AnabranchError: always.

        """
        raise AnabranchError(f"measure: {measure.of[0]}: the splitter ranks no schemes; compare two with `rank`")

    def figures(self) -> Iterable[tuple[str, str, Figure]]:
        """The paper's figures with our numbers."""
        from anabranch.reproduce.backends.splitter.figures import draw

        return draw(self.outcome, self.claims)

    def measured(self) -> Iterable[tuple[str, int, str, float | None]]:
        """Nothing: accuracy.csv, cost.csv and changes.csv have every number."""
        return ()

    def files(self) -> Mapping[str, str]:
        """See `backend.Evidence`."""
        from anabranch.reproduce.backends.splitter.output import files

        return files(self.outcome)

    def details(self) -> str:
        """Bytes beside connections, and hashes."""
        from anabranch.reproduce.backends.splitter.details import details

        return details(self.outcome)

    def show(self, console: Console) -> None:
        """Prints nothing: all is in the claims."""
