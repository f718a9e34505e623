"""DBB's dispatching lists in a lab's datapaths: the joint order of two stages of choice, compared packet by packet."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch import AnabranchError, _core
from anabranch.deploy.control.topology import Topology
from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ebpf import cycles
from anabranch.lab.switches.ebpf.forwarding import DatapathSwitches, Forwarding, choose
from anabranch.lab.switches.ebpf.switching import kernel_switches
from anabranch.lab.traffic.bursts import frames
from anabranch.lab.traffic.paced_sender import PacedSender
from anabranch.split.tuples import five_tuples
from support.lab_fixture import kernel_lab_of
from support.two_stages import FIG_2, FIG_5, LINKS, PACKETS, TRAFFIC, fabric, path, simulated

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def resolved(*overrides: tuple[str, str]) -> dict[str, Any]:
    text = f"[fabric]\n{fabric(FIG_2)}\n{TRAFFIC}"
    found: dict[str, Any] = tomllib.loads(_core.Scenario(text, "fig2.toml", list(overrides)).resolved_toml())
    return found


def forwarded(lab: Lab, forwarding: Forwarding) -> Iterator[list[str]]:
    """The path of each packet in the lab, sent one after the other by one processor, which counts for all."""
    switches = DatapathSwitches(lab, forwarding)
    switches.install()
    source, target = lab.hosts["h1"], lab.hosts["h6"]
    tuples = five_tuples(source.address, target.address, "udp", [5001], 9)
    packet = frames(tuples, source.mac, target.mac, payload=20)
    before = counted(lab)
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        with PacedSender((source.namespace, source.interface), (target.namespace, target.interface)) as sender:
            for _ in range(PACKETS):
                sender.send(packet)
                after = counted(lab)
                yield path({link: after[link] - before[link] for link in LINKS})
                before = after
    finally:
        os.sched_setaffinity(0, processors)


def counted(lab: Lab) -> dict[tuple[str, str], int]:
    """Packets towards S6 that each switch has sent to each neighbour."""
    with inside(lab.blueprint.switch_namespace):
        links = {socket.if_nametoindex(lab.interface(node, to)): (node, to) for node, to in LINKS}
    found = dict.fromkeys(LINKS, 0)
    for switch in ("S1", "S2", "S3", "S4", "S5"):
        datapath = kernel_switches(lab).datapath(switch)
        assert datapath is not None
        for group, members in zip(datapath.observed(), datapath.counters(), strict=True):
            if group.name == "S6":
                for target, (packets, _) in zip(group.targets, members, strict=True):
                    found[links[target]] += packets
    return found


@pytest.mark.parametrize("rates", [FIG_2, FIG_5], ids=["Fig. 2", "Fig. 5"])
def test_two_stages_take_the_packets_as_the_simulator_does(rates: tuple[int, ...], tmp_path: Path) -> None:
    expected = list(simulated(rates))
    assert len({*map(tuple, expected)}) == 4, "all paths are used"
    routing = resolved(("routing.balance", '"dbb"'))["routing"]
    with kernel_lab_of(tmp_path, fabric(rates)) as lab:
        assert list(forwarded(lab, choose(routing))) == expected
        # Weighted round robin at each switch by itself, which is what there was, is another order.
        assert list(forwarded(lab, Forwarding("cycle", "capacity"))) != expected


def test_lists_that_several_leaves_share_are_left_to_weights() -> None:
    more = '{ from = "h9", to = "S9" }, { from = "S9", to = "S2" }, { from = "S9", to = "S3" },'
    text = f"[fabric]\n{fabric(FIG_2, more)}\n"
    topology = Topology(_core.Fabric(text, "three.toml"))
    found = cycles.lists(topology, text, "three.toml", "dbb")
    assert found["S1", "S6"] == ("S2", "S3")
    assert found["S9", "S6"] == ("S2", "S3")
    # Packets of S1 and of S9 to S6 meet there.
    assert ("S2", "S6") not in found
    assert ("S3", "S6") not in found


def test_lists_longer_than_programs_take_are_refused_with_the_key() -> None:
    rates = (1009, 1013, 503, 506, 502, 511, 1005, 1017)
    text = f"[fabric]\n{fabric(rates)}\n"
    topology = Topology(_core.Fabric(text, "long.toml"))
    with pytest.raises(AnabranchError, match=r"S1, S1 to S6: \d+ turns, .* take 1024; set routing.scheme.max_n"):
        cycles.lists(topology, text, "long.toml", "dbb")
    assert cycles.lists(topology, text, "long.toml", "dbb", [("routing.scheme.max_n", "1024")])
