"""Lab: experiments over real switches and real TCP on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.reproduce.measure import CellMeasure, read_measure

if TYPE_CHECKING:
    from anabranch.reproduce.backend import Context
    from anabranch.reproduce.backends.lab.study import LabStudy
    from anabranch.reproduce.cell_evidence import CellEvidence
    from anabranch.reproduce.claim import Expected
    from anabranch.reproduce.group import Group
    from anabranch.reproduce.record import Record
    from anabranch.reproduce.spot_check import SpotCheck
    from anabranch.simulate.stats.size_classes import SizeClass

QUANTITIES = ("MAPE", "fct", "goodput", "reordered", "retransmitted", "dropped", "meter error")
"""Quantities that experiments yield, each some of them."""


class LabBackend:
    """See `backend.Backend`."""

    by_name_only = True
    """It needs root, and a machine that does nothing else."""
    modelled = False

    def read_measure(self, given: Mapping[str, Any], classes: Mapping[str, SizeClass]) -> CellMeasure:
        """Reads a measure of cells."""
        return read_measure(given, classes, QUANTITIES)

    def prepare(self, group: Group, quick: bool, output: Path) -> LabStudy:
        """Reads a study; its results go to `output/NAME`, or `output/NAME-quick`."""
        from anabranch.files.toml_document import read_toml
        from anabranch.reproduce.backends.lab.study import LabStudy, read_study
        from anabranch.reproduce.claims_file import load_expected
        from anabranch.reproduce.group import FILE

        file = group.folder / FILE
        expected = load_expected(group.folder, quick, self.read_measure)
        text = file.read_text(encoding="utf-8")
        experiment, settings, note = read_study(file, text, read_toml(file), quick)
        folder = output / f"{group.study}{'-quick' if quick else ''}"
        return LabStudy(group, expected, experiment, settings, folder, note)

    def recall(self, group: Group, record: Record) -> tuple[Expected, CellEvidence]:
        """See `backend.Backend`."""
        from anabranch.reproduce.backends.lab.valo.evidence import with_theory
        from anabranch.reproduce.cell_evidence import recall

        expected, evidence = recall(group, record, self.read_measure)
        return expected, with_theory(evidence, record)

    def spot_check(self, group: Group, record: Record, cells: int, context: Context) -> SpotCheck:
        """See `backend.Backend`."""
        from anabranch.reproduce.spot_check import SpotCheck

        del record, cells, context
        return SpotCheck(group, why_not="its values are of real switches, and repeat only by chance")


BACKEND = LabBackend()
