"""Evidence of a study that has no record: every claim is still to be run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.values.cells import Cells
from anabranch.reproduce.values.estimate import Estimates
from anabranch.reproduce.values.ranking import Ranking


@dataclass(frozen=True)
class Unrecorded(CellEvidence):
    """Evidence of a study without a record: it has no values (`backend.Evidence`)."""

    why: str = ""

    def estimates(self, measure: Any) -> Estimates:
        """No estimates, with the reason."""
        del measure
        return Estimates([], None, [self.why], 0)

    def ranking(self, measure: Any) -> Ranking:
        """No ranking, with the reason."""
        del measure
        return Ranking([], [], [], missing=[self.why], pairs=0)


def unrecorded(group: Group) -> Unrecorded:
    """Evidence of a group without a record."""
    return Unrecorded(Cells({}, []), why=f"no record; `anabranch reproduce {group.label} --record` makes one")
