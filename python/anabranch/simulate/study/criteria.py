"""Criteria: the numbers by which the points of a study are judged, as people ask for them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import choose, nearest
from anabranch.simulate.stats.fct import QUANTILES, STATISTICS
from anabranch.simulate.stats.measures import FCT, JOB, MEASURES, OF_REQUESTS, SLOWDOWN, STEP, Measure
from anabranch.simulate.stats.size_classes import ALL_FLOWS

if TYPE_CHECKING:
    import polars as pl

ALL = ALL_FLOWS.label
EACH_CLASS = "each"
"""Name of all flows and every class of them."""
OF_JOBS = ("incast", "ring-all-reduce", "parameter-server", "graph")
"""Kinds of traffic whose flows belong to jobs."""


@dataclass(frozen=True)
class Criterion:
    """A statistic of a measure, of the flows of a size class."""

    measure: Measure
    statistic: str
    size_class: str = ALL

    @property
    def column(self) -> str:
        """Column of a study's tables."""
        return f"{self.measure.column}_{self.statistic}"

    @property
    def subject(self) -> str:
        """Measure and class in words: `FCT of flows up to 100 KB`, `job time`."""
        return (
            f"{self.measure.words} of {class_words(self.size_class)}" if self.measure.by_class else self.measure.words
        )

    @property
    def words(self) -> str:
        """The criterion in words: `p99 FCT of flows up to 100 KB`."""
        return f"{self.statistic} {self.subject}"

    @property
    def needed(self) -> int:
        """Least number of values of a run that have the statistic."""
        level = QUANTILES.get(self.statistic)
        return 1 if level is None else math.ceil(1 / (1 - level) - 1e-9)


def class_words(label: str) -> str:
    """Flows of a size class: `all flows`, `flows up to 100 KB`, `flows of 100 KB - 10 MB`."""
    if label == ALL:
        return "all flows"
    return f"flows {label}" if label[:1].isalpha() else f"flows of {label}"


@dataclass(frozen=True)
class Asked:
    """Measures, statistics and size classes by name; the usual ones where there are none."""

    measures: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    def criteria(self, summary: pl.DataFrame, kinds: Collection[str]) -> list[Criterion]:
        """Criteria of a study, class by class of each measure.

        Usual measures are the slowdown, for flows that belong to no job, and the times of steps and of jobs; usual
        statistics are those of the measure; the usual class is that of all flows.

        Args:
            summary: Its summary over seeds.
            kinds: Kinds of its traffic.

        Raises:
            AnabranchError: the study has no such measure or class.

        """
        usual = [*([] if kinds and not set(kinds).difference(OF_JOBS) else [SLOWDOWN]), *measures_of_jobs(summary)]
        measures = [MEASURES[name] for name in self.measures] or usual or [SLOWDOWN]
        for measure in measures:
            _check_present(summary, measure)
        labels = summary["size_class"].unique(maintain_order=True).to_list()
        classes = self.classes or (ALL,)
        for label in classes:
            if label not in labels:
                raise AnabranchError(f"class: {label}: the study has no such class; use one of {', '.join(labels)}")
        return [
            Criterion(measure, statistic, label)
            for measure in measures
            for label in (classes if measure.by_class else (ALL,))
            for statistic in self.statistics or measure.usual
        ]

    def of_report(self, summary: pl.DataFrame) -> list[Criterion]:
        """Criteria of a report: as usual completion times and slowdowns of each class, and the times of jobs.

        Raises:
            AnabranchError: the study has no such measure or class.

        """
        names = tuple(one.name for one in (FCT, SLOWDOWN, *measures_of_jobs(summary)))
        labels = tuple(summary["size_class"].unique(maintain_order=True))
        return replace(self, measures=self.measures or names, classes=self.classes or labels).criteria(summary, ())


def read_asked(
    measures: Sequence[str] = (), statistics: Sequence[str] = (), classes: Sequence[str] = (), known: Sequence[str] = ()
) -> Asked:
    """Reads what people ask for; `known` are the labels of the size classes.

    Raises:
        AnabranchError: a name is unknown.

    """
    for name in measures:
        choose(name, list(MEASURES), "measure")
    for name in statistics:
        choose(name, STATISTICS, "statistic")
    labels = {_squeezed(label): label for label in known}
    read: list[str] = []
    for name in classes:
        if name == EACH_CLASS:
            read += known
        elif _squeezed(name) in labels:
            read.append(labels[_squeezed(name)])
        else:
            raise AnabranchError(f"class: {name}: unknown; {nearest(name, [EACH_CLASS, *known])}")
    return Asked(tuple(dict.fromkeys(measures)), tuple(dict.fromkeys(statistics)), tuple(dict.fromkeys(read)))


def measures_of_jobs(summary: pl.DataFrame) -> list[Measure]:
    """Measures of jobs that a study has: of requests where there are some, of steps where jobs have several."""
    if "jobs" not in summary.columns:
        return []
    jobs, steps = summary["jobs"].sum(), summary["steps"].sum()
    served = "requests" in summary.columns and summary["requests"].sum()
    return [*(OF_REQUESTS if served else []), *([STEP] if steps > jobs else []), *([JOB] if jobs else [])]


def _check_present(summary: pl.DataFrame, measure: Measure) -> None:
    if not set(summary.columns).issuperset(measure.columns()):
        raise AnabranchError(
            f"measure: {measure.name}: the tables were written by an earlier version; hint: give the command that made "
            "them once more; it repeats no run"
        )
    for needing, counted, hint in (
        (STEP, "steps", 'traffic of kind = "graph" has steps'),
        (JOB, "jobs", "incasts, collectives and workload graphs are jobs"),
        *((one, "requests", 'traffic of kind = "graph" with `inference` has requests') for one in OF_REQUESTS),
    ):
        if measure is needing and not summary[counted].sum():
            raise AnabranchError(f"measure: {measure.name}: no run has {counted}; hint: {hint}")


def _squeezed(text: str) -> str:
    return "".join(text.lower().split())
