"""Simulator: the cells of a study run as packets over a network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.reproduce.backends.cell_evidence import CellBackend
from anabranch.reproduce.backends.simulator.measured import read_simulated
from anabranch.reproduce.claims.measure import CellMeasure

if TYPE_CHECKING:
    from anabranch.reproduce.backends.backend import Context, Prepared
    from anabranch.reproduce.backends.simulator.mutated import MutatedStudy
    from anabranch.reproduce.backends.simulator.simulate import SimulatorStudy
    from anabranch.reproduce.claims.group import Group
    from anabranch.reproduce.records.record import Kept, Record
    from anabranch.reproduce.records.spot_check import SpotCheck
    from anabranch.simulate.stats.size_classes import SizeClass


class Simulator(CellBackend):
    """Runs cells, and reads quantities of their flows, ports and queues."""

    modelled = True

    def read_measure(self, given: Mapping[str, Any], classes: Mapping[str, SizeClass]) -> CellMeasure:
        """Reads a measure of cells."""
        return read_simulated(given, classes)

    def prepare(self, group: Group, quick: bool, output: Path) -> SimulatorStudy:
        """Reads a study; its cells stand below `output/cells`, and stay for later runs."""
        from anabranch.reproduce.backends.simulator.simulate import CELLS, prepare

        return prepare(group, output / CELLS, quick)

    def mutated(self, prepared: Prepared) -> MutatedStudy | None:
        """A study under the mutations of the load balancers of its cells."""
        from anabranch.reproduce.backends.simulator.mutated import mutated
        from anabranch.reproduce.backends.simulator.simulate import SimulatorStudy

        assert isinstance(prepared, SimulatorStudy)
        return mutated(prepared)

    def grown(self, prepared: Prepared, record: Record, cells: int, context: Context) -> tuple[SimulatorStudy, Kept]:
        """A study with the cells of its record, of which some have run again."""
        from anabranch.reproduce.backends.simulator.grown import grown
        from anabranch.reproduce.backends.simulator.simulate import SimulatorStudy

        assert isinstance(prepared, SimulatorStudy)
        return grown(prepared, record, cells, context)

    def spot_check(self, group: Group, record: Record, cells: int, context: Context) -> SpotCheck:
        """Runs some cells of a record again."""
        from anabranch.reproduce.backends.simulator.again import again

        return again(group, record, cells, context)


BACKEND = Simulator()
