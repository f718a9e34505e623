"""Packets over links of unlike rates, each held against the paper's dispatching cycle.

Fabrics are the paper's Fig. 5, whose Table IV prints the path of every packet, and drawn ones, for which `oracle` works
out what the paper's text says. Draws stand in the place of seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends.backend import Announcement, Context
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.claims.claim import Expected
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.values.cells import Cells

from . import oracle
from .fabrics import DRAWN, PRINTED, Fabric, drawn, printed
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
