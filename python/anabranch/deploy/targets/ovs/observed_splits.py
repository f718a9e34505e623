"""The splits of a plan as they stand in a bridge: number, seed, recipe and slots of each group, for the next plan."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from anabranch.deploy.openflow.action import Multipath, SetField, ToGroup
from anabranch.deploy.openflow.tables import Flow, Group, Tables
from anabranch.deploy.targets.ovs import recipes as open_vswitch
from anabranch.deploy.targets.ovs import slots
from anabranch.deploy.targets.ovs.kept import KeptSplit, complete, kept, names_of
from anabranch.deploy.targets.ovs.plan_file import PlanFile, WeightedPorts
from anabranch.deploy.targets.ovs.recipes import WEIGHT_MAX
from anabranch.deploy.targets.ovs.split import SPLITS_MAX

NAME_BITS = 0xFFFF_FFFF
"""Bits of a rule's cookie: a checksum of its group's name, so that the switch knows which group has which number."""


def checksum(group: WeightedPorts) -> int:
    """The bits of a rule's cookie that name its group."""
    return zlib.crc32(group.name.encode())


def numbers_of(plan: PlanFile, present: Tables) -> dict[str, int]:
    """Each group's number: the one under which its name is in the switch, or the least that is free."""
    numbers = _standing_numbers(plan, present)
    used = set(numbers.values())
    free = (number for number in range(len(plan.groups) * 2) if number not in used)
    return {group.name: numbers[group.name] if group.name in numbers else next(free) for group in plan.groups}


def _standing_numbers(plan: PlanFile, present: Tables) -> dict[str, int]:
    """Number of each group whose name is in the switch."""
    by_name = {checksum(group): group for group in plan.groups}
    if len(by_name) < len(plan.groups):
        other = next(group for group in plan.groups if by_name[checksum(group)] is not group)
        plan.refuse(other, "name", f"its CRC-32 is that of {by_name[checksum(other)].name}; take another name")
    numbers: dict[str, int] = {}
    for flow in present.flows:
        group = by_name.get(flow.cookie & NAME_BITS)
        number = _number_led_to(flow, plan)
        if flow.table == plan.ownership.table and group is not None and number is not None:
            numbers[group.name] = number
    # The switch has two names under one number, which we never write; all groups are numbered anew.
    return numbers if len(set(numbers.values())) == len(numbers) else {}


def _number_led_to(flow: Flow, plan: PlanFile) -> int | None:
    match flow.actions:
        case (ToGroup(group_id),) | (Multipath(), SetField(slots.SPLIT, group_id)):
            number = group_id - plan.ownership.group_id(0)
            return number if 0 <= number < SPLITS_MAX else None
    return None


def seed_of(group: Group | None, split: KeptSplit | None) -> int | None:
    """The seed of a group in the switch, else of a file."""
    if group is None or group.selection is None:
        return None if split is None else split.seed
    return group.selection.parameter


def kept_splits(plan: PlanFile, tables: Tables, ports: Mapping[str, int]) -> dict[str, KeptSplit]:
    """What a file keeps of a plan's groups as they stand in tables, by name.

    Args:
        plan: the file.
        tables: the owner's.
        ports: OpenFlow numbers by name.

    """
    numbers, recipes = _standing_numbers(plan, tables), recipes_of(plan, tables)
    groups = {group.group_id: group for group in tables.groups}
    owners = slots.owners(tables, plan.ownership.inner_tables[0])
    names = names_of(ports, (port for group in plan.groups for port in plan.port_names(group)))
    splits = {}
    for name, number in numbers.items():
        group_id = plan.ownership.group_id(number)
        here, seed = owners.get(group_id, {}), seed_of(groups.get(group_id), None)
        recipe = recipes.get(number)
        if recipe is not None and seed is not None and (complete(here) if recipe == "multipath" else not here):
            splits[name] = kept(recipe, seed, [here[slot] for slot in range(len(here))], names)
    return splits


def recipes_of(plan: PlanFile, present: Tables) -> dict[int, str]:
    """The recipe that each group in the switch was made by, of those that `auto` takes, by its number."""
    recipes = {}
    for group in present.groups:
        if group.selection is not None:
            weights = [bucket.weight for bucket in group.buckets]
            if group.selection.method != "hash":
                twin = sum(weights) == open_vswitch.Switch().max_slots and min(weights) == 1
                recipes[group.group_id - plan.ownership.group_id(0)] = "dp_hash-twin" if twin else "dp_hash"
            elif max(weights, default=0) == WEIGHT_MAX:
                recipes[group.group_id - plan.ownership.group_id(0)] = "hash-gravity"
    for flow in present.flows:
        number = _number_led_to(flow, plan)
        if number is not None and any(isinstance(action, Multipath) for action in flow.actions):
            recipes[number] = "multipath"
    return recipes
