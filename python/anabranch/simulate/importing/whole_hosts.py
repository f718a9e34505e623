"""A fabric as hosts and switches, without the network cards and scale-up ports of hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WholeHosts:
    """Nodes of a fabric by the host that they are part of."""

    nodes: list[int]
    """Hosts and switches, in the fabric's order."""
    of: list[int]
    """Host, or the switch itself, of each node."""

    def links(self, topology: Mapping[str, Any]) -> Iterator[tuple[int, int, int]]:
        """Links between hosts and switches: a port of each, and its ends; those within a host are left out."""
        ports = topology["ports"]
        for port, back in enumerate(ports["reverse"]):
            ends = self.of[ports["from"][port]], self.of[ports["to"][port]]
            if port < back and ends[0] != ends[1]:
                yield port, *ends


def whole_hosts(topology: Mapping[str, Any]) -> WholeHosts:
    """Hosts and switches of a fabric."""
    tiers, ports = topology["nodes"]["tier"], topology["ports"]
    of = list(range(len(tiers)))
    named = topology["named_hosts"]
    of[named : topology["hosts"]] = topology["accelerators"]
    for low, high in zip(ports["from"], ports["to"], strict=True):
        if tiers[low] == "host" and tiers[high] == "nic":
            of[high] = of[low]
    return WholeHosts([node for node, host in enumerate(of) if host == node], of)
