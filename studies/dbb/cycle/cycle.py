"""Packets over links of unlike rates, each held against the paper's dispatching cycle.

Fabrics are the paper's Fig. 5, whose Table IV prints the path of every packet, and drawn ones, for which `oracle` works
out what the paper's text says. Draws stand in the place of seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends.backend import Announcement, Context, Prepared
from anabranch.reproduce.backends.cell_evidence import CellBackend, CellEvidence
from anabranch.reproduce.backends.experiment_settings import read_study
from anabranch.reproduce.claims.claim import Expected
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.records.cell_record import read
from anabranch.reproduce.records.record import Record
from anabranch.reproduce.records.spot_check import SpotCheck, compared
from anabranch.reproduce.values.cells import Cells

from . import oracle
from .fabrics import DRAWN, PRINTED, Fabric, drawn, printed
from .mutated import MutatedCycle
from .packets import paths

OUT_OF_TURN, BEYOND_QUOTA = Quantity("out of turn"), Quantity("beyond quota")


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    draws: int
    """Drawn fabrics; on Fig. 5, seeds of the simulator."""
    cycles: int
    """Cycles that each counter goes through."""
    flows: int
    """Flows between the two hosts, whose packets take turns."""
    schemes: Mapping[str, Mapping[str, Any]]
    """The axis `scheme`: keys of the scenario by name. With `per_flow` each flow has a cycle of its own."""

    def __post_init__(self) -> None:
        for name in ("draws", "cycles", "flows"):
            if type(value := getattr(self, name)) is not int or value < 1:
                raise AnabranchError(f"settings.{name}: {value!r}; give a whole number from 1")


@dataclass(frozen=True)
class CycleStudy:
    """A study of dispatching cycles, ready to run (`backend.Prepared`)."""

    group: Group
    expected: Expected
    settings: Settings
    quick_note: str

    announcement: Announcement | None = None

    def run(self, context: Context) -> CellEvidence:
        """Sends the packets of every scheme over every fabric.

        Raises:
            AnabranchError: a fabric cannot be drawn, or a packet is lost.

        """
        del context
        settings = self.settings
        axes: dict[str, list[Any]] = {"scheme": list(settings.schemes), "fabric": [PRINTED, DRAWN]}
        cells = Cells(axes, list(range(1, settings.draws + 1)))
        for seed in cells.seeds:
            for name, fabric in ((PRINTED, printed()), (DRAWN, drawn(seed))):
                for scheme, keys in settings.schemes.items():
                    cell = cells.cell({"scheme": scheme, "fabric": name})
                    for quantity, percent in self._measured(fabric, keys, seed).items():
                        cells.numbers[cell, seed, quantity] = percent
        return CellEvidence(cells, self.expected.figures)

    def _measured(self, fabric: Fabric, keys: Mapping[str, Any], seed: int) -> dict[Quantity, float]:
        """Both quantities, in percent of the packets and of their hops."""
        settings = self.settings
        routing = {key: value for key, value in keys.items() if key != "per_flow"}
        packets = settings.cycles * fabric.cycle.packets
        by_flow = paths(fabric, routing, settings.flows, packets, seed)
        counted = by_flow if keys.get("per_flow") else [[path for turn in zip(*by_flow, strict=True) for path in turn]]
        cycles = [
            one[first : first + fabric.cycle.packets]
            for one in counted
            for first in range(0, len(one), fabric.cycle.packets)
        ]
        whole = packets * settings.flows
        hops = whole * (len(by_flow[0][0]) - 1)
        return {
            OUT_OF_TURN: 100.0 * sum(_out_of_turn(fabric, one) for one in cycles) / whole,
            BEYOND_QUOTA: 100.0 * sum(fabric.cycle.beyond_quota(one) for one in cycles) / hops,
        }


def _out_of_turn(fabric: Fabric, cycle: Sequence[oracle.Path]) -> int:
    """Packets of a cycle that are not where the printed table has them, or have no right to be where they are."""
    if fabric.table:
        return sum(path != row for path, row in zip(cycle, fabric.table, strict=True))
    return fabric.cycle.out_of_turn(cycle)


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
