"""Rules and weighted groups of a bridge, from weights towards each leaf."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from anabranch import _core
from anabranch.deploy.control.fabric import Network, SwitchFile
from anabranch.deploy.control.forwarding import Forwarding, OwnHost, Towards
from anabranch.deploy.openflow.action import CONTROLLER, Output
from anabranch.deploy.openflow.match import ARP, IPV4, IPV6, Match
from anabranch.deploy.openflow.tables import Flow, Group, Meter, Tables
from anabranch.deploy.targets.ovs import slots, split
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.ovs.recipes import WEIGHT_MAX
from anabranch.deploy.targets.ovs.split import Rendered, Split, render
from anabranch.deploy.targets.plan.group import exact
from anabranch.deploy.wiring.frame import ETHERTYPE, NEAREST_BRIDGE
from anabranch.split.splitter import Splitter

RECIPES = tuple(name for name in split.RECIPES if name != "failover")
"""Recipes that split by weights."""
PRIORITY = 0x4000
"""Priority of a prefix of length 0; longer ones go first, by a step per bit."""
LISTENING = 0xFFF0
"""Priority of the rules for LLDP frames: a rule of others for all packets must not flood them."""
LISTENING_COOKIE = 1 << 38
"""Bit of their cookies, by which the packets are known that they pass on."""

AS_WRITTEN = ("hash", "dp_hash", "default")
"""Recipes whose buckets have the weights themselves."""
UNITS = 1000
"""Sum of the weights of those recipes, to which they are brought down."""


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


def listening_rule(ownership: Ownership, port: int) -> Flow:
    """The rule that passes a port's LLDP frames on to the controller."""
    match = Match.of(in_port=port, eth_dst=NEAREST_BRIDGE.hex(":"), eth_type=ETHERTYPE)
    return Flow(ownership.table, LISTENING, match, (Output(CONTROLLER),), None, ownership.cookie | LISTENING_COOKIE)


def joined(parts: Sequence[Tables]) -> Tables:
    """All rules, groups and meters."""
    return Tables(
        frozenset[Flow]().union(*(part.flows for part in parts)),
        frozenset[Group]().union(*(part.groups for part in parts)),
        frozenset[Meter]().union(*(part.meters for part in parts)),
    )


class RulesForwarding(Forwarding[Tables]):
    """Weights towards leaves as groups and flows of bridges (`control.forwarding`)."""

    def __init__(self, ownership: Ownership, recipe: str) -> None:
        self._ownership, self._recipe = ownership, recipe
        self._matches: dict[int, list[tuple[int, Match]]] = {}
        """Priorities and matches of the packets for each leaf, which never change."""
        self._read: tuple[Tables, dict[int, dict[int, slots.Owner]]] = Tables(), {}
        """The tables that were read last, with the owners of their slots: all leaves of a switch ask for the same."""

    def towards(self, paths: Towards, present: Tables | None) -> Tables:
        """A weighted group, and rules of the leaf's networks that lead to it."""
        rendered = Rendered((), None, frozenset(), frozenset())
        if paths.reached:
            one = Split(
                index=paths.index,
                weights=_written([weight for _, weight in paths.paths], self._recipe),
                ports=tuple(number for number, _ in paths.paths),
                recipe=self._recipe,
                seed=seed_of(paths.switch.name),
            )
            rendered = render(one, self._ownership, self._owners(paths, present))
        if paths.index not in self._matches:
            self._matches[paths.index] = [
                (PRIORITY + network.prefixlen, match) for network in paths.networks for match in matches(network)
            ]
        # A leaf that cannot be reached has rules that drop: without them its packets would meet the rules of others.
        rules = frozenset(
            Flow(self._ownership.table, priority, match, rendered.actions, rendered.goto, self._ownership.cookie)
            for priority, match in self._matches[paths.index]
        )
        return Tables(rendered.flows | rules, rendered.groups)

    def _owners(self, paths: Towards, present: Tables | None) -> dict[int, slots.Owner]:
        """Owners by slot of a leaf's group, slots at home where ports have come; none where the recipe has no slots."""
        if present is None or self._recipe != "multipath":
            return {}
        if self._read[0] is not present:
            self._read = present, slots.owners(present, self._ownership.inner_tables[0])
        owners = self._read[1].get(self._ownership.group_id(paths.index), {})
        numbers = [number for number, _ in paths.paths]
        return slots.at_home(owners, dict(zip(paths.interfaces, numbers, strict=True)))

    def hosts(self, switch: SwitchFile, hosts: Sequence[OwnHost]) -> Tables:
        """A rule for each address."""
        del switch
        cookie = self._ownership.cookie
        return Tables(
            frozenset(
                Flow(self._ownership.table, PRIORITY + address.prefixlen, match, (Output(number),), None, cookie)
                for host in hosts
                for number in host.ports
                for address in host.addresses
                for match in matches(address)
            )
        )

    def listening(self, ports: Sequence[int]) -> Tables:
        """A rule for each port, before all others: LLDP frames go to the controller and nowhere else."""
        return Tables(frozenset(listening_rule(self._ownership, number) for number in ports))

    def joined(self, parts: Sequence[Tables]) -> Tables:
        """All rules and groups."""
        return joined(parts)

    def shares(self, switch: SwitchFile, observed: Tables, leaf: str, index: int) -> dict[int, float]:
        """Shares of the leaf's group as it stands in a bridge."""
        del switch, leaf
        group_id = self._ownership.group_id(index)
        return next((_shares(group) for group in observed.groups if group.group_id == group_id), {})

    def group_ids(self, content: Tables, index: int) -> tuple[int | None, tuple[int, ...]]:
        """The leaf's group, and those whose buckets count."""
        numbers = tuple(sorted(group.group_id for group in content.groups))
        group_id = self._ownership.group_id(index)
        return group_id if group_id in numbers else None, numbers


def _written(weights: list[int], recipe: str) -> tuple[int, ...]:
    """Weights that fit the recipe: those of rates without a common divisor are too large for some."""
    if recipe in AS_WRITTEN and max(weights) > WEIGHT_MAX:
        texts = [str(weight) for weight in weights]
        return tuple(_core.webster_slots(texts, [weight > 0 for weight in weights], UNITS))
    return tuple(weights)


def _shares(group: Group) -> dict[int, float]:
    """Shares by port; empty where buckets do anything but send."""
    if any(len(bucket.actions) != 1 or not isinstance(bucket.actions[0], Output) for bucket in group.buckets):
        return {}
    weights = [bucket.weight for bucket in group.buckets]
    scored = group.selection is not None and group.selection.method == "hash"
    shares = exact(Splitter("scoring", weights)) if scored else [weight / max(1, sum(weights)) for weight in weights]
    by_port: dict[int, float] = {}
    for bucket, share in zip(group.buckets, shares, strict=True):
        (action,) = bucket.actions
        if isinstance(action, Output):
            by_port[action.port] = by_port.get(action.port, 0.0) + share
    return by_port
