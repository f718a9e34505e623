"""Weights towards leaves, and the ports of hosts, as groups of a plan for a kernel's routes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from anabranch.deploy.control.fabric import FabricFile, Network, SwitchFile
from anabranch.deploy.control.forwarding import Forwarding, OwnHost, Towards, in_16_bits
from anabranch.deploy.control.gateway_keys import VERSIONS
from anabranch.deploy.targets.linux.observe import LinuxState
from anabranch.deploy.targets.linux.plan_file import METRICS, WeightedHops
from anabranch.deploy.targets.linux.session.keys import RoutesKeys, hop
from anabranch.deploy.targets.plan.bound import BOUND_PCT

Routes = tuple[WeightedHops, ...]


class RoutesForwarding(Forwarding[Any]):
    """Weights towards leaves as routes to nexthop groups (`control.forwarding`).

    What is planned are groups of a plan file; what is observed is the kernel's (`LinuxState`).
    """

    def __init__(self, fabric: FabricFile) -> None:
        self._fabric = fabric

    def towards(self, paths: Towards, present: Routes | LinuxState | None) -> Routes:
        """A group for each IP version behind the leaf; one without a path that carries anything drops."""
        del present
        if not paths.networks or not paths.paths:
            return ()
        weights = in_16_bits([weight for _, weight in paths.paths])
        return _groups(paths.switch, paths.leaf, paths.networks, [number for number, _ in paths.paths], weights)

    def hosts(self, switch: SwitchFile, hosts: Sequence[OwnHost]) -> Routes:
        """A group for each host and IP version."""
        return tuple(
            group
            for host in hosts
            for group in _groups(switch, host.name, host.addresses, host.ports, [1] * len(host.ports))
        )

    def joined(self, parts: Sequence[Routes]) -> Routes:
        """All groups, in this order."""
        return tuple(group for part in parts for group in part)

    def shares(self, switch: SwitchFile, observed: Routes | LinuxState, leaf: str, index: int) -> dict[int, float]:
        """Shares of the group that the leaf's routes lead to."""
        del index
        prefixes = set(self._fabric.prefixes.get(leaf, ()))
        for port in self._fabric.topology.ports_of[leaf]:
            prefixes.update(self._fabric.addresses.get(self._fabric.topology.ends[port].neighbour, ()))
        numbers = {name: number for number, name in enumerate(switch.interfaces.values(), start=1)}
        for prefix, members in _splits(observed):
            total = sum(weight for _, weight in members)
            if prefix in prefixes and total:
                return {numbers[device]: weight / total for device, weight in members if weight and device in numbers}
        return {}


def _splits(content: Routes | LinuxState) -> Iterator[tuple[Network, list[tuple[str, int]]]]:
    """Weights by device of each prefix, as planned or as observed."""
    if isinstance(content, LinuxState):
        for route in content.routes.values():
            group = content.groups.get(route.nexthop_id)
            known = [one for one in (group.members if group else ()) if one[0] in content.nexthops]
            yield route.prefix, [(content.nexthops[number].hop.device, weight) for number, weight in known]
        return
    for planned in content:
        weights = [(hop.device, int(weight)) for hop, weight in zip(planned.hops, planned.weights, strict=True)]
        for prefix in planned.prefixes:
            yield prefix, weights


def group_name(node: str, version: int) -> str:
    """Name of the group for what lies behind a leaf or is a host, by IP version."""
    return f"{node} IPv{version}"


def _groups(
    switch: SwitchFile, name: str, networks: Sequence[Network], ports: Sequence[int], weights: Sequence[int]
) -> Routes:
    keys: RoutesKeys = switch.keys
    ends = list(switch.interfaces)
    groups = []
    for version in VERSIONS:
        prefixes = tuple(network for network in networks if network.version == version)
        if prefixes:
            groups.append(
                WeightedHops(
                    **vars(replace(keys.group, metric=keys.group.metric or METRICS[version])),
                    name=group_name(name, version),
                    prefixes=prefixes,
                    hops=tuple(hop(switch, ends[port - 1], version) for port in ports),
                    weights=tuple(map(str, weights)),
                    error_pct=BOUND_PCT,
                    error_given=False,
                )
            )
    return tuple(groups)
