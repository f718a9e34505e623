"""Tables of the page on collectives: load balancers under three transports, from the records of the known cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anabranch.cli.reference.markdown import code, replace_block, table
from anabranch.reproduce.backends.backend import Evidence
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.claims.measure import SCHEME_AXIS, CellMeasure, Labels
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.selection import select
from anabranch.reproduce.session import recall
from anabranch.reproduce.values.estimate import Estimate

COLLECTIVES = {"known/ai-allreduce": "all-reduce", "known/ai-alltoall": "all-to-all"}
TRAINING = "known/ai-training"
"""A whole step, of which collectives are a part: it has tables of its own."""
FABRICS = ("whole", "dead-link", "slow-link")
JOB_TIME = Quantity("job time")
BASE = "ecmp"


@dataclass(frozen=True)
class Case:
    """One collective over one fabric under one transport."""

    evidence: CellEvidence
    fabric: str
    transport: str

    @property
    def schemes(self) -> Sequence[str]:
        """Load balancers that were run."""
        return self.evidence.cells.axes[SCHEME_AXIS]

    def time_ms(self, scheme: str) -> Estimate:
        """Mean job time over seeds."""
        return self._estimate({SCHEME_AXIS: scheme}, None)

    def ratio(self, scheme: str, over: str) -> Estimate:
        """Job time of one scheme over that of another, paired by seed."""
        return self._estimate({SCHEME_AXIS: scheme}, {SCHEME_AXIS: over})

    def best(self) -> str:
        """Scheme of the least mean job time."""
        return min(self.schemes, key=lambda scheme: self.time_ms(scheme).value)

    def _estimate(self, of: Labels, over: Labels | None) -> Estimate:
        at = {"fabric": [self.fabric], "transport": [self.transport]}
        form = "ratio" if over else "value"
        mean = self.evidence.estimates(CellMeasure(JOB_TIME, of=of, over=over, form=form, at=at)).mean
        if mean is None:
            raise ValueError(f"{self.fabric}, {self.transport}: {of}: the record has no job time")
        return mean


def page(written: str) -> str:
    """The page `which-ai.md` with its tables anew."""
    recorded = recall(select([*COLLECTIVES, TRAINING], with_records=True))
    studies = {one.group.label: _cells(one.evidence) for one in recorded}
    for label, evidence in studies.items():
        written = replace_block(written, label, "\n".join(_by_fabric(evidence)))
    return replace_block(written, "worst cases", _worst_cases({label: studies[label] for label in COLLECTIVES}))


def _cells(evidence: Evidence) -> CellEvidence:
    assert isinstance(evidence, CellEvidence)
    return evidence


def _by_fabric(evidence: CellEvidence) -> Iterator[str]:
    """A table for each fabric: job time, and its ratio to ECMP's under the same transport."""
    transports = evidence.cells.axes["transport"]
    for fabric in FABRICS:
        cases = [Case(evidence, fabric, transport) for transport in transports]
        rows = [
            (code(scheme), *(f"{case.time_ms(scheme).value:.3g} ms, {_over(case, scheme)}" for case in cases))
            for scheme in cases[0].schemes
        ]
        yield f"**{fabric}**\n\n{table((SCHEME_AXIS, *transports), rows)}"


def _over(case: Case, scheme: str) -> str:
    return "1x" if scheme == BASE else _ratio(case.ratio(scheme, BASE))


def _worst_cases(studies: Mapping[str, CellEvidence]) -> str:
    """For each scheme and transport: where it loses most to the best scheme under that transport, and how much."""
    some = next(iter(studies.values())).cells.axes
    columns = {transport: _losses(studies, transport) for transport in some["transport"]}
    rows = [(code(scheme), *(losses[scheme] for losses in columns.values())) for scheme in some[SCHEME_AXIS]]
    return table((SCHEME_AXIS, *columns), rows)


def _losses(studies: Mapping[str, CellEvidence], transport: str) -> dict[str, str]:
    worst: dict[str, tuple[float, str]] = {}
    for label, evidence in studies.items():
        for fabric in FABRICS:
            case = Case(evidence, fabric, transport)
            best = case.best()
            for scheme in case.schemes:
                lost = case.ratio(scheme, best)
                text = f"{_ratio(lost)}, {COLLECTIVES[label]}, {fabric}"
                worst[scheme] = max(worst.get(scheme, (0.0, "")), (lost.value, text))
    return {scheme: text for scheme, (_, text) in worst.items()}


def _ratio(one: Estimate) -> str:
    """With its interval: `0.42x (0.40 to 0.45)`."""
    if one.low is None or one.high is None or one.low == one.high:
        return f"{one.value:.2f}x"
    return f"{one.value:.2f}x ({one.low:.2f} to {one.high:.2f})"
