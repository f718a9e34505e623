"""Dispatching cycles over links of unlike rates, packet by packet: the backend of the study."""

from __future__ import annotations

from pathlib import Path

from anabranch.reproduce.backends.backend import Context, Prepared
from anabranch.reproduce.backends.cell_evidence import CellBackend
from anabranch.reproduce.backends.experiment_settings import read_study
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.records.cell_record import read
from anabranch.reproduce.records.record import Record
from anabranch.reproduce.records.spot_check import SpotCheck, compared

from .cycle_study import BEYOND_QUOTA, OUT_OF_TURN, CycleStudy, Settings
from .mutated import MutatedCycle


class Cycle(CellBackend):
    """Dispatching cycles over links of unlike rates, packet by packet."""

    quantities = (OUT_OF_TURN.name, BEYOND_QUOTA.name)
    modelled = True

    def prepare(self, group: Group, quick: bool, output: Path) -> CycleStudy:
        """Reads a study; it keeps nothing for later runs."""
        del output
        expected = load_expected(group.folder, quick, self.read_measure)
        settings, note = read_study(group.folder, Settings, quick)
        return CycleStudy(group, expected, settings, note)

    def mutated(self, prepared: Prepared) -> MutatedCycle:
        """A study under every mutation of its schemes."""
        assert isinstance(prepared, CycleStudy)
        return MutatedCycle(prepared)

    def spot_check(self, group: Group, record: Record, cells: int, context: Context) -> SpotCheck:
        """Runs all cells of a record again, which takes no longer than some."""
        del cells
        study = self.prepare(group, quick=False, output=group.folder)
        kept = read(record, study.expected.quantities)
        return compared(group, study.run(context).cells, kept, len({(cell, seed) for cell, seed, _ in kept.numbers}))
