"""Wino's microslices as rules: a label of a packet is a slice, a slice is a path and, where paths differ, a meter.

(Rehman et al., "Efficient Datacenter Load Balancing with Microslices", IFIP Networking 2025, section III-B.) Two things
are not in the paper. Packets without a label, or with one that is no slice, meet no rule here and so take the group
that forwards to their leaf at a lower priority; nothing is lost while hosts and switches disagree. And labels that a
change ends stay for a while, each an alias of a slice that there is.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

from anabranch import _core
from anabranch.errors import AnabranchError
from anabranch.openflow.action import Action, Metered, Output, ToGroup
from anabranch.openflow.match import IPV4, Match
from anabranch.openflow.tables import FAST_FAILOVER, Bucket, Flow, Group, Meter, Tables
from anabranch.targets.ovs.ownership import COOKIE_MASK, Ownership

COOKIE = 1 << 39
"""In the part of a cookie that an owner numbers as it likes: the rule is a slice's."""
COOKIE_OF_SLICES_MASK = COOKIE_MASK | COOKIE
PRIORITY = 0x5000
"""Priority of a prefix of length 0, by a step per bit, above the rules that forward to a leaf through its group."""
FIRST_GROUP = 1 << 15
"""Number of a leaf's first failover group; those below are of leaves."""
DSCP_BITS = 6
BURST_S = 0.02
"""Burst of a meter, as the time its rate takes for it. Open vSwitch refills meters once a millisecond: measured, bursts
of 1 to 2 ms fall 2 to 29 % short of their rates, those of 5 to 20 ms 0.1 %. Its own default: a second of traffic."""
FRAME_BYTES = 1518


@dataclass(frozen=True)
class Cut:
    """How paths are cut into slices; rates in bits per second."""

    slice_min_bps: int = 7_000_000
    """Least slice; the paper's figure for errors of meters below 2 % over 15 ms (section III-D)."""
    slice_max_bps: int | None = None
    """Largest slice; None: as large as the common divisor."""
    quantum_bps: int | None = None
    """Unit to which remaining rates are rounded down; None: 10 Mbit/s, or 1 where a path has less than 1 Gbit/s."""
    label_bits: int = DSCP_BITS
    """Bits of the labels that hosts may use; label 0 is none."""
    min_waste: bool = False
    """Whether to take the size that wastes least, not the least slice, where the common divisor is below that."""

    def __post_init__(self) -> None:
        if not 1 <= self.label_bits <= DSCP_BITS:
            raise AnabranchError(f"label_bits: {self.label_bits}: a DSCP field has 1 to {DSCP_BITS} bits for labels")
        for name, value in (("slice_min", self.slice_min_bps), ("slice_max", self.slice_max_bps)):
            if value is not None and value < 1000:
                raise AnabranchError(f"{name}: {value} bit/s: meters count in kbit/s; give 1000 bit/s or more")
        if self.slice_max_bps is not None and self.slice_max_bps < self.slice_min_bps:
            raise AnabranchError(
                f"slice_max: {self.slice_max_bps} bit/s: below slice_min = {self.slice_min_bps}; raise it"
            )

    def slices(self, residual_bps: Sequence[int]) -> Slices | None:
        """Slices of paths that have this much left; None where no path has a slice's worth.

        Raises:
            AnabranchError: limits that contradict each other.

        """
        found = _core.cut_slices(
            list(residual_bps),
            slice_min_bps=self.slice_min_bps,
            slice_max_bps=self.slice_max_bps,
            quantum_bps=self.quantum_bps,
            min_waste=self.min_waste,
            label_bits=self.label_bits,
        )
        if found is None or not found[1]:
            return None
        slice_bps, path_of, waste_bps, metered = found
        return Slices(slice_bps, tuple(path_of), waste_bps, metered)


@dataclass(frozen=True)
class Slices:
    """The slices of one pair of leaves."""

    slice_bps: int
    path_of: tuple[int, ...]
    """The path of each, in the order in which hosts take them; the first has label 1."""
    waste_bps: int
    """Bandwidth that no slice covers."""
    metered: bool
    """Not where all paths are equal and each is one slice."""

    @property
    def labels(self) -> tuple[int, ...]:
        """Labels that hosts mark packets with, in turn."""
        return tuple(range(1, len(self.path_of) + 1))


