"""Wino's microslices as rules: a label of a packet is a slice, a slice is a path and, where paths differ, a meter.

Packets without a label, or with one that is no slice, meet no rule here and so take the group that forwards to their
leaf at a lower priority; nothing is lost while hosts and switches disagree. That is not in the paper (`plan.slices`).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from zlib import crc32

from anabranch.deploy.openflow.action import Action, Metered, Output, ToGroup
from anabranch.deploy.openflow.match import IPV4, Match
from anabranch.deploy.openflow.tables import FAST_FAILOVER, Bucket, Flow, Group, Meter, Tables
from anabranch.deploy.targets.ovs.ownership import COOKIE_MASK, Ownership
from anabranch.deploy.targets.plan.slices import BURST_S, FRAME_BYTES, Pair

COOKIE = 1 << 39
"""In the part of a cookie that an owner numbers as it likes: the rule is a slice's."""
COOKIE_OF_SLICES_MASK = COOKIE_MASK | COOKIE
PRIORITY = 0x5000
"""Priority of a prefix of length 0, by a step per bit, above the rules that forward to a leaf through its group."""
FIRST_GROUP = 1 << 15
"""Number of a leaf's first failover group; those below are of leaves."""


def tables(
    pairs: Iterable[Pair],
    ownership: Ownership,
    *,
    meters: bool = True,
    burst_s: float = BURST_S,
    frame_bytes: int = FRAME_BYTES,
) -> dict[str, Tables]:
    """The tables that each switch must hold, by its name, for the slices of `pairs`.

    At the source leaf a rule for each label and prefix of the destination, and a meter for each slice; at the switches
    behind it a rule for each label and pair of leaves, for labels are local to the pair. A leaf with several paths has
    a failover group for each: until somebody plans anew, slices of a dead port go by the next path.

    Raises:
        AnabranchError: more meters at a leaf than an owner has.

    """
    ordered = sorted(pairs, key=lambda pair: (pair.source, pair.destination))
    flows: dict[str, list[Flow]] = {}
    limits: dict[str, list[Meter]] = {}
    groups = {source: _failover(ordered, source, ownership) for source in {pair.source for pair in ordered}}
    for pair in ordered:
        of_source = limits.setdefault(pair.source, [])
        first = len(of_source)
        if meters and pair.slices.metered:
            of_source += _meters(pair, ownership, first, burst_s, frame_bytes)
        metered = tuple(Metered(meter.meter_id) for meter in of_source[first:])
        own = groups[pair.source]
        ways = tuple(ToGroup(own[order].group_id) if len(order) > 1 else Output(*order) for order in _orders(pair))
        for switch, rules in _rules(pair, ownership, metered, ways):
            flows.setdefault(switch, []).extend(rules)
    return {
        switch: Tables(
            frozenset(flows.get(switch, ())),
            frozenset(groups.get(switch, {}).values()),
            frozenset(limits.get(switch, ())),
        )
        for switch in flows.keys() | limits.keys()
    }


@lru_cache(maxsize=1 << 13)
def _rules(
    pair: Pair, ownership: Ownership, metered: tuple[Metered, ...], ways: tuple[Output | ToGroup, ...]
) -> list[tuple[str, list[Flow]]]:
    """A pair's rules by switch. A fabric of 48 leaves has 80,000, of which a change leaves most as they are."""
    rules: dict[str, list[Flow]] = {}
    cookie = ownership.cookie | COOKIE
    for label, number in pair.path_of_label.items():
        path = pair.slices.path_of[number]
        for switch, port in pair.paths[path]:
            at_leaf = switch == pair.source
            actions: tuple[Action, ...] = (ways[path] if at_leaf else Output(port),)
            if at_leaf and metered:
                actions = (metered[number], *actions)
            rules.setdefault(switch, []).extend(
                Flow(ownership.table, priority, match, actions, cookie=cookie)
                for priority, match in _matches(pair, label, at_leaf)
            )
    return list(rules.items())


def burst_kb(slice_bps: int, burst_s: float = BURST_S, frame_bytes: int = FRAME_BYTES) -> int:
    """Bucket of a meter in kilobits: `burst_s` of its rate, but room for two frames."""
    return max(-(-int(slice_bps * burst_s) // 1000), -(-2 * frame_bytes * 8 // 1000))


Order = tuple[int, ...]
"""Ports of a leaf, the preferred one first."""


def _orders(pair: Pair) -> list[Order]:
    """The ports of each path by which its packets may leave the source: its own, then those of the paths after it."""
    ports = [hops[0][1] for hops in pair.paths]
    return [tuple(dict.fromkeys([*ports[path:], *ports[:path]])) for path in range(len(ports))]


def _failover(pairs: Iterable[Pair], source: str, ownership: Ownership) -> dict[Order, Group]:
    """The groups of a leaf, whoever they lead to; numbered by a hash, so that a new one leaves the others theirs."""
    orders = {order for pair in pairs if pair.source == source for order in _orders(pair) if len(order) > 1}
    by_label: dict[int, Order] = {}
    for order in sorted(orders):
        number = crc32(repr(order).encode()) % FIRST_GROUP
        while number in by_label:
            number = (number + 1) % FIRST_GROUP
        by_label[number] = order
    return {
        order: Group(
            ownership.group_id(FIRST_GROUP + number),
            FAST_FAILOVER,
            tuple(Bucket(index, (Output(port),), watch_port=port) for index, port in enumerate(order)),
        )
        for number, order in by_label.items()
    }


def _meters(pair: Pair, ownership: Ownership, first: int, burst_s: float, frame_bytes: int) -> list[Meter]:
    """One for each slice, all alike, numbered from `first`."""
    rate, burst = pair.slices.slice_bps, burst_kb(pair.slices.slice_bps, burst_s, frame_bytes)
    numbers = range(first, first + len(pair.slices.path_of))
    return [Meter(ownership.meter_id(number), rate // 1000, burst) for number in numbers]


def _matches(pair: Pair, label: int, at_leaf: bool) -> list[tuple[int, Match]]:
    """The packets of a slice, with priorities: at the source leaf all for the destination, elsewhere the pair's."""
    fields: dict[str, int | tuple[int, int]] = {"eth_type": IPV4, "ip_dscp": label}
    sources: list[dict[str, int | tuple[int, int]]] = [{}]
    if not at_leaf:
        sources = [{"ip_src": _network(prefix)[0]} for prefix in pair.source_prefixes]
    matches = []
    for to in pair.destination_prefixes:
        address, length = _network(to)
        matches += [
            (PRIORITY + length, Match.from_mapping(fields | {"ip_dst": address} | source)) for source in sources
        ]
    return matches


@lru_cache(maxsize=1 << 12)
def _network(prefix: str) -> tuple[tuple[int, int], int]:
    """Address and mask, and the mask's length."""
    network = ipaddress.IPv4Network(prefix)
    return (int(network.network_address), int(network.netmask)), network.prefixlen
