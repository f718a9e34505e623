"""The rules that send a group's packets into it, and what stands in a bridge for a whole plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from types import MappingProxyType

from anabranch.deploy.openflow.match import ARP, IPV4, IPV6, Match
from anabranch.deploy.openflow.tables import Flow, Group, Tables
from anabranch.deploy.targets.ovs import listing, slots
from anabranch.deploy.targets.ovs.kept import KeptSplit, history
from anabranch.deploy.targets.ovs.match import Where
from anabranch.deploy.targets.ovs.observed_splits import checksum, numbers_of, recipes_of, seed_of
from anabranch.deploy.targets.ovs.plan_file import AUTO, PlanFile, WeightedPorts
from anabranch.deploy.targets.ovs.recipes import SLOT_COUNTS
from anabranch.deploy.targets.ovs.split import Split, render
from anabranch.deploy.targets.plan.group import group as paths
from anabranch.deploy.targets.plan.group_keys import Network, refuse_error
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.split.tuples import PROTOCOLS

AUTOMATIC = ("dp_hash", "dp_hash-twin", "hash-gravity", "multipath")
"""Recipes of which `auto` takes the first that is near enough: few datapath flows before many."""
ABSENT = -1
"""Number of the first path's port where the bridge does not have it; the next path's is one less."""
ELSEWHERE = 1 << 32
"""Numbers from here on stand for those of absent ports where a split is only judged."""
BACK = "once it is there, anabranch apply brings it back"
Bits = tuple[tuple[str, int | None], ...]
"""Fields that a match looks at, with their masks."""


@dataclass(frozen=True)
class Installed:
    """One group of a plan as it stands in a bridge."""

    planned: WeightedPorts
    split: Split
    flows: frozenset[Flow]
    """Rules that send packets into it."""


@dataclass(frozen=True)
class Desired:
    """A plan as it is to stand in a bridge."""

    groups: tuple[Installed, ...]
    tables: Tables
    warnings: tuple[str, ...] = ()
    """Notes for the operator."""


def desired(
    plan: PlanFile,
    ports: Mapping[str, int],
    present: Tables,
    fallback_seed: int,
    splits: Mapping[str, KeptSplit] = MappingProxyType({}),
) -> Desired:
    """The desired rules and groups of a plan.

    What a plan leaves open stays as it is in `present`, else as it was in `splits`: the number of a group, its seed,
    what `auto` took, if it is still near enough, and whose each slot is. A group keeps its number when others come and
    go, for its name is in the switch. Ports that the bridge does not have are left out, and paths keep their numbers.

    Args:
        plan: the file.
        ports: OpenFlow numbers by name.
        present: what of the owner's stands there now.
        fallback_seed: where neither plan nor switch nor file has one.
        splits: what a file has of groups, by name.

    Raises:
        AnabranchError: no port of a group is there, one that packets both come from and go to, rules of two groups for
            the same packets, weights that cannot be, a split further off than the plan allows, all ports being there.

    """
    numbers = numbers_of(plan, present)
    observed = {group.group_id: group for group in present.groups}
    by_number = {numbers[name]: split for name, split in splits.items() if name in numbers}
    known = {plan.ownership.group_id(number): split for number, split in by_number.items()}
    seeds = {
        group.name: seed_of(observed.get(group_id), known.get(group_id))
        for group in plan.groups
        for group_id in (plan.ownership.group_id(numbers[group.name]),)
    }
    recipes = {number: split.recipe for number, split in by_number.items()} | recipes_of(plan, present)
    owners = slots.owners(present, plan.ownership.inner_tables[0])
    others = [seed for group in plan.groups if group.seed is None and (seed := seeds[group.name]) is not None]
    installed: list[Installed] = []
    flows: set[Flow] = set()
    groups: set[Group] = set()
    warnings: list[str] = []
    for group in plan.groups:
        seed = next(s for s in (group.seed, seeds[group.name], *others, fallback_seed) if s is not None)
        resolved = tuple(_number(port, path, ports) for path, port in enumerate(group.ports))
        left, notes = _with_ports(plan, group, resolved, ports)
        warnings += notes
        number = numbers[group.name]
        try:
            recipe = recipes.get(number)
            split = _split(plan, left, number, resolved, seed, recipe)
            before = history(owners.get(plan.ownership.group_id(number), {}), splits.get(group.name), ports)
            rendered = render(split, plan.ownership, before)
            # A port that is not there must not turn a right plan into a wrong one.
            whole = split
            if left.weights != group.weights:
                every = tuple(ELSEWHERE - port if port < 0 else port for port in resolved)
                whole = _split(plan, group, number, every, seed, recipe)
        except AnabranchError as error:
            raise AnabranchError(f"{plan.file}: group {group.name}: {error}") from None
        if whole.recipe != "failover":
            refuse_error(plan.file, "ovs", group, whole.recipe, whole.error_pct)
        cookie = plan.ownership.cookie | checksum(group)
        own = frozenset(
            Flow(plan.ownership.table, priority, match, rendered.actions, rendered.goto, cookie)
            for priority, match in _matches(plan, split, left, ports)
        )
        installed.append(Installed(group, split, own))
        groups |= rendered.groups
        flows |= rendered.flows | own
    _refuse_overlaps(plan, installed)
    return Desired(tuple(installed), Tables(frozenset(flows), frozenset(groups)), tuple(warnings))


def _split(
    plan: PlanFile, group: WeightedPorts, number: int, ports: tuple[int, ...], seed: int, observed: str | None
) -> Split:
    """The group under its recipe; `auto` takes the one it has in the switch, or the first that is near enough."""
    base = Split(number, group.weights, ports, "hash-gravity", seed)
    if group.recipe not in (AUTO, "multipath"):
        return replace(base, recipe=group.recipe)
    recipes = AUTOMATIC if group.recipe == AUTO else (group.recipe,)
    near: tuple[float, Split] | None = None
    for recipe in sorted(recipes, key=lambda name: name != observed):
        every = SLOT_COUNTS if recipe == "multipath" else SLOT_COUNTS[:1]
        for slot_count in [group.slot_count] if group.slot_count else every:
            try:
                split = replace(base, recipe=recipe, slot_count=slot_count)
                error = split.error_pct
                render(split, plan.ownership)
            except AnabranchError:
                # This recipe cannot carry the weights; the last one tried can carry all.
                if recipe == group.recipe:
                    raise
                continue
            if error <= group.error_pct:
                return split
            near = min(near or (error, split), (error, split), key=lambda one: one[0])
    return base if near is None else near[1]


def _matches(
    plan: PlanFile, split: Split, group: WeightedPorts, ports: Mapping[str, int]
) -> Iterator[tuple[int, Match]]:
    """Priority and match of each rule of a group."""
    outputs = {port for port, weight in zip(split.ports, split.paths.integers, strict=True) if weight}
    for where in group.where:
        in_ports: list[int | None] = [ports[port] if isinstance(port, str) else port for port in where.in_ports]
        for port, name in zip(in_ports, where.in_ports, strict=True):
            if port in outputs:
                problem = "in ports too, and a switch sends no packet back to where it came from: it would be dropped"
                plan.refuse(group, "match.in_port", f"{name}: {problem}; take it out of in_port or out of ports")
        for in_port, (version, source, destination) in product(in_ports or [None], _families(plan, group, where)):
            fields: dict[str, int | tuple[int, int] | str] = dict(where.numbers)
            fields["eth_type"] = IPV4 if version == 4 else IPV6
            if in_port is not None:
                fields["in_port"] = in_port
            prefix = "ip" if version == 4 else "ipv6"
            for end, network in (("src", source), ("dst", destination)):
                if network is not None:
                    fields[f"{prefix}_{end}"] = str(network)
            for name, _ in where.numbers:
                if (transport := name.partition("_")[0]) in PROTOCOLS:
                    fields["ip_proto"] = PROTOCOLS[transport]
            priority = group.priority + (destination.prefixlen if destination else 0)
            yield priority, Match.from_mapping(fields)
            if where.arp and version == 4 and destination is not None:
                of_arp: dict[str, int | tuple[int, int] | str] = {"eth_type": ARP, "arp_tpa": str(destination)}
                if in_port is not None:
                    of_arp["in_port"] = in_port
                yield priority, Match.from_mapping(of_arp)


def _families(
    plan: PlanFile, group: WeightedPorts, where: Where
) -> Iterator[tuple[int, Network | None, Network | None]]:
    """(IP version, source, destination) of each rule."""
    some = False
    for version in (4, 6) if where.version is None else (where.version,):
        sources, destinations = (_of_version(networks, version) for networks in (where.ip_src, where.ip_dst))
        for source, destination in product(sources, destinations):
            some = True
            yield version, source, destination
    if not some:
        plan.refuse(group, "match", "no packet is all of this: sources, destinations and ip are of two versions")


def _of_version(networks: Sequence[Network], version: int) -> Sequence[Network | None]:
    """The networks of one IP version; `None`, for all addresses, where there are none of any."""
    return [network for network in networks if network.version == version] if networks else [None]


def _refuse_overlaps(plan: PlanFile, groups: Sequence[Installed]) -> None:
    """Refuses rules of one priority for the same packets: a switch takes either (OpenFlow 1.5.1 section 5.3)."""
    of = {flow: index for index, group in enumerate(groups) for flow in group.flows}
    for _, level in groupby(sorted(of, key=_priority), key=_priority):
        rules = sorted(level, key=lambda flow: (of[flow], listing.match(flow.match, {})))
        for rule, other in meeting(rules, rules):
            if of[rule] != of[other]:
                first, second = sorted((rule, other), key=of.__getitem__)
                problem = f"group {groups[of[first]].planned.name} takes {listing.match(first.match, {})} too"
                text = f"{listing.match(second.match, {})}: {problem}; narrow one, or give one of them a priority"
                plan.refuse(groups[of[second]].planned, "match", text)


def _priority(flow: Flow) -> int:
    return flow.priority


def meeting(rules: Iterable[Flow], others: Iterable[Flow]) -> Iterator[tuple[Flow, Flow]]:
    """Pairs of one table that some packet may match both of.

    Rules that look at the same bits are compared at once, so that thousands of prefixes against thousands cost little.
    Those with fields that nobody here knows are left out: these may tell them apart.
    """
    looking, others_looking = _by_bits(rules), _by_bits(others)
    for ((table, bits), here), ((other_table, other_bits), theirs) in product(looking.items(), others_looking.items()):
        if table != other_table:
            continue
        masks = dict(other_bits)
        both = [(name, _both(mask, masks[name])) for name, mask in bits if name in masks]
        seen: dict[tuple[int, ...], list[Flow]] = {}
        for rule in here:
            seen.setdefault(_looked_at(rule.match, both), []).append(rule)
        for other in theirs:
            for rule in seen.get(_looked_at(other.match, both), ()):
                yield rule, other


def _by_bits(rules: Iterable[Flow]) -> dict[tuple[int, Bits], list[Flow]]:
    flows_by_bits: dict[tuple[int, Bits], list[Flow]] = {}
    for rule in rules:
        if not rule.match.foreign:
            bits = tuple((name, mask) for name, _, mask in rule.match.fields)
            flows_by_bits.setdefault((rule.table, bits), []).append(rule)
    return flows_by_bits


def _both(mask: int | None, other: int | None) -> int:
    """The bits of both masks; None is all of them."""
    return (-1 if mask is None else mask) & (-1 if other is None else other)


def _looked_at(match: Match, bits: Sequence[tuple[str, int]]) -> tuple[int, ...]:
    values = match.as_mapping
    return tuple(values[name][0] & mask for name, mask in bits)


def _number(port: str | int, path: int, ports: Mapping[str, int]) -> int:
    """OpenFlow number of a path's port; below 0 if the bridge has none of that name."""
    return port if isinstance(port, int) else ports.get(port, ABSENT - path)


