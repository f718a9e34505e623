"""Rules and weighted groups from weights towards each leaf: what the policies of weights share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch import _core
from anabranch.control.file import FabricFile, KernelFile, Network
from anabranch.control.policy import Plan, PlannedGroup, PlannedMember, View
from anabranch.openflow.action import Output
from anabranch.openflow.match import ARP, IPV4, IPV6, Match
from anabranch.openflow.tables import Flow, Group, Tables
from anabranch.targets.ebpf import groups as kernel_rules
from anabranch.targets.ovs.recipes import WEIGHT_MAX
from anabranch.targets.ovs.split import Rendered, Split, render

PRIORITY = 0x4000
"""Priority of a prefix of length 0; longer ones go first, by a step per bit."""

AS_WRITTEN = ("hash", "dp_hash", "default")
"""Recipes whose buckets have the weights themselves."""
UNITS = 1000
"""Sum of the weights of those recipes, to which they are brought down."""

Members = tuple[tuple[int, int], ...]
"""(port, weight) of each way out."""
Weights = Mapping[str, Mapping[str, Members]]
"""Members by switch, and by leaf it leads to. None: the leaf cannot be reached."""


def seed_of(switch: str) -> int:
    """The hash parameter of a switch: 64 bits of its name.

    With one seed for all, the second stage would hash what the first has sorted by that hash and use one port only.
    """
    return int.from_bytes(hashlib.sha256(switch.encode()).digest()[:8], "big")


def matches(network: Network) -> list[Match]:
    """Packets to a prefix, and the questions for the hardware addresses behind it."""
    value = int(network.network_address), int(network.netmask)
    if network.version == 6:
        return [Match.of(eth_type=IPV6, ipv6_dst=value)]
    return [Match.of(eth_type=IPV4, ip_dst=value), Match.of(eth_type=ARP, arp_tpa=value)]


@dataclass(frozen=True)
class _Towards:
    """State of a switch for one leaf."""

    members: Members
    openflow: tuple[int | None, ...]
    flows: frozenset[Flow]
    groups: frozenset[Group]
    planned: PlannedGroup
    kernel: tuple[_core.KernelGroup, ...] = ()


class Rules:
    """Plans by weights. Remembers what it made for each switch and leaf, and makes only what is not as it was."""

    def __init__(self, file: FabricFile) -> None:
        self._file = file
        self._topology = file.topology
        self._ownership = file.ownership
        self._towards: dict[tuple[str, str], _Towards] = {}
        self._plans: dict[str, tuple[Mapping[str, Members], Mapping[int, int], Plan]] = {}
        """Each switch's, with what it was made of: the weights, and OpenFlow's numbers of its ports."""
        ports = len(self._topology.ends)
        built = Weigher(file, by_capacity=False).weigh([True] * ports, self._topology.rate_bps)
        self._paths = {
            (switch, leaf): tuple(port for port, _ in members)
            for switch, towards in built.items()
            for leaf, members in towards.items()
        }
        """The ports that are paths in the fabric as built: a path keeps its number when others die."""
        self._networks = {leaf: self._behind(leaf) for leaf in self._topology.leaf_index}
        self._destinations = {
            leaf: [(PRIORITY + network.prefixlen, match) for network in networks for match in matches(network)]
            for leaf, networks in self._networks.items()
        }

    def plan(self, view: View, weights: Weights) -> dict[str, Plan]:
        """The plan of every switch that was reached.

        Raises:
            AnabranchError: weights that the recipe cannot carry.

        """
        found = {}
        for name in self._topology.switches:
            numbers = {
                port: view.openflow_port[port] for port in self._topology.ports_of[name] if port in view.openflow_port
            }
            if numbers:
                found[name] = self._switch(name, view, weights.get(name, {}), numbers)
        return found

    def _switch(self, name: str, view: View, weights: Mapping[str, Members], numbers: Mapping[int, int]) -> Plan:
        before = self._plans.get(name)
        if before and before[0] is weights and before[1] == numbers:
            return before[2]
        same = kept = before is not None and before[1] == numbers
        made = []
        for leaf in self._topology.leaf_index:
            if leaf != name:
                last = self._towards.get((name, leaf))
                ways = weights.get(leaf, ())
                # Numbers seldom change, and comparing those of all ways of all leaves is what takes time.
                now = last if last and kept and last.members == ways else self._leaf(name, leaf, view, ways, last)
                same = same and now is last
                self._towards[name, leaf] = now
                made.append(now)
        kernel = self._file.switches[name].kernel
        if before and same:
            plan = before[2]
        elif kernel is not None:
            groups = self._host_groups(name, kernel, numbers) + tuple(group for leaf in made for group in leaf.kernel)
            plan = Plan(groups=tuple(leaf.planned for leaf in made), kernel=groups)
        else:
            tables = Tables(
                self._hosts(numbers).union(*(leaf.flows for leaf in made)),
                frozenset[Group]().union(*(leaf.groups for leaf in made)),
            )
            plan = Plan(tables, tuple(leaf.planned for leaf in made))
        self._plans[name] = weights, numbers, plan
        return plan

    def _leaf(self, name: str, leaf: str, view: View, members: Members, before: _Towards | None) -> _Towards:
        openflow = tuple(view.openflow_port.get(port) for port, _ in members)
        if before and before.members == members and before.openflow == openflow:
            return before
        living = {port: weight for (port, weight), number in zip(members, openflow, strict=True) if number is not None}
        paths = self._paths.get((name, leaf), ())
        paths += tuple(port for port in living if port not in paths)
        planned = tuple(PlannedMember(port, weight) for port, weight in members)
        kernel = self._file.switches[name].kernel
        if kernel is not None:
            known = [view.openflow_port[port] for port in paths if port in view.openflow_port]
            weights = {view.openflow_port[port]: weight for port, weight in living.items()}
            made = kernel_rules.towards(name, kernel, leaf, self._networks[leaf], known, weights)
            held = () if made is None else (made,)
            return _Towards(members, openflow, frozenset(), frozenset(), PlannedGroup(leaf, planned), held)
        rendered, group_id = Rendered((), None, frozenset(), frozenset()), None
        if any(living.values()):
            known = [port for port in paths if port in view.openflow_port]
            split = Split(
                index=self._topology.leaf_index[leaf],
                weights=_written([living.get(port, 0) for port in known], self._file.recipe),
                ports=tuple(view.openflow_port[port] for port in known),
                recipe=self._file.recipe,
                seed=seed_of(name),
            )
            present = Tables(before.flows, before.groups) if before else view.installed.get(name)
            rendered = render(split, self._ownership, present)
            group_id = self._ownership.group_id(split.index)
        # A leaf that cannot be reached has rules that drop: a rule less would leave its packets to somebody else's.
        rules = frozenset(
            Flow(self._ownership.table, priority, match, rendered.actions, rendered.goto, self._ownership.cookie)
            for priority, match in self._destinations[leaf]
        )
        numbers = tuple(sorted(group.group_id for group in rendered.groups))
        group = PlannedGroup(leaf, planned, group_id if group_id in numbers else None, numbers)
        return _Towards(members, openflow, rendered.flows | rules, rendered.groups, group)

    def _hosts(self, numbers: Mapping[int, int]) -> frozenset[Flow]:
        """Rules to the hosts of a switch."""
        ends = self._topology.ends
        return frozenset(
            Flow(self._ownership.table, PRIORITY + address.prefixlen, match, (Output(number),), None, cookie)
            for port, number in numbers.items()
            for address in self._file.addresses.get(ends[port].neighbour, ())
            for match in matches(address)
            for cookie in (self._ownership.cookie,)
        )

    def _host_groups(self, name: str, kernel: KernelFile, numbers: Mapping[int, int]) -> tuple[_core.KernelGroup, ...]:
        """Groups to the hosts of a switch, which may have several links to it."""
        ends, ports = self._topology.ends, dict[str, list[int]]()
        for port, number in numbers.items():
            if self._topology.is_host(ends[port].neighbour):
                ports.setdefault(ends[port].neighbour, []).append(number)
        made = (
            kernel_rules.to_host(name, kernel, host, self._file.addresses.get(host, ()), ways)
            for host, ways in ports.items()
        )
        return tuple(group for group in made if group is not None)

    def _behind(self, leaf: str) -> list[Network]:
        """Networks behind a leaf: its prefixes, and addresses of its hosts outside of them."""
        networks = list(self._file.prefixes.get(leaf, ()))
        for port in self._topology.ports_of[leaf]:
            for address in self._file.addresses.get(self._topology.ends[port].neighbour, ()):
                if not any(address.network_address in network for network in networks):
                    networks.append(address)
        return networks


def _written(weights: list[int], recipe: str) -> tuple[int, ...]:
    """Weights that fit the recipe: those of rates without a common divisor are too large for some."""
    if recipe in AS_WRITTEN and max(weights) > WEIGHT_MAX:
        texts = [str(weight) for weight in weights]
        return tuple(_core.webster_slots(texts, [weight > 0 for weight in weights], UNITS))
    return tuple(weights)


class Weigher:
    """The ways of every switch towards every leaf, with weights: equal, or WCMP's from the capacity behind each."""

    def __init__(self, file: FabricFile, *, by_capacity: bool) -> None:
        self._topology = file.topology
        self._by_capacity = by_capacity
        self._rows: dict[int, list[tuple[list[int], list[tuple[int, int]]]]] = {}
        self._weights: dict[int, Mapping[str, Members]] = {}

    def weigh(self, up: Sequence[bool], rate_bps: Sequence[int]) -> Weights:
        """The same object for a switch as last time says that nothing changed there."""
        nodes = self._topology.nodes
        found: dict[int, list[tuple[list[int], list[tuple[int, int]]]]] = {}
        for switch, leaves, members in self._topology.fabric.groups(list(up), list(rate_bps), self._by_capacity):
            found.setdefault(switch, []).append((leaves, members))
        for switch, rows in found.items():
            if self._rows.get(switch) != rows:
                self._weights[switch] = {
                    nodes[leaf].name: ways
                    for leaves, members in rows
                    for ways in (tuple(members),)
                    for leaf in leaves
                    if leaf != switch
                }
        self._rows = found
        return {nodes[switch].name: self._weights[switch] for switch in found}
