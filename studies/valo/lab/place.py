"""Requirements of the experiment on a fabric, whatever its switches are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from ipaddress import IPv4Network

from anabranch.lab.fabric.topology import Lab

EDGES = ("leaf0", "leaf1")
SCENARIO = """\
[fabric]
kind = "leaf-spine"
leaves = 2
spines = {paths}
hosts_per_leaf = {hosts}
link = {{ rate = "10 Gbps", buffer = "{buffer_packets} packets" }}
"""


class Place(ABC):
    """A lab of two edges (`leaf0`, `leaf1`) and cores (`spine0`, ...), over which edges split."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def uplink(self, path: int, edge: str = EDGES[0]) -> str:
        """The device by which a path leaves an edge."""
        return self.lab.interface(edge, f"spine{path}")

    def hosts(self, edge: str) -> list[str]:
        """Hosts of a leaf, in order."""
        return [name for name, host in self.lab.hosts.items() if host.leaf == edge]

    def prefix(self, edge: str) -> IPv4Network:
        """Prefix of the hosts of a leaf."""
        address = self.lab.hosts[self.hosts(edge)[0]].address
        return IPv4Network(f"{address}/24", strict=False)

    @abstractmethod
    async def split(self, recipe: str, weights: Sequence[int]) -> None:
        """Has both edges split by a recipe over the first paths."""

    @abstractmethod
    def forget_flows(self) -> None:
        """Has nothing be left of an earlier split."""

    @abstractmethod
    async def transmitted(self, edge: str, paths: int) -> list[int]:
        """Packets that have left an edge by each path, as the switch counts them."""
