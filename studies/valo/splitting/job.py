"""Runs a study: accuracy on all processors, then, on a quiet machine, times."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from anabranch.split.trace import Progress

from . import cost
from .accuracy import sweep
from .connections import generate
from .hash_quality import hash_quality
from .measures import Measured, Measures
from .study import Study
from .theory import Theory
from .validation import validate

DRAWS, DRAWS_QUICK = 50_000, 5000
COST_STEP_UNITS = 1_000_000
"""Length of a step of the cost measurements, in decisions that take about as long."""


@dataclass(frozen=True)
class Outcome:
    """A study that has run."""

    study: Study
    measured: Measured
    measures: Measures
    seconds: float


class _Units:
    """Adds up what threads have done."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total, self._progress = total, progress
        self._lock = threading.Lock()
        self._done = self._decisions = 0

    def decisions(self, number: int) -> None:
        """After a trial."""
        self._add(number, number)

    def step(self) -> None:
        """After a step of the cost measurements."""
        self._add(COST_STEP_UNITS, 0)

    def _add(self, units: int, decisions: int) -> None:
        with self._lock:
            self._done += units
            self._decisions += decisions
            if self._progress is not None:
                self._progress(self._decisions, self._done, self._total)


def outcome(study: Study, measured: Measured, seconds: float) -> Outcome:
    """A study with what it came to, beside theory."""
    theory = Theory(study.seed, study.weight_range, DRAWS_QUICK if study.quick else DRAWS)
    return Outcome(study, measured, Measures(study, measured, theory), seconds)


def run(study: Study, progress: Progress | None = None) -> Outcome:
    """Runs every experiment of a study."""
    began = time.perf_counter()
    units = _Units(_units(study), progress)
    pool = generate(study)
    listed = cost.List(study, pool)
    workers = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)
    try:
        # Filling takes time in the square of the load: beside the trials, which it does not disturb.
        filling = workers.submit(listed.fill)
        validation, hashes = validate(study), hash_quality(study)
        accuracy = {name: sweep(study, pool, one, workers, units.decisions) for name, one in study.sweeps.items()}
        filling.result()
    finally:
        workers.shutdown(cancel_futures=True)
    by_load, by_paths = cost.by_load_and_paths(study, listed, units.step)
    changes = cost.while_changing(study, pool, units.step)
    measured = Measured(pool.design_effect, validation, accuracy, hashes, by_load, by_paths, changes)
    return outcome(study, measured, time.perf_counter() - began)


def _units(study: Study) -> int:
    trials = sum(connections for one in study.sweeps.values() for _, connections in one.points)
    steps = 2 * study.cost.repetitions + len(study.changes.per_second)
    return trials * study.trials * len(study.techniques) + steps * COST_STEP_UNITS
