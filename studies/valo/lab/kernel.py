"""The same fabric over datapaths in the kernel: the schemes' own code, instead of what Open vSwitch has."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anabranch import _core
from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ebpf.switching import SCHEME, Towards, kernel_switches

from .place import EDGES, SCENARIO, Place

SEEDS = {"leaf0": 0x0A, "leaf1": 0x0B}
"""Seeds, fixed like Open vSwitch's here, so that a run can be repeated connection by connection."""


@dataclass(frozen=True)
class Recipe:
    """A scheme in the kernel."""

    scheme: str
    plain: bool = False
    """Weights as they are, instead of gravity weights."""


RECIPES = {
    "kernel-scoring": Recipe("score", plain=True),
    "kernel-gravity": Recipe("score"),
    "kernel-slots": Recipe("slots"),
    "kernel-rendezvous": Recipe("rendezvous"),
}


def missing_in_kernel() -> str:
    """The reason why this machine has no datapaths in the kernel; empty if it has."""
    return next((f"{feature}: {note}" for feature, is_present, note in _core.probe_kernel() if not is_present), "")


def shares(recipe: str, weights: Sequence[int]) -> list[float]:
    """Shares that a recipe really gives, under a perfect hash."""
    group = _group("", [], range(1, len(weights) + 1), weights, 0, plain=RECIPES[recipe].plain)
    return _core.kernel_shares(RECIPES[recipe].scheme, group)


class KernelFabric(Place):
    """Fabric whose switches are datapaths, which count what they send by each member (`Place`)."""

    def forward(self) -> None:
        """Has cores forward by the edge's prefix."""
        for switch in self.lab.switches:
            if switch not in EDGES:
                towards = [
                    Towards(edge, (str(self.prefix(edge)),), (self.lab.interface(switch, edge),), (1,), (True,))
                    for edge in EDGES
                ]
                kernel_switches(self.lab).put(switch, SCHEME, towards)

    async def split(self, recipe: str, weights: Sequence[int]) -> None:
        """Has both edges split by one of `RECIPES` over the first paths."""
        how = RECIPES[recipe]
        for edge, other in (EDGES, EDGES[::-1]):
            with inside(self.lab.blueprint.switch_namespace):
                members = [socket.if_nametoindex(self.uplink(path, edge)) for path in range(len(weights))]
                prefix = [str(self.prefix(other))]
                groups = [_group(other, prefix, members, weights, SEEDS[edge], plain=how.plain)]
                for name, prefixes in self._own(edge).items():
                    port = socket.if_nametoindex(self.lab.interface(edge, name))
                    groups.append(_group(name, prefixes, [port], [1], SEEDS[edge], plain=how.plain))
            kernel_switches(self.lab).stand(edge, how.scheme, groups)

    def forget_flows(self) -> None:
        """These schemes remember no flow."""

    async def transmitted(self, edge: str, paths: int) -> list[int]:
        """Packets sent by each path, by the datapath's own counters of the group's members."""
        datapath = kernel_switches(self.lab).datapath(edge)
        assert datapath is not None
        (other,) = set(EDGES) - {edge}
        number = [group.name for group in datapath.observed()].index(other)
        return [packets for packets, _ in datapath.counters()[number][:paths]]

    def _own(self, edge: str) -> dict[str, list[str]]:
        """The addresses of each host of an edge; one host stands for all addresses of its prefix."""
        hosts = self.hosts(edge)
        if len(hosts) == 1:
            return {hosts[0]: [str(self.prefix(edge))]}
        return {name: [f"{self.lab.hosts[name].address}/32"] for name in hosts}


def _group(
    name: str, prefixes: list[str], members: Sequence[int], weights: Sequence[int], seed: int, *, plain: bool
) -> _core.KernelGroup:
    return _core.KernelGroup(
        name=name or "asked",
        prefixes=prefixes,
        targets=list(members),
        weights=list(weights),
        up=[True] * len(weights),
        output="redirect",
        seed=seed,
        plain=plain,
    )


@contextmanager
def kernel_fabric(name: str, paths: int, hosts_per_edge: int, buffer_packets: int) -> Iterator[KernelFabric]:
    """Makes it, and removes it at the end.

    Raises:
        AnabranchError: no privilege, or a kernel without what datapaths take.

    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.toml"
        file.write_text(SCENARIO.format(paths=paths, hosts=hosts_per_edge, buffer_packets=buffer_packets))
        with Lab.temporary(file, name, switch="ebpf") as lab:
            opened = KernelFabric(lab)
            opened.forward()
            yield opened
