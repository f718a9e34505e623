"""The controller's names for a fabric's ports."""

from __future__ import annotations

from anabranch import _core
from anabranch.deploy.control.topology import End, Topology

FABRIC = """
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
parallel_links = 2
"""


def test_parallel_links_have_one_number_at_both_ends() -> None:
    topology = Topology(_core.Fabric(FABRIC, "fabric.toml"))
    assert topology.switches == ("leaf0", "leaf1", "spine0")
    assert topology.leaf_index == {"leaf0": 0, "leaf1": 1}
    up = topology.port[End("leaf1", "spine0", 1)]
    assert topology.ends[topology.reverse[up]] == End("spine0", "leaf1", 1)
    assert len(topology.links) == 2 * 2 + 4
    assert [topology.ends[port] for port in topology.leaf_of["host3"]] == [End("leaf1", "host3", 0)]
    assert {topology.ends[port].neighbour for port in topology.ports_of["spine0"]} == {"leaf0", "leaf1"}
