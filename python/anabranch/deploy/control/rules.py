"""Plans from weights towards each leaf: what the policies of weights share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.deploy.control.fabric import FabricFile, Network
from anabranch.deploy.control.forwarding import Forwarding, OwnHost, Towards
from anabranch.deploy.control.policy import PlannedGroup, PlannedMember, SwitchPlan, View
from anabranch.deploy.control.switch_kind import kind_of
from anabranch.deploy.control.topology import Topology

Members = tuple[tuple[int, int], ...]
"""(port, weight) of each way out."""
Weights = Mapping[str, Mapping[str, Members]]
"""Members by switch, and by leaf it leads to. None: the leaf cannot be reached."""


@dataclass(frozen=True)
class _Leaf:
    """Plan of a switch for one leaf, with what it was made of."""

    members: Members
    numbers: tuple[int | None, ...]
    """Number at the switch of each member."""
    content: Any
    """Content of the switch, in its target's terms."""
    planned: PlannedGroup


class Rules:
    """Plans by weights. Remembers what it made for each switch and leaf, and makes only what is not as it was."""

    def __init__(self, file: FabricFile) -> None:
        self._file = file
        self._topology = file.topology
        targets = {switch.target for switch in file.switches.values()}
        forwarding = {target: kind_of(target).forwarding(file) for target in targets}
        self._forwarding: dict[str, Forwarding[Any]] = {
            name: forwarding[switch.target] for name, switch in file.switches.items()
        }
        self._leaves: dict[tuple[str, str], _Leaf] = {}
        self._plans: dict[str, tuple[Mapping[str, Members], Mapping[int, int], SwitchPlan]] = {}
        """Each switch's, with what it was made of: the weights, and the switch's numbers of its ports."""
        ports = len(self._topology.ends)
        built = Weigher(file.topology, by_capacity=False).weigh([True] * ports, self._topology.rate_bps)
        self._paths = {
            (switch, leaf): tuple(port for port, _ in members)
            for switch, towards in built.items()
            for leaf, members in towards.items()
        }
        """The ports that are paths in the fabric as built: a path keeps its number when others die."""
        self._networks = {
            leaf: networks_behind(self._topology, leaf, file.prefixes, file.addresses)
            for leaf in self._topology.leaf_index
        }

    def plan(self, view: View, weights: Weights) -> dict[str, SwitchPlan]:
        """The plan of every switch that was reached.

        Raises:
            AnabranchError: weights that the recipe cannot carry.

        """
        plans = {}
        for name in self._topology.switches:
            numbers = {
                port: view.openflow_port[port] for port in self._topology.ports_of[name] if port in view.openflow_port
            }
            if numbers:
                plans[name] = self._switch(name, view, weights.get(name, {}), numbers)
        return plans

    def observed_shares(self, switch: str, leaf: str, view: View) -> dict[int, float]:
        """Shares by the switch's number of the port, of what a switch holds towards a leaf; empty if unknown."""
        if view.installed is not None:
            return dict(view.installed.get((switch, leaf), {}))
        observed = view.observed.get(switch)
        if observed is None:
            return {}
        index = self._topology.leaf_index[leaf]
        return self._forwarding[switch].shares(self._file.switches[switch], observed, leaf, index)

    def _switch(self, name: str, view: View, weights: Mapping[str, Members], numbers: Mapping[int, int]) -> SwitchPlan:
        before = self._plans.get(name)
        if before and before[0] is weights and before[1] == numbers:
            return before[2]
        same = kept = before is not None and before[1] == numbers
        groups = []
        for leaf in self._topology.leaf_index:
            if leaf != name:
                last = self._leaves.get((name, leaf))
                ways = weights.get(leaf, ())
                # Numbers seldom change, and comparing those of all ways of all leaves is what takes time.
                now = last if last and kept and last.members == ways else self._leaf(name, leaf, view, ways, last, kept)
                same = same and now is last
                self._leaves[name, leaf] = now
                groups.append(now)
        if before and same:
            plan = before[2]
        else:
            forwarding = self._forwarding[name]
            hosts = forwarding.hosts(self._file.switches[name], self._hosts(numbers))
            listening = forwarding.listening(self._between(numbers)) if self._file.wiring.use else None
            parts = [hosts, *(one.content for one in groups)]
            desired = forwarding.joined(parts if listening is None else [*parts, listening])
            plan = SwitchPlan(desired, tuple(one.planned for one in groups))
        if before and not kept and name not in view.observed:
            # It has been described and not been read: once it is, what it holds under the new numbers is gone on from.
            numbers = before[1]
        self._plans[name] = weights, numbers, plan
        return plan

    def _leaf(self, name: str, leaf: str, view: View, members: Members, before: _Leaf | None, kept: bool) -> _Leaf:
        """The plan for a leaf; `kept` is whether all ports of the switch have the numbers of `before`."""
        numbers = tuple(view.openflow_port.get(port) for port, _ in members)
        # What was planned before may not be in the switch yet; where ports have other numbers now, it has the old ones.
        goes_on = before is not None and (kept or name not in view.observed)
        if before and goes_on and before.members == members and before.numbers == numbers:
            return before
        forwarding, index = self._forwarding[name], self._topology.leaf_index[leaf]
        living = {port: weight for (port, weight), number in zip(members, numbers, strict=True) if number is not None}
        paths = self._paths.get((name, leaf), ())
        paths += tuple(port for port in living if port not in paths)
        paths = tuple(port for port in paths if port in view.openflow_port)
        weighed = tuple((view.openflow_port[port], living.get(port, 0)) for port in paths)
        switch = self._file.switches[name]
        interfaces = tuple(switch.interfaces[self._topology.ends[port]] for port in paths)
        towards = Towards(switch, leaf, index, self._networks[leaf], weighed, interfaces)
        content = forwarding.towards(towards, before.content if before and goes_on else view.observed.get(name))
        planned = tuple(PlannedMember(port, weight) for port, weight in members)
        group = PlannedGroup(leaf, planned, *forwarding.group_ids(content, index))
        return _Leaf(members, numbers, content, group)

    def _hosts(self, numbers: Mapping[int, int]) -> list[OwnHost]:
        """Hosts of a switch, which may have several links to it."""
        ends, ports = self._topology.ends, dict[str, list[int]]()
        for port, number in numbers.items():
            if self._topology.is_host(ends[port].neighbour):
                ports.setdefault(ends[port].neighbour, []).append(number)
        return [OwnHost(host, self._file.addresses.get(host, ()), tuple(ways)) for host, ways in ports.items()]

    def _between(self, numbers: Mapping[int, int]) -> list[int]:
        """A switch's numbers of its ports towards other switches."""
        ends = self._topology.ends
        return [number for port, number in numbers.items() if not self._topology.is_host(ends[port].neighbour)]