@dataclass(frozen=True)
class Pair:
    """A pair of leaves and the way of each of its slices."""

    source: str
    """Leaves, by name."""
    destination: str
    source_prefixes: tuple[str, ...]
    destination_prefixes: tuple[str, ...]
    paths: tuple[tuple[tuple[str, int], ...], ...]
    """Switches of each path from the source leaf to the one before the destination, with the port to leave by."""
    slices: Slices
    labels_known: int = 0
    """Labels up to this may still arrive, from hosts that have not heard of the change that ended them."""

    @property
    def path_of_label(self) -> dict[int, int]:
        """Number of the slice, from 0, of every label that may arrive; those that ended share the slices that are."""
        known = max(len(self.slices.path_of), min(self.labels_known, (1 << DSCP_BITS) - 1))
        return {label: (label - 1) % len(self.slices.path_of) for label in range(1, known + 1)}


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
        held = limits.setdefault(pair.source, [])
        first = len(held)
        if meters and pair.slices.metered:
            held += _meters(pair, ownership, first, burst_s, frame_bytes)
        metered = tuple(Metered(meter.meter_id) for meter in held[first:])
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
    found: dict[str, list[Flow]] = {}
    cookie = ownership.cookie | COOKIE
    for label, number in pair.path_of_label.items():
        path = pair.slices.path_of[number]
        for switch, port in pair.paths[path]:
            at_leaf = switch == pair.source
            actions: tuple[Action, ...] = (ways[path] if at_leaf else Output(port),)
            if at_leaf and metered:
                actions = (metered[number], *actions)
            found.setdefault(switch, []).extend(
                Flow(ownership.table, priority, match, actions, cookie=cookie)
                for priority, match in _matches(pair, label, at_leaf)
            )
    return list(found.items())


def burst_kb(slice_bps: int, burst_s: float = BURST_S, frame_bytes: int = FRAME_BYTES) -> int:
    """Bucket of a meter in kilobits: `burst_s` of its rate, but room for two frames."""
    return max(-(-int(slice_bps * burst_s) // 1000), -(-2 * frame_bytes * 8 // 1000))


def published(pairs: Iterable[Pair], prefixes: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """The labels for hosts, as plain data for JSON: those towards each prefix, by the leaf that they are under.

    `prefixes` are those of every leaf. A leaf towards which there are no slices is left out: hosts do not mark.
    """
    towards: dict[str, dict[str, list[int]]] = {leaf: {} for leaf in prefixes}
    for pair in pairs:
        for prefix in pair.destination_prefixes:
            towards[pair.source][prefix] = list(pair.slices.labels)
    return {
        "format": 1,
        "leaves": {leaf: {"prefixes": list(prefixes[leaf]), "labels": towards[leaf]} for leaf in sorted(prefixes)},
    }


Order = tuple[int, ...]
"""Ports of a leaf, the preferred one first."""


def _orders(pair: Pair) -> list[Order]:
    """The ports of each path by which its packets may leave the source: its own, then those of the paths after it."""
    ports = [hops[0][1] for hops in pair.paths]
    return [tuple(dict.fromkeys([*ports[path:], *ports[:path]])) for path in range(len(ports))]


def _failover(pairs: Iterable[Pair], source: str, ownership: Ownership) -> dict[Order, Group]:
    """The groups of a leaf, whoever they lead to; numbered by a hash, so that a new one leaves the others theirs."""
    orders = {order for pair in pairs if pair.source == source for order in _orders(pair) if len(order) > 1}
    found: dict[int, Order] = {}
    for order in sorted(orders):
        number = crc32(repr(order).encode()) % FIRST_GROUP
        while number in found:
            number = (number + 1) % FIRST_GROUP
        found[number] = order
    return {
        order: Group(
            ownership.group_id(FIRST_GROUP + number),
            FAST_FAILOVER,
            tuple(Bucket(place, (Output(port),), watch_port=port) for place, port in enumerate(order)),
        )
        for number, order in found.items()
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
    found = []
    for to in pair.destination_prefixes:
        address, length = _network(to)
        found += [(PRIORITY + length, Match.from_mapping(fields | {"ip_dst": address} | source)) for source in sources]
    return found


@lru_cache(maxsize=1 << 12)
def _network(prefix: str) -> tuple[tuple[int, int], int]:
    """Address and mask, and the mask's length."""
    network = ipaddress.IPv4Network(prefix)
    return (int(network.network_address), int(network.netmask)), network.prefixlen
