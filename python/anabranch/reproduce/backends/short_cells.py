"""Backend of studies that are short: a spot check runs all of their cells again."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from anabranch.reproduce.backends.backend import Context, Prepared
from anabranch.reproduce.backends.cell_evidence import CellBackend, CellEvidence
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.records.cell_record import read
from anabranch.reproduce.records.record import Record
from anabranch.reproduce.records.spot_check import SpotCheck, compared


class ShortStudy(Prepared, Protocol):
    """A study, ready to run, whose values stand in cells."""

    def run(self, context: Context) -> CellEvidence:
        """Measures all of its cells."""


class ShortCellBackend(CellBackend):
    """Backend whose cells together take no longer than some of a simulator's."""

    modelled = True

    def prepare(self, group: Group, quick: bool, output: Path) -> ShortStudy:
        """Reads a study."""
        raise NotImplementedError

    def spot_check(self, group: Group, record: Record, cells: int, context: Context) -> SpotCheck:
        """Runs all cells of a record again."""
        del cells
        study = self.prepare(group, quick=False, output=group.folder)
        kept = read(record, study.expected.quantities)
        return compared(group, study.run(context).cells, kept, len({(cell, seed) for cell, seed, _ in kept.numbers}))
