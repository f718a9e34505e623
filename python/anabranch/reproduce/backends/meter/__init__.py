"""Meters: how exactly a token bucket keeps a rate, window by window (the Wino paper's Fig. 4)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.reproduce.measure import CellMeasure, read_measure

if TYPE_CHECKING:
    from anabranch.reproduce.backend import Context
    from anabranch.reproduce.backends.meter.study import MeterStudy
    from anabranch.reproduce.cell_evidence import CellEvidence
    from anabranch.reproduce.claim import Expected
    from anabranch.reproduce.group import Group
    from anabranch.reproduce.record import Record
    from anabranch.reproduce.spot_check import SpotCheck
    from anabranch.simulate.stats.size_classes import SizeClass

QUANTITIES = ("meter error",)


class MeterBackend:
    """See `backend.Backend`."""

    by_name_only = False
    modelled = True

    def read_measure(self, given: Mapping[str, Any], classes: Mapping[str, SizeClass]) -> CellMeasure:
        """Reads a measure of cells."""
        return read_measure(given, classes, QUANTITIES)

    def prepare(self, group: Group, quick: bool, output: Path) -> MeterStudy:
        """Reads a study; it keeps nothing for later runs."""
        del output
        from anabranch.reproduce.backends.meter.study import MeterStudy, read_study
        from anabranch.reproduce.claims_file import load_expected

        expected = load_expected(group.folder, quick, self.read_measure)
        return MeterStudy(group, expected, *read_study(group.folder, quick))

    def recall(self, group: Group, record: Record) -> tuple[Expected, CellEvidence]:
        """See `backend.Backend`."""
        from anabranch.reproduce.cell_evidence import recall

        return recall(group, record, self.read_measure)

    def spot_check(self, group: Group, record: Record, cells: int, context: Context) -> SpotCheck:
        """See `backend.Backend`; all of them, which takes no longer."""
        from anabranch.reproduce.cell_record import read
        from anabranch.reproduce.spot_check import compared

        del cells
        study = self.prepare(group, quick=False, output=group.folder)
        kept = read(record, study.expected.quantities)
        return compared(group, study.run(context).cells, kept, len({(cell, seed) for cell, seed, _ in kept.numbers}))


BACKEND = MeterBackend()