def _with_ports(
    plan: PlanFile, group: WeightedPorts, resolved: Sequence[int], ports: Mapping[str, int]
) -> tuple[WeightedPorts, list[str]]:
    """The group with what ports of the bridge leave of it, and a note for each key that lost some.

    A path without a port has weight 0, a rule for packets from a port that is not there is none.
    """
    notes = []
    absent = [port for port, number in zip(group.ports, resolved, strict=True) if number < 0]
    weights = tuple("0" if number < 0 else weight for weight, number in zip(group.weights, resolved, strict=True))
    carrying = [one for one, number in zip(group.weights, resolved, strict=True) if number >= 0]
    if absent and not (carrying and any(paths(carrying).integers)):
        plan.refuse(group, "ports", _no_ports(absent, ports))
    if absent:
        notes.append(f"group {group.name}: left out {_no_ports(absent, ports)}; {BACK}")
    unknown = [port for where in group.where for port in where.in_ports if isinstance(port, str) and port not in ports]
    if unknown:
        kept = [replace(one, in_ports=tuple(p for p in one.in_ports if p not in unknown)) for one in group.where]
        where = tuple(new for new, old in zip(kept, group.where, strict=True) if new.in_ports or not old.in_ports)
        if not where:
            plan.refuse(group, "match.in_port", _no_ports(unknown, ports))
        notes.append(f"group {group.name}: match.in_port: left out {_no_ports(unknown, ports)}; {BACK}")
        group = replace(group, where=where)
    return replace(group, weights=weights), notes


def _no_ports(absent: Iterable[object], ports: Mapping[str, int]) -> str:
    names = ", ".join(dict.fromkeys(map(str, absent)))
    hints = dict.fromkeys(nearest(str(one), ports) if ports else "the bridge has none" for one in absent)
    return f"{names}: no port of the bridge; {', '.join(hints)} (of a bond, name its members)"
