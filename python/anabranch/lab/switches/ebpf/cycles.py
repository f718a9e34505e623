"""Dispatching lists of a load balancer that plans for pairs of leaves, as turns of a lab's datapaths.

A program finds a packet's group by its destination alone. The lists of all stages are laid out together, so they are
kept exactly where one leaf sends through a switch to another; where several do, their packets cannot be told apart, and
the group takes smooth turns by its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

from anabranch import _core
from anabranch.deploy.control.topology import End, Topology, next_hop
from anabranch.deploy.targets.ebpf.predict import TURNS_MAX
from anabranch.files.errors import AnabranchError
from anabranch.simulate.runs.pair_plan import plan_pair_of

Pair = tuple[str, str]
"""A switch, and the leaf that it sends to."""


def lists(
    topology: Topology, text: str, file: str, balance: str, keys: Sequence[tuple[str, str]] = ()
) -> dict[Pair, tuple[str, ...]]:
    """The next hops of each switch in turn, without the switches that several leaves share on the way to a leaf.

    Args:
        topology: the fabric.
        text: a scenario, or the controller's fabric file.
        file: its name, for errors.
        balance: the load balancer.
        keys: its parameters, as overrides of the text.

    Raises:
        AnabranchError: a pair has no plan, or a list has more turns than programs take.

    """
    by_pair: dict[Pair, tuple[str, ...]] = {}
    shared: set[Pair] = set()
    for leaf, other in permutations(topology.leaf_index, 2):
        plan = plan_pair_of(text, file, balance, (leaf, other), keys)
        for row in plan.record["tables"]["lists"]:
            one = row["switch"], other
            if (turns := len(row["next_hops"])) > TURNS_MAX:
                raise AnabranchError(
                    f"{row['switch']}, {leaf} to {other}: {turns} turns, and the kernel's programs take {TURNS_MAX}; "
                    f"set routing.scheme.max_n = {TURNS_MAX}"
                )
            if one in by_pair:
                shared.add(one)
            by_pair[one] = tuple(row["next_hops"])
    return {pair: hops for pair, hops in by_pair.items() if pair not in shared}


def in_turn(
    group: _core.KernelGroup, switch: str, next_hops: Sequence[str], device: Callable[[End], int]
) -> _core.KernelGroup:
    """The group, its members in the order of a list.

    Args:
        group: one whose targets are numbers of interfaces.
        switch: the switch that it is of.
        next_hops: the list, by names of neighbours, with the number of the link behind `#` where several are parallel.
        device: the number of the interface at an end of a link.

    """
    place = {target: index for index, target in enumerate(group.targets)}
    return _core.KernelGroup(
        name=group.name,
        prefixes=group.prefixes,
        targets=group.targets,
        weights=group.weights,
        up=group.up,
        output=group.output,
        seed=group.seed,
        pause_ns=group.pause_ns,
        turns=[place[device(next_hop(switch, name))] for name in next_hops],
        plain=group.plain,
    )
