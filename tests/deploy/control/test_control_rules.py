"""Rules of a fabric of three tiers: from every leaf, whatever the groups pick, packets reach every other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from anabranch import _core
from anabranch.deploy.control import file
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.policy import SwitchPlan, View, build
from anabranch.deploy.control.topology import Topology
from anabranch.deploy.openflow.action import Output
from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.targets.ovs.kept import with_owners
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.ovs.split import present_owners
from anabranch.simulate.runs.literal import document, key_text

FABRIC = '[fabric]\nkind = "fat-tree"\nk = 4\n'


def fat_tree() -> FabricFile:
    topology = Topology(_core.Fabric(FABRIC, "fabric.toml"))
    text = FABRIC
    for switch in topology.switches:
        ports: dict[str, list[str]] = {}
        for port in topology.ports_of[switch]:
            ports.setdefault(topology.ends[port].neighbour, []).append(f"port{port}")
        text += f"[switch.{key_text(switch)}]\n" + document({"openflow": f"unix:/{switch}", "ports": ports})
    for leaf, index in topology.leaf_index.items():
        text += f"[leaf.{key_text(leaf)}]\n" + document({"prefixes": [f"10.{index}.0.0/16"]})
    return file.parse(text, "fabric.toml")


def view_of(found: FabricFile, dead: set[int]) -> View:
    topology = found.topology
    dead |= {topology.reverse[port] for port in dead}
    up = tuple(port not in dead for port in range(len(topology.ends)))
    numbers = {port: port + 1 for port in range(len(topology.ends))}
    return View(topology, up, topology.rate_bps, (0.0,) * len(up), numbers)


def uplinks_of(found: FabricFile, leaf: str) -> list[int]:
    topology = found.topology
    return [port for port in topology.ports_of[leaf] if not topology.is_host(topology.ends[port].neighbour)]


def reached(found: FabricFile, plans: dict[str, SwitchPlan], source: str, leaf: str) -> tuple[set[str], int]:
    """Positions at which packets can stop, and the largest number of hops."""
    here, hops = {source}, 0
    group_id = Ownership(found.owner).group_id(found.topology.leaf_index[leaf])
    while here - {leaf}:
        after = here & {leaf}
        for switch in here - {leaf}:
            (group,) = [group for group in plans[switch].desired.groups if group.group_id == group_id]
            for bucket in group.buckets:
                (action,) = bucket.actions
                assert isinstance(action, Output)
                after.add(found.topology.ends[action.port - 1].neighbour)
        here, hops = after, hops + 1
        assert hops < 10
    return here, hops


@pytest.mark.parametrize("losses", [0, 1])
def test_packets_reach_every_leaf(losses: int) -> None:
    found = fat_tree()
    topology, policy = found.topology, build("capacity", found)
    policy.plan(view_of(found, set()))
    uplinks = uplinks_of(found, "leaf0")
    plans = dict(policy.plan(view_of(found, set(uplinks[:losses]))))
    assert set(plans) == set(topology.switches)
    for source in topology.leaf_index:
        for leaf in topology.leaf_index:
            if source != leaf:
                assert reached(found, plans, source, leaf)[0] == {leaf}


def test_a_switch_that_numbers_its_ports_anew_keeps_the_slots_of_its_paths() -> None:
    found = replace(fat_tree(), recipe="multipath")
    policy, ownership, leaf = build("capacity", found), Ownership(found.owner), found.topology.leaf_index["leaf7"]
    first, second = (port + 1 for port in uplinks_of(found, "leaf0"))
    other = {first: second, second: first}

    def owners(plans: Mapping[str, SwitchPlan]) -> dict[int, int]:
        return {slot: owner for slot, (owner, _) in present_owners(plans["leaf0"].desired, ownership, leaf).items()}

    view = view_of(found, set())
    before = owners(policy.plan(view))
    assert set(before.values()) == {first, second}
    # Described, and not read yet: other switches' news have a plan made meanwhile.
    numbers = {port: other.get(number, number) for port, number in view.openflow_port.items()}
    view = replace(view, openflow_port=numbers)
    policy.plan(view)
    moved = {slot: (other[owner], other[owner]) for slot, owner in before.items()}
    history = with_owners(Tables(), {ownership.group_id(leaf): moved}, ownership)
    after = owners(policy.plan(replace(view, observed={"leaf0": history})))
    assert after == {slot: other[owner] for slot, owner in before.items()}


def test_what_has_not_changed_is_the_same_object() -> None:
    found = fat_tree()
    policy = build("capacity", found)
    before = policy.plan(view_of(found, set()))
    uplink = uplinks_of(found, "leaf0")[0]
    after = policy.plan(view_of(found, {uplink}))
    again = policy.plan(view_of(found, {uplink}))
    same = {name for name in before if after[name] is before[name]}
    assert set() < same < set(before)
    assert "leaf0" not in same
    assert all(again[name] is after[name] for name in before)
    fresh = build("capacity", found).plan(view_of(found, {uplink}))
    assert {name: plan.desired for name, plan in fresh.items()} == {name: plan.desired for name, plan in after.items()}
