"""Dispatching cycles over links of unlike rates, packet by packet: the backend of the study."""

from __future__ import annotations

from pathlib import Path

from anabranch.reproduce.backends.backend import Prepared
from anabranch.reproduce.backends.experiment_settings import read_study
from anabranch.reproduce.backends.short_cells import ShortCellBackend
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import Group

from .cycle_study import BEYOND_QUOTA, OUT_OF_TURN, CycleStudy, Settings
from .mutated import MutatedCycle


class Cycle(ShortCellBackend):
    """Dispatching cycles over links of unlike rates, packet by packet."""

    quantities = (OUT_OF_TURN.name, BEYOND_QUOTA.name)

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
