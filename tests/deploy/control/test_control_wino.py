"""Wino's policy: slices from what links have left, by itself and in a controller over a real Open vSwitch."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anabranch import AnabranchError, _core
from anabranch.deploy.control import file as fabric_file
from anabranch.deploy.control import policy
from anabranch.deploy.control.log import RecentEvents
from anabranch.deploy.control.pages.site import Site
from anabranch.deploy.control.policy import View
from anabranch.deploy.control.policy.wino import Wino, build
from anabranch.deploy.control.state import Snapshot
from anabranch.deploy.control.topology import Topology
from anabranch.deploy.openflow.action import Output, ToGroup
from anabranch.deploy.openflow.tables import SELECT, Tables
from support.dummy_fabric import PATIENCE_S, DummyFabric, Running, dummy_fabric
from support.dummy_traffic import sending

M = 1_000_000
INTERFACES = {
    "leaf0": ["spine0", "spine1", "host0"],
    "leaf1": ["spine0", "spine1", "host1"],
    "spine0": ["leaf0", "leaf1"],
    "spine1": ["leaf0", "leaf1"],
}
Labels = dict[str, list[int]]


def text(options: str = "", rate: str = "10 Gbps") -> str:
    lines = [
        '[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1',
        f'link = {{ rate = "{rate}" }}',
    ]
    lines += ['[policy]\nweights = "wino"', f"[policy.wino]\n{options}"]
    for switch, neighbours in INTERFACES.items():
        named = ", ".join(f'{name} = "{switch}-{name}"' for name in neighbours)
        lines.append(f'[switch.{switch}]\nopenflow = "unix:/{switch}"\nports = {{ {named} }}')
    for leaf in (0, 1):
        lines.append(f'[leaf.leaf{leaf}]\nprefixes = ["10.1.{leaf}.0/24"]')
        lines.append(f'[host.host{leaf}]\naddresses = ["10.1.{leaf}.1"]')
    return "\n".join(lines)


class Clock:
    """Stands still."""

    now_s = 100.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now_s


def made(options: str = "", rate: str = "10 Gbps") -> tuple[Wino, View, Clock]:
    """The policy, and the network as built."""
    file, clock = fabric_file.parse(text(options, rate), "fabric.toml"), Clock()
    topology = file.topology
    numbers = {
        port: INTERFACES[end.node].index(end.neighbour) + 1
        for port, end in enumerate(topology.ends)
        if end.node in INTERFACES
    }
    count = len(topology.ends)
    return build(file, clock), View(topology, (True,) * count, topology.rate_bps, (0.0,) * count, numbers), clock


def with_link(view: View, a: str, b: str, *, rate_bps: int | None = None, up: bool = True) -> View:
    """Another state of one link."""
    here = {port for port, end in enumerate(view.topology.ends) if {end.node, end.neighbour} == {a, b}}
    rates = tuple(rate_bps if rate_bps and port in here else rate for port, rate in enumerate(view.rate_bps))
    return replace(
        view, rate_bps=rates, up=tuple(state and (up or port not in here) for port, state in enumerate(view.up))
    )


def measured(view: View, number: int, loads: dict[tuple[str, str], float], rules: dict[Any, float]) -> View:
    """Measurement `number`: loads by (node, neighbour)."""
    load = tuple(loads.get((end.node, end.neighbour), 0.0) for end in view.topology.ends)
    return replace(view, load_bps=load, rule_bps=rules, measurements=number)


def told(wino: Wino, plans: Any, leaf: str = "leaf0") -> Labels:
    """The labels by prefix that hosts of a leaf are told when all switches hold their plan."""
    said: Any = wino.labels({switch: plan.desired for switch, plan in plans.items()})
    found: Labels = said["leaves"][leaf]["labels"]
    return found


def ports(tables: Tables) -> list[int]:
    """OpenFlow ports by label, of the rules of slices; of failover groups the preferred one."""
    rules = {flow.match.as_mapping["ip_dscp"][0]: flow for flow in tables.flows if "ip_dscp" in flow.match.as_mapping}
    preferred = {group.group_id: group.buckets[0].watch_port for group in tables.groups}
    found = []
    for label in sorted(rules):
        way = rules[label].actions[-1]
        assert isinstance(way, (Output, ToGroup))
        found.append(way.port if isinstance(way, Output) else preferred[way.group_id])
    return found


def test_equal_paths_are_sprayed_over_and_unequal_ones_cut() -> None:
    wino, view, _ = made()
    plans = wino.plan(view)
    assert told(wino, plans) == {"10.1.1.0/24": [1, 2]}
    assert ports(plans["leaf0"].desired) == [1, 2]
    assert not plans["leaf0"].desired.meters
    assert wino.plan(view)["leaf0"] is plans["leaf0"]
    slow = with_link(view, "leaf0", "spine1", rate_bps=5000 * M)
    plans = wino.plan(slow)
    assert told(wino, plans) == {"10.1.1.0/24": [1, 2, 3]}
    assert told(wino, plans, "leaf1") == {"10.1.0.0/24": [1, 2, 3]}
    assert ports(plans["leaf0"].desired) == [1, 2, 1]
    assert {meter.rate_kbps for meter in plans["leaf0"].desired.meters} == {5_000_000}
    # Packets without a label still have the group by capacity.
    assert [member.weight for member in plans["leaf0"].groups[0].members] == [2, 1]
    assert len([group for group in plans["leaf0"].desired.groups if group.kind == SELECT]) == 1


def test_limits_of_slices_are_keys_of_the_file() -> None:
    wino, view, _ = made('slice_max = "1 Gbps"\nmeters = false\n')
    plans = wino.plan(with_link(view, "leaf0", "spine1", rate_bps=5000 * M))
    assert told(wino, plans) == {"10.1.1.0/24": list(range(1, 16))}
    assert not plans["leaf0"].desired.meters
    for options, error in [
        ('slice_max = "1 Mbps"', "policy.wino.slice_max: 1000000 bit/s: below slice_min"),
        ("label_bits = 7", "policy.wino.label_bits: 7: give a whole number from 1 to 6"),
        ("slices = 3", "policy.wino.slices: unknown key"),
        ("meters = 1", "policy.wino.meters: 1: give true or false"),
    ]:
        with pytest.raises(AnabranchError, match=re.escape(error)):
            made(options)


def test_many_leaves_and_multipath_want_the_same_group_numbers() -> None:
    file = fabric_file.parse(text(), "fabric.toml")
    many = Topology(_core.Fabric('[fabric]\nkind = "leaf-spine"\nleaves = 504\nspines = 1\nhosts_per_leaf = 1', "many"))
    assert build(replace(file, topology=many)).pairs == ()
    with pytest.raises(AnabranchError, match="multipath: with slices, group numbers are enough for 503"):
        build(replace(file, topology=many, recipe="multipath"))


def test_labels_that_end_stay_aliases_until_hosts_know() -> None:
    wino, view, clock = made('retire = "10 s"')
    slow = with_link(view, "leaf0", "spine1", rate_bps=1000 * M)
    before = wino.plan(slow)
    assert len(ports(before["leaf0"].desired)) == 11
    assert told(wino, before) == {"10.1.1.0/24": list(range(1, 12))}
    after = wino.plan(view)
    # Hosts are told what the leaf holds, not what it is about to.
    assert told(wino, before) == {"10.1.1.0/24": list(range(1, 12))}
    assert told(wino, after) == {"10.1.1.0/24": [1, 2]}
    assert ports(after["leaf0"].desired) == [1, 2] * 5 + [1]
    clock.now_s += 9
    assert wino.plan(view)["leaf0"] is after["leaf0"]
    clock.now_s += 2
    assert ports(wino.plan(view)["leaf0"].desired) == [1, 2]


def test_a_controller_that_begins_anew_finds_the_labels_that_hosts_may_have() -> None:
    wino, view, _ = made()
    held = wino.plan(with_link(view, "leaf0", "spine1", rate_bps=1000 * M))
    another, _, clock = made()
    installed = {switch: plan.desired for switch, plan in held.items()}
    plans = another.plan(replace(view, observed=installed))
    assert len(ports(plans["leaf0"].desired)) == 11
    clock.now_s += 11
    assert len(ports(another.plan(replace(view, observed=installed))["leaf0"].desired)) == 2


def test_a_dead_path_has_no_slices_and_a_dead_leaf_no_labels() -> None:
    wino, view, _ = made()
    wino.plan(view)
    plans = wino.plan(with_link(view, "leaf0", "spine1", up=False))
    assert told(wino, plans) == {"10.1.1.0/24": [1]}
    assert set(ports(plans["leaf0"].desired)) == {1}
    dead = with_link(with_link(view, "leaf0", "spine1", up=False), "leaf0", "spine0", up=False)
    plans = wino.plan(dead)
    assert told(wino, plans) == {}
    assert not ports(plans["leaf0"].desired)


def test_north_south_traffic_takes_what_slices_have() -> None:
    wino, view, _ = made()
    plans = wino.plan(view)
    # The paper's Fig. 5b: 1 and 6 Gbit/s leave 9 and 4, which is 13 slices of 1. One measurement may err, three not.
    loads = {("leaf0", "spine0"): 1000.0 * M, ("leaf0", "spine1"): 6000.0 * M}
    for number in (1, 2, 3):
        plans = wino.plan(measured(view, number, {} if number == 1 else loads, {}))
    assert len(told(wino, plans)["10.1.1.0/24"]) == 13
    assert told(wino, plans, "leaf1") == {"10.1.0.0/24": [1, 2]}
    # A measurement twice is none; little changes are none (5 % of 10 Gbit/s).
    same = plans["leaf0"]
    loads = {("leaf0", "spine0"): 1400.0 * M, ("leaf0", "spine1"): 5600.0 * M}
    for number in (4, 5, 6, 6):
        plans = wino.plan(measured(view, number, loads, {}))
    assert plans["leaf0"] is same
    # It ends.
    for number in (7, 8):
        plans = wino.plan(measured(view, number, {}, {}))
    assert told(wino, plans) == {"10.1.1.0/24": [1, 2]}


def test_what_slices_carry_is_no_north_south_traffic() -> None:
    wino, view, _ = made()
    slow = with_link(view, "leaf0", "spine1", rate_bps=5000 * M)
    plans = wino.plan(slow)
    rules = {
        (switch, flow.key): 4900.0 * M
        for switch in ("leaf0", "spine0", "spine1")
        for flow in plans[switch].desired.flows
        if "ip_dscp" in flow.match.as_mapping and flow.match.as_mapping["ip_dst"][0] == 0x0A010100
    }
    loads = {("leaf0", "spine0"): 9800.0 * M, ("leaf0", "spine1"): 4900.0 * M}
    loads |= {("spine0", "leaf1"): 9800.0 * M, ("spine1", "leaf1"): 4900.0 * M}
    for number in (1, 2, 3):
        assert wino.plan(measured(slow, number, loads, rules))["leaf0"] is plans["leaf0"]
    # A rule counts what its meter drops: 9 Gbit/s asked of a slice of 5 do not hide that the rest is no slice's.
    greedy = dict.fromkeys(rules, 9000.0 * M)
    for number in (4, 5, 6):
        found = wino.plan(measured(slow, number, loads | {("leaf0", "spine1"): 7500.0 * M}, greedy))
    assert {meter.rate_kbps for meter in found["leaf0"].desired.meters} == {2_500_000}


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[DummyFabric]:
    with dummy_fabric(tmp_path, settings='[measure]\ninterval = "50 ms"\naudit = "5 s"') as found:
        yield found


WINO = 'weights = "wino"\n[policy.wino]\nretire = "200 ms"'


def rate(fabric: DummyFabric, a: str, b: str, rate_bps: int) -> None:
    """Says in OVSDB what the link can."""
    for interface in (f"{a}-{b}", f"{b}-{a}"):
        fabric.open_vswitch.vsctl("set", "interface", interface, f"external_ids:anabranch-rate-bps={rate_bps}")


def meters(snapshot: Snapshot, leaf: str = "leaf0") -> int:
    return next(switch.meters for switch in snapshot.switches if switch.name == leaf)


def test_a_controller_cuts_slices_and_tells_hosts_once_switches_hold_them(fabric: DummyFabric) -> None:
    def labels(said: Any) -> int:
        return len(said["leaves"]["leaf0"]["labels"].get("10.1.1.0/24", ()))

    async def follow() -> None:
        async with Running(fabric.file(WINO)) as running:
            await running.converged()
            assert labels(running.controller.labels()) == 2
            rate(fabric, "leaf0", "spine0", 600 * M)
            rate(fabric, "leaf0", "spine1", 200 * M)
            await running.until(lambda snapshot: snapshot.converged and meters(snapshot) == 4)
            assert labels(running.controller.labels()) == 4
            fabric.link("leaf0-spine1", up=False)
            # Label 4 goes when its time is over; the others are slices of the path that is left, or its one slice.
            await running.until(lambda snapshot: snapshot.converged and meters(snapshot) == 0)
            assert labels(running.controller.labels()) == 1

    asyncio.run(follow())
    # Everything stands without the controller, and no label is lost.
    for tos in (0, 4, 8, 16, 252):
        found = fabric.open_vswitch.appctl(
            "ofproto/trace", "leaf0", f"in_port=leaf0-host0,udp,nw_src=10.1.0.1,nw_dst=10.1.1.1,nw_tos={tos}"
        )
        assert "Datapath actions: drop" not in found


def test_packets_without_labels_are_measured_and_those_of_slices_are_not(fabric: DummyFabric) -> None:
    def flow(tos: int, source_port: int) -> str:
        head = "in_port(1),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x0800)"
        ip = f"ipv4(src=10.1.0.1,dst=10.1.1.1,proto=17,tos={tos:#x},ttl=64,frag=no)"
        return f"{head},{ip},udp(src={source_port},dst=9)"

    def of_a_slice(number: int) -> str:
        """No two frames of one flow: each is counted when it passes, not when its flow is looked at next."""
        return flow(1 << 2, 1024 + number % 60_000)

    async def while_sending(running: Running, frame: Callable[[int], str], labels: int) -> None:
        """Sends until hosts are told so many labels, and for five measurements more: 5.6 Mbit/s."""
        async with sending(fabric.open_vswitch, "leaf0-host0", frame, 500, 1400):
            await running.until(lambda _: told_by(running) == labels)
            begun = running.controller.network.measurements
            await running.until(lambda _: running.controller.network.measurements > begun + 5)
            assert told_by(running) == labels

    def told_by(running: Running) -> int:
        said: Any = running.controller.labels()
        return len(said["leaves"]["leaf0"]["labels"].get("10.1.1.0/24", ()))

    async def follow() -> None:
        # Every flow by itself, whatever its rule looks at.
        fabric.open_vswitch.appctl("upcall/disable-megaflows")
        for spine in ("spine0", "spine1"):
            rate(fabric, "leaf0", spine, 8 * M)
        text = fabric.text(WINO + "\nhysteresis = 0.5").replace('interval = "50 ms"', 'interval = "500 ms"')
        async with Running(fabric_file.parse(text, "fabric.toml")) as running:
            await running.converged()
            await while_sending(running, of_a_slice, labels=2)
            # Outside all slices it leaves less than a slice of the path that it is on.
            await while_sending(running, lambda _: flow(0, 5000), labels=1)
            await running.until(lambda _: told_by(running) == 2)

    asyncio.run(follow())


def test_hosts_read_their_labels_from_a_page(fabric: DummyFabric) -> None:
    async def follow() -> None:
        async with Running(fabric.file(WINO)) as running:
            await running.converged()
            controller, recent = running.controller, RecentEvents()
            site = Site(controller.snapshot, controller.events, lambda: list(recent.events), controller.labels)
            await site.start("127.0.0.1:0")
            try:
                url = f"http://127.0.0.1:{site.address[1]}/slices.json"
                answer = await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=PATIENCE_S).read())
            finally:
                await site.close()
            assert json.loads(answer)["leaves"]["leaf1"] == {
                "prefixes": ["10.1.1.0/24"],
                "labels": {"10.1.0.0/24": [1, 2]},
            }

    asyncio.run(follow())


def test_policies_without_slices_tell_hosts_nothing() -> None:
    file = fabric_file.parse(text().replace('weights = "wino"\n[policy.wino]', 'weights = "equal"'), "fabric.toml")
    assert policy.build("equal", file).labels({}) is None
