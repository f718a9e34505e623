"""Evidence of VALO's experiments: accuracy with theory's band, completion times beside the ideal's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.backends.lab.study import LabEvidence
from anabranch.reproduce.claims.measure import CellMeasure
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.records.record import Record
from anabranch.reproduce.values.cells import Cells
from anabranch.reproduce.values.estimate import Estimates, Oracle
from anabranch.reproduce.values.evaluate import evaluate

from . import accuracy, completion
from .expectation import Expectation

MAPE, FCT = Quantity("MAPE"), Quantity("fct")
ALL_PATHS = range(2, 9)
WORKLOADS = ("web-search", "data-mining")
THEORY = "theory.json"


@dataclass(frozen=True)
class AccuracyEvidence(LabEvidence):
    """Cells of accuracy with theory's bands; trials are the seeds (`backend.Evidence`)."""

    theory: Mapping[tuple[str, int], Expectation] = field(default_factory=dict)
    """Expectation by scheme and number of paths, for the weights that were drawn."""

    def estimates(self, measure: CellMeasure) -> Estimates:
        """Estimates of a measure, each with theory's value where it has one."""
        evaluated = evaluate(measure, self.cells)
        scheme, paths = measure.of.get("scheme"), measure.at.get("paths", [])
        if measure.over is not None or len(paths) != 1 or (scheme, paths[0]) not in self.theory:
            return evaluated
        theory = self.theory[str(scheme), paths[0]]
        if evaluated.mean is None:
            return evaluated
        oracle = Oracle(
            evaluated.mean.value, theory.low, theory.high, "shares of the recipe, same weights", theory.mean
        )
        return replace(evaluated, oracle=oracle, repeated="trials")

    def parts(self) -> Mapping[str, bytes]:
        """Files of a record: cells and theory's bands."""
        bands = [{"scheme": scheme, "paths": paths, **asdict(band)} for (scheme, paths), band in self.theory.items()]
        return {**super().parts(), THEORY: (json.dumps(bands, indent=1) + "\n").encode()}


def with_theory(evidence: CellEvidence, record: Record) -> CellEvidence:
    """Evidence of a record with theory's bands.

    Raises:
        AnabranchError: the record is damaged.

    """
    with record.reading():
        bands = {(one.pop("scheme"), one.pop("paths")): Expectation(**one) for one in record.document(THEORY)}
    return AccuracyEvidence(evidence.cells, evidence.requests, theory=bands)


def accuracy_cells(trials: Mapping[int, Sequence[accuracy.Trial]], planned: int = 1) -> Cells:
    """Errors by scheme and number of paths; trials are the seeds, as many as were planned or have run."""
    schemes = list(accuracy.ALL_SCHEMES)
    axes: dict[str, list[Any]] = {"scheme": schemes, "paths": list(trials)}
    seeds = list(range(1, max(planned, *map(len, trials.values())) + 1))
    cells = Cells(axes, seeds, left_out={"paths": [paths for paths in ALL_PATHS if paths not in trials]})
    for paths, own in trials.items():
        for scheme in schemes:
            for seed in seeds:
                if seed <= len(own) and scheme in own[seed - 1].counts:
                    cells.numbers[(scheme, paths), seed, MAPE] = own[seed - 1].mape_pct(scheme)
                else:
                    cells.missing[(scheme, paths), seed] = "it has not run"
    return cells


def completion_cells(trials: Sequence[completion.Trial], workloads: Sequence[str]) -> Cells:
    """Mean completion times by scheme and workload; draws of weights are the seeds."""
    schemes = [completion.IDEAL, *accuracy.ALL_SCHEMES]
    draws = max((sum(trial.workload == workload for trial in trials) for workload in workloads), default=0)
    left_out = {"workload": [workload for workload in WORKLOADS if workload not in workloads]}
    axes: dict[str, list[Any]] = {"scheme": schemes, "workload": list(workloads)}
    cells = Cells(axes, list(range(1, max(1, draws) + 1)), left_out=left_out)
    for workload in workloads:
        own = dict(enumerate((one for one in trials if one.workload == workload), start=1))
        for scheme in schemes:
            for seed in cells.seeds:
                if seed in own and scheme in own[seed].fct_ms:
                    cells.numbers[(scheme, workload), seed, FCT] = own[seed].fct_ms[scheme]
                    cells.unfinished[(scheme, workload), seed, FCT] = (own[seed].unfinished[scheme], own[seed].flows)
                else:
                    cells.missing[(scheme, workload), seed] = "it has not run"
    return cells
