"""A fabric as machines and switches, without the network cards and scale-up ports of machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Machines:
    """Nodes of a fabric by the machine that they are part of."""

    nodes: list[int]
    """Machines and switches, in the fabric's order."""
    of: list[int]
    """Machine, or the switch itself, of each node."""

    def links(self, topology: Mapping[str, Any]) -> Iterator[tuple[int, int, int]]:
        """Links between machines and switches: a port of each, and its ends; those within a machine are left out."""
        ports = topology["ports"]
        for port, back in enumerate(ports["reverse"]):
            ends = self.of[ports["from"][port]], self.of[ports["to"][port]]
            if port < back and ends[0] != ends[1]:
                yield port, *ends


def machines(topology: Mapping[str, Any]) -> Machines:
    """Machines and switches of a fabric."""
    tiers, ports = topology["nodes"]["tier"], topology["ports"]
    of = list(range(len(tiers)))
    named = topology["named_hosts"]
    of[named : topology["hosts"]] = topology["accelerators"]
    for low, high in zip(ports["from"], ports["to"], strict=True):
        if tiers[low] == "host" and tiers[high] == "nic":
            of[high] = of[low]
    return Machines([node for node, machine in enumerate(of) if machine == node], of)