def networks_behind(
    topology: Topology,
    leaf: str,
    prefixes: Mapping[str, Sequence[Network]],
    addresses: Mapping[str, Sequence[Network]],
) -> list[Network]:
    """Networks behind a leaf: its prefixes, and addresses of its hosts outside of them."""
    networks = list(prefixes.get(leaf, ()))
    for port in topology.ports_of[leaf]:
        for address in addresses.get(topology.ends[port].neighbour, ()):
            if not any(address.network_address in network for network in networks):
                networks.append(address)
    return networks


class Weigher:
    """The ways of every switch towards every leaf, with weights: equal, or WCMP's from the capacity behind each."""

    def __init__(self, topology: Topology, *, by_capacity: bool) -> None:
        self._topology = topology
        self._by_capacity = by_capacity
        self._rows: dict[int, list[tuple[list[int], list[tuple[int, int]]]]] = {}
        self._weights: dict[int, Mapping[str, Members]] = {}

    def weigh(self, up: Sequence[bool], rate_bps: Sequence[int]) -> Weights:
        """The same object for a switch as last time says that nothing changed there."""
        nodes = self._topology.nodes
        by_group: dict[int, list[tuple[list[int], list[tuple[int, int]]]]] = {}
        for switch, leaves, members in self._topology.fabric.groups(list(up), list(rate_bps), self._by_capacity):
            by_group.setdefault(switch, []).append((leaves, members))
        for switch, rows in by_group.items():
            if self._rows.get(switch) != rows:
                self._weights[switch] = {
                    nodes[leaf].name: ways
                    for leaves, members in rows
                    for ways in (tuple(members),)
                    for leaf in leaves
                    if leaf != switch
                }
        self._rows = by_group
        return {nodes[switch].name: self._weights[switch] for switch in by_group}
