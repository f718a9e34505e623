"""VALO's gravities broken on purpose: techniques that score by such gravities stand in for it, on the same trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from anabranch.reproduce.backends.backend import Announcement, Context, Evidence
from anabranch.simulate.load_balancers import schemes

from .accuracy import Point
from .evidence import SplitterEvidence
from .job import outcome

VALO = "valo"
STAND_INS = {"gravity-equal": "random", "gravity-plain": "scoring"}
"""Technique whose scores are VALO's under each mutation: equal ones, and the weights themselves."""


@dataclass(frozen=True)
class MutatedSplitting:
    """A study of splitting under VALO's mutations; see `backend.Mutated`."""

    announcement: Announcement | None = None

    @property
    def mutations(self) -> Mapping[str, str]:
        """What happens instead of each mechanism, by name."""
        return {one.name: one.broken for balancer in schemes() if balancer.name == VALO for one in balancer.mutations}

    def run(self, context: Context, whole: Evidence) -> Iterable[tuple[str, Evidence]]:
        """Yields the evidence under each mutation; times and hashes are those of the study as it is."""
        del context
        assert isinstance(whole, SplitterEvidence)
        for name in self.mutations:
            yield name, _broken(whole, STAND_INS[name])


def _broken(whole: SplitterEvidence, stand_in: str) -> SplitterEvidence:
    measured, study = whole.outcome.measured, whole.outcome.study
    labels = [technique.label for technique in study.techniques if technique.name == VALO]
    accuracy = {name: list(_replaced(points, labels, stand_in)) for name, points in measured.accuracy.items()}
    changed = outcome(study, replace(measured, accuracy=accuracy), whole.outcome.seconds)
    return replace(whole, outcome=changed)


def _replaced(points: Iterable[Point], labels: Iterable[str], stand_in: str) -> Iterator[Point]:
    for point in points:
        yield replace(
            point,
            mapes=point.mapes | dict.fromkeys(labels, point.mapes[stand_in]),
            byte_mapes=point.byte_mapes | dict.fromkeys(labels, point.byte_mapes[stand_in]),
        )
