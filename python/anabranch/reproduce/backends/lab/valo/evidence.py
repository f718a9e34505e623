"""Evidence of VALO's experiment: accuracy with theory's band, completion times beside the ideal's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.reproduce.backends.lab.study import LabEvidence
from anabranch.reproduce.backends.lab.valo import accuracy, completion
from anabranch.reproduce.backends.lab.valo.expectation import Expectation
from anabranch.reproduce.cell_evidence import CellEvidence
from anabranch.reproduce.cells import Cells
from anabranch.reproduce.estimate import Estimates, Oracle
from anabranch.reproduce.evaluate import evaluate
from anabranch.reproduce.measure import CellMeasure
from anabranch.reproduce.quantity import Quantity

MAPE, FCT = Quantity("MAPE"), Quantity("fct")
ALL_PATHS = range(2, 9)
WORKLOADS = ("web-search", "data-mining")


@dataclass(frozen=True)
class ValoEvidence(LabEvidence):
    """See `backend.Evidence`; `cells` are accuracies."""

    completion: Cells = field(default_factory=lambda: Cells({}, []))
    expected: Mapping[tuple[str, int], Expectation] = field(default_factory=dict)
    """Theory by scheme and number of paths, for the weights that were drawn."""

    def estimates(self, measure: CellMeasure) -> Estimates:
        """See `backend.Evidence`."""
        if measure.quantity.name != MAPE.name:
            return evaluate(measure, self.completion)
        found = evaluate(measure, self.cells)
        scheme, paths = measure.of.get("scheme"), measure.at.get("paths", [])
        if measure.over is not None or len(paths) != 1 or (scheme, paths[0]) not in self.expected:
            return found
        theory = self.expected[str(scheme), paths[0]]
        if found.mean is None:
            return found
        oracle = Oracle(found.mean.value, theory.low, theory.high, "shares of the recipe, same weights", theory.mean)
        return replace(found, oracle=oracle, repeated="trials")

    def measured(self) -> Iterable[tuple[str, int, str, float | None]]:
        """See `backend.Evidence`."""
        yield from super().measured()
        yield from CellEvidence(self.completion).measured()


def accuracy_cells(trials: Mapping[int, Sequence[accuracy.Trial]]) -> Cells:
    """Errors by scheme and number of paths; trials are the seeds."""
    schemes = list(next(iter(trials.values()))[0].counts)
    axes: dict[str, list[Any]] = {"scheme": schemes, "paths": list(trials)}
    seeds = list(range(1, min(map(len, trials.values())) + 1))
    made = Cells(axes, seeds, left_out={"paths": [paths for paths in ALL_PATHS if paths not in trials]})
    for paths, own in trials.items():
        for scheme in schemes:
            for seed in seeds:
                made.numbers[(scheme, paths), seed, MAPE] = own[seed - 1].mape_pct(scheme)
    return made


def completion_cells(trials: Sequence[completion.Trial]) -> Cells:
    """Mean completion times by scheme and workload; draws of weights are the seeds."""
    workloads = list(dict.fromkeys(trial.workload for trial in trials))
    schemes = list(trials[0].fct_ms)
    draws = len(trials) // len(workloads)
    left_out = {"workload": [workload for workload in WORKLOADS if workload not in workloads]}
    made = Cells({"scheme": schemes, "workload": workloads}, list(range(1, draws + 1)), left_out=left_out)
    for workload in workloads:
        for seed, trial in enumerate((one for one in trials if one.workload == workload), start=1):
            for scheme in schemes:
                made.numbers[(scheme, workload), seed, FCT] = trial.fct_ms[scheme]
                made.unfinished[(scheme, workload), seed, FCT] = (trial.unfinished[scheme], trial.flows)
    return made
