"""Entries of the program's tables in each switch of a fabric, from the lists that a load balancer plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from itertools import permutations

from anabranch.deploy.control.topology import End, Topology, next_hop
from anabranch.deploy.targets.p4.addresses import Addresses
from anabranch.files.errors import AnabranchError
from anabranch.simulate.runs.pair_plan import plan_pair_of

TURNS_MAX = (1 << 16) - 1
"""Most turns of one list: its counter has 16 bits."""
Pair = tuple[str, str]
"""The leaf that sends and the leaf that receives."""
Key = tuple[tuple[str, int | IPv4Network], ...]
"""Fields that a packet is matched by, with their values."""


@dataclass(frozen=True)
class Entry:
    """One entry of a table of the program."""

    table: str
    match: Key
    action: str
    parameters: tuple[tuple[str, int], ...]


@dataclass
class Switch:
    """What one switch holds."""

    name: str
    ports: Mapping[End, int]
    """Number of each of its ports."""
    lists: dict[Pair, tuple[int, ...]] = field(default_factory=dict)
    """Ports in turn for each pair of leaves whose packets come here, without the leaf that receives."""


def switches(
    topology: Topology,
    addresses: Addresses,
    asked: tuple[str, str, str],
    pairs: Sequence[Pair],
    keys: Sequence[tuple[str, str]],
) -> dict[str, Switch]:
    """Plans for pairs of leaves, and says what follows for each switch.

    Args:
        topology: the fabric.
        addresses: numbers of its ports.
        asked: text of the fabric's file, its name, and the load balancer.
        pairs: of leaves; none for all.
        keys: parameters of the load balancer, as overrides of the text.

    Raises:
        AnabranchError: a pair has no plan, the plan has no lists, or a list is too long.

    """
    text, file, balance = asked
    by_name = {name: Switch(name, _ports(name, topology, addresses)) for name in topology.switches}
    for pair in pairs or permutations(topology.leaf_index, 2):
        tables = plan_pair_of(text, file, balance, pair, keys).record["tables"]
        if "lists" not in tables:
            raise AnabranchError(f"target: {balance}: plans no lists of next hops; the program follows nothing else")
        for row in tables["lists"]:
            switch, hops = row["switch"], row["next_hops"]
            if len(hops) > TURNS_MAX:
                problem = f"{len(hops)} turns, and a counter takes {TURNS_MAX}"
                raise AnabranchError(f"{file}: {switch}: {pair[0]} to {pair[1]}: {problem}")
            by_name[switch].lists[pair] = tuple(by_name[switch].ports[next_hop(switch, hop)] for hop in hops)
    return by_name


def entries(switch: Switch, topology: Topology, addresses: Addresses) -> list[Entry]:
    """Entries in the order in which they are written: no packet is sent by a list that is not whole.

    Args:
        switch: one of `switches`.
        topology: the fabric.
        addresses: of leaves and hosts.

    """
    leaves = {leaf: index + 1 for leaf, index in topology.leaf_index.items()}
    return [*_turns(switch), *_pairs(switch, leaves), *_sides(switch, leaves, addresses), *_hosts(switch, addresses)]


def _ports(switch: str, topology: Topology, addresses: Addresses) -> dict[End, int]:
    ends = (topology.ends[port] for port in topology.ports_of[switch])
    return {end: addresses.ports[end] for end in ends}


def _turns(switch: Switch) -> Iterator[Entry]:
    for number, ports in enumerate(switch.lists.values(), 1):
        for turn, port in enumerate(ports):
            yield Entry("turns", (("list_id", number), ("turn", turn)), "send", (("port", port),))


def _pairs(switch: Switch, leaves: Mapping[str, int]) -> Iterator[Entry]:
    for number, ((source, destination), ports) in enumerate(switch.lists.items(), 1):
        pair = (("source", leaves[source]), ("destination", leaves[destination]))
        yield Entry("pairs", pair, "take_turn", (("list_id", number), ("turns", len(ports))))


def _sides(switch: Switch, leaves: Mapping[str, int], addresses: Addresses) -> Iterator[Entry]:
    for table, action, side in (("sources", "from_leaf", 0), ("destinations", "to_leaf", 1)):
        for leaf in dict.fromkeys(pair[side] for pair in switch.lists):
            for network in addresses.prefixes[leaf]:
                yield Entry(table, (("address", network),), action, (("leaf", leaves[leaf]),))


def _hosts(switch: Switch, addresses: Addresses) -> Iterator[Entry]:
    for end, port in switch.ports.items():
        for network in addresses.hosts.get(end.neighbour, ()):
            yield Entry("hosts", (("address", network),), "send", (("port", port),))
