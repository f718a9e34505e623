"""Evidence of a study of splitting: estimates beside theory, the paper's figures, and every number in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.claims.claim import Claim
from anabranch.reproduce.values.estimate import Band, Estimate, Estimates, Oracle, Spread
from anabranch.reproduce.values.ranking import Ranking
from anabranch.split.stats.confidence import jackknife_half_width

from .job import Outcome
from .measure import ValueMeasure
from .measures import Sample, ratio_oracle
from .single import Single
from .theory import Floats, jensen_random_pct

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

    usable = recordable = True

    def estimates(self, measure: ValueMeasure) -> Estimates:
        """Estimates of a measure, from single values or from trials."""
        singles = [self.outcome.measures.single(name) for name in (*measure.of, *filter(None, [measure.over]))]
        known = [one for one in singles if one is not None]
        return self._of_singles(measure, known) if len(known) == len(singles) else self._of_trials(measure)

    def _of_singles(self, measure: ValueMeasure, singles: Sequence[Single]) -> Estimates:
        """Counts, hashes and times; a ratio lies between the ratios of the far ends."""
        study, first = self.outcome.study, singles[0]
        one = Estimate(first.value, first.low, first.high) if measure.over is None else _ratio(first, singles[-1])
        timed = any(name.startswith(TIMED) and "/memory" not in name for name in measure.of)
        return Estimates(
            points=[one],
            mean=one,
            missing=[],
            seeds=study.cost.repetitions if timed else 0,
            oracle=first.oracle if measure.over is None else None,
            spread=first.spread if measure.over is None else None,
            smaller=SMALLER if study.quick and measure.of[0].startswith("cost-") else "",
            timed=timed,
            repeated="repetitions",
        )

    def _of_trials(self, measure: ValueMeasure) -> Estimates:
        """Errors of splits, over all weights: trials that ran, moved by what theory knows of the weights they drew."""
        measures, study = self.outcome.measures, self.outcome.study
        if measures.worst(measure.of[0]):
            return self._worst(measure)
        of = [_series(measures.samples(name)) for name in measure.of]
        value, without = float(np.mean([one for one, _ in of])), np.mean([rest for _, rest in of], axis=0)
        if measure.over is not None:
            below, below_without = _series(measures.samples(measure.over))
            value, without = value / below, without / below_without
        half = jackknife_half_width(without)
        one = Estimate(value, None, None) if half is None else Estimate(value, value - half, value + half)
        return Estimates(
            points=[one],
            mean=one,
            missing=[],
            seeds=study.trials,
            oracle=self._oracle(measure),
            spread=self._spread(measure, value, half),
            connections=measures.connections(measure.of[0]),
            repeated="trials",
        )

    def _worst(self, measure: ValueMeasure) -> Estimates:
        """The worst of the trials, which has no interval; as many trials as the paper's are spread as theory has it."""
        measures, study = self.outcome.measures, self.outcome.study
        samples, oracle = measures.samples(measure.of[0]), self._oracle(measure)
        one = Estimate(float(max(sample.ours.max() for sample in samples)), None, None)
        whole = study.trials >= study.published_trials
        band = measures.band(measure.of[0], measure.weights) if whole else None
        return Estimates(
            points=[one],
            mean=one,
            missing=[],
            seeds=study.trials,
            oracle=oracle,
            spread=None if band is None else Spread(band, 0.0),
            smaller="" if whole else f"the worst of {study.trials} trials; the paper has {study.published_trials}",
            connections=measures.connections(measure.of[0]),
            repeated="trials",
        )

    def _oracle(self, measure: ValueMeasure) -> Oracle | None:
        """Theory on the weights that the trials drew; None without a model of one of the techniques."""
        of = [self.outcome.measures.oracle(name) for name in measure.of]
        below = None if measure.over is None else self.outcome.measures.oracle(measure.over)
        known = [one for one in of if one is not None]
        if len(known) < len(of) or (measure.over is not None and below is None):
            return None
        return ratio_oracle(known, below)

    def _spread(self, measure: ValueMeasure, value: float, half: float | None) -> Spread | None:
        """Band of as many trials as the paper has, at our mean; Jensen's bound where scoring's error is given."""
        if half is None or measure.over is not None:
            return None
        if measure.scoring is not None:
            bound = jensen_random_pct(measure.scoring)
            return Spread(Band(bound, bound, inf), 0.0)
        band = self.outcome.measures.band(measure.of[0], measure.weights)
        if band is None:
            return None
        # Other weights, and bytes, have no trials of ours: theory's band stands where it is.
        own = measure.weights is None and "/bytes" not in measure.of[0]
        return Spread(band.moved(value - band.value), half) if own else Spread(band, 0.0)

    def rivals(self, measure: ValueMeasure) -> Iterable[tuple[str, ValueMeasure]]:
        """None: claims name techniques by their values, and no value of all is asked for."""
        del measure
        return ()

    def ranking(self, measure: ValueMeasure) -> Ranking:
        """Refuses: values of splitting are compared in pairs.

        Raises:
            AnabranchError: always.

        """
        raise AnabranchError(f"measure: {measure.of[0]}: the splitter ranks no schemes; compare two with `rank`")

    def figures(self) -> Iterable[tuple[str, str, Figure]]:
        """The paper's figures with our numbers."""
        from .figures import draw

        return draw(self.outcome, self.claims)

    def measured(self) -> Iterable[tuple[str, int, str, float | None]]:
        """No rows: accuracy.csv, cost.csv and changes.csv have every number."""
        return ()

    def files(self) -> Mapping[str, str]:
        """Tables of accuracy, cost and changes as CSV, by name."""
        from .output import files

        return files(self.outcome)

    def parts(self) -> Mapping[str, bytes]:
        """The outcome as the files of a record."""
        from . import outcome_record

        return outcome_record.parts(self.outcome)

    def details(self) -> str:
        """Bytes beside connections, and hashes."""
        from .details import details

        return details(self.outcome)

    def show(self, console: Console) -> None:
        """Prints nothing: all is in the claims."""


def _series(samples: Sequence[Sample]) -> tuple[float, Floats]:
    """Mean over points and trials, and the same without each trial in turn."""
    values, without = [], []
    for sample in samples:
        ours = sample.ours if sample.expected is None else sample.ours - sample.expected + sample.over_all
        values.append(float(ours.mean()))
        without.append((ours.sum() - ours) / (ours.size - 1) if ours.size > 1 else ours)
    return float(np.mean(values)), np.asarray(np.mean(without, axis=0), dtype=np.float64)


def _ratio(above: Single, below: Single) -> Estimate:
    """A ratio of two values, each somewhere between its ends."""
    value = above.value / below.value
    if above.low is None or above.high is None or below.low is None or below.high is None:
        return Estimate(value, None, None)
    return Estimate(value, above.low / below.high, above.high / below.low)
