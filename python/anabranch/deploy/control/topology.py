"""The fabric as built: nodes, directed ports and links under the names of the file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from anabranch import _core
from anabranch.deploy.control.state import NodeState

HOST, LEAF = "host", "leaf"


@dataclass(frozen=True)
class End:
    """One end of a link: the port of `node` towards `neighbour`."""

    node: str
    neighbour: str
    parallel: int
    """Number among the links of the two, from 0."""


def next_hop(switch: str, name: str) -> End:
    """The port of a switch towards a next hop as plans name it: behind `#` the link's number, if several lead there.

    Args:
        switch: the switch.
        name: the neighbour, as in `spine0` or `spine0#1`.

    """
    neighbour, _, parallel = name.partition("#")
    return End(switch, neighbour, int(parallel or 0))


class Topology:
    """Topology that `[fabric]` describes. A port is a number, from 0: a direction out of a node."""

    def __init__(self, fabric: _core.Fabric) -> None:
        self.fabric = fabric
        built = fabric.topology()
        nodes, ports = built["nodes"], built["ports"]
        self.nodes = tuple(map(NodeState, nodes["name"], nodes["tier"], nodes["pod"]))
        self.number = {node.name: number for number, node in enumerate(self.nodes)}
        self.reverse: tuple[int, ...] = tuple(ports["reverse"])
        """The port at the other end of each port's link."""
        self.rate_bps: tuple[int, ...] = tuple(map(int, ports["rate_bps"]))
        """As built."""
        self.ends: tuple[End, ...] = self._ends(ports["from"], ports["to"])

    def _ends(self, from_: list[int], to: list[int]) -> tuple[End, ...]:
        """Names the ports; the parallel links of two nodes have the same numbers at both ends."""
        ends: dict[int, End] = {}
        seen: dict[tuple[int, int], int] = {}
        for port, (node, neighbour) in enumerate(zip(from_, to, strict=True)):
            if port in ends:
                continue
            pair = min(node, neighbour), max(node, neighbour)
            parallel = seen[pair] = seen.get(pair, -1) + 1
            ends[port] = End(self.nodes[node].name, self.nodes[neighbour].name, parallel)
            ends[self.reverse[port]] = End(self.nodes[neighbour].name, self.nodes[node].name, parallel)
        return tuple(ends[port] for port in range(len(from_)))

    @cached_property
    def port(self) -> dict[End, int]:
        """The number of each port."""
        return {end: number for number, end in enumerate(self.ends)}

    @cached_property
    def ports_of(self) -> dict[str, tuple[int, ...]]:
        """The ports of every node, ascending."""
        ports: dict[str, list[int]] = {node.name: [] for node in self.nodes}
        for number, end in enumerate(self.ends):
            ports[end.node].append(number)
        return {name: tuple(numbers) for name, numbers in ports.items()}

    @cached_property
    def switches(self) -> tuple[str, ...]:
        """All nodes that are no hosts."""
        return tuple(node.name for node in self.nodes if node.tier != HOST)

    @cached_property
    def leaf_index(self) -> dict[str, int]:
        """Each switch with hosts, numbered from 0: what groups towards it are numbered by."""
        with_hosts = {end.node for end in self.ends if self.is_host(end.neighbour)}
        return {name: index for index, name in enumerate(name for name in self.switches if name in with_hosts)}

    @cached_property
    def leaf_of(self) -> dict[str, tuple[int, ...]]:
        """The ports of switches towards each host."""
        leaves: dict[str, list[int]] = {node.name: [] for node in self.nodes if node.tier == HOST}
        for number, end in enumerate(self.ends):
            if end.neighbour in leaves:
                leaves[end.neighbour].append(number)
        return {name: tuple(numbers) for name, numbers in leaves.items()}

    def is_host(self, name: str) -> bool:
        """Whether a node is a host."""
        return self.nodes[self.number[name]].tier == HOST

    @cached_property
    def links(self) -> tuple[tuple[int, int], ...]:
        """Both ports of every link, each link once."""
        return tuple((port, other) for port, other in enumerate(self.reverse) if port < other)
