"""The controller over real Open vSwitch daemons (dummy datapath): what stands in bridges, and what is left alone."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from anabranch.deploy.control import controller
from anabranch.deploy.control.network import Network
from anabranch.deploy.control.policy.load import UNITS
from anabranch.deploy.control.state import Snapshot
from anabranch.deploy.openflow.connection import Connection
from anabranch.deploy.openflow.port import Port
from anabranch.deploy.openflow.tables import Flow, Tables
from anabranch.deploy.targets.ovs.daemons import DATABASE, SWITCH
from anabranch.deploy.targets.ovs.session.bridge import BridgeSession
from anabranch.deploy.targets.ovs.session.rules import RECIPES
from support.dummy_fabric import PATIENCE_S, DummyFabric, Running, dummy_fabric, members

FOREIGN_FLOW = "cookie=0x1234,table=0,priority=5,udp,actions=drop"
FOREIGN_GROUP = "group_id=77,type=select,bucket=output:1"


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[DummyFabric]:
    with dummy_fabric(tmp_path, settings='[measure]\ninterval = "50 ms"\naudit = "300 ms"') as found:
        yield found


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan before all switches are read, however long that takes."""
    monkeypatch.setattr(controller, "SETTLE_S", PATIENCE_S)


def received(fabric: DummyFabric, what: str) -> int:
    """How many messages of a kind the switch has logged, which logs 600 of all kinds and then 10 a second (vconn.c)."""
    log = (fabric.folder / "ovs-vswitchd.log").read_text()
    return len(re.findall(rf"received: {what}", log))


def measure_every(fabric: DummyFabric, interval: str) -> None:
    fabric.settings = fabric.settings.replace('interval = "50 ms"', f'interval = "{interval}"')


def await_received(fabric: DummyFabric, what: str, count: int = 1) -> None:
    """Waits until so many are in the log, which is written after the fact."""
    deadline = time.monotonic() + PATIENCE_S
    while received(fabric, what) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def trace(fabric: DummyFabric, switch: str, flow: str) -> set[str]:
    """The interfaces that a packet leaves by."""
    found = fabric.open_vswitch.appctl("ofproto/trace", switch, flow)
    (actions,) = re.findall(r"Datapath actions: (.*)", found)
    shown = fabric.open_vswitch.appctl("dpif/show")
    names = {number: name for name, number in re.findall(r"(\S+) \d+/(\d+):", shown)}
    return {names[number] for number in re.findall(r"\d+", actions)}


def test_packets_go_by_every_path_and_to_their_host(fabric: DummyFabric) -> None:
    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()

    asyncio.run(follow())
    # The rules stay when the controller has gone.
    packets = [f"in_port=leaf0-host0,tcp,nw_dst=10.1.1.1,nw_ttl=64,tp_src={port},tp_dst=80" for port in range(40)]
    taken = [trace(fabric, "leaf0", packet) for packet in packets]
    assert {path for paths in taken for path in paths} == {"leaf0-spine0", "leaf0-spine1"}
    assert all(len(paths) == 1 for paths in taken)
    arp = "arp,arp_tpa=10.1.1.1,arp_op=1,dl_dst=ff:ff:ff:ff:ff:ff"
    assert trace(fabric, "leaf1", f"in_port=leaf1-spine0,{arp}") == {"leaf1-host1"}
    assert trace(fabric, "spine1", f"in_port=spine1-leaf0,{arp}") == {"spine1-leaf1"}


@pytest.mark.usefixtures("_patient")
def test_a_restart_changes_nothing_and_what_is_others_stays(fabric: DummyFabric) -> None:
    measure_every(fabric, "1 min")
    fabric.open_vswitch.ofctl("add-flow", "leaf0", FOREIGN_FLOW)
    fabric.open_vswitch.ofctl("add-group", "leaf0", FOREIGN_GROUP)

    async def follow() -> int:
        async with Running(fabric.file()) as running:
            snapshot = await running.converged()
            return sum(switch.changes for switch in snapshot.switches)

    assert asyncio.run(follow()) > 0
    fabric.open_vswitch.appctl("vlog/set", "vconn:file:dbg")
    assert asyncio.run(follow()) == 0
    # Whatever came before this is in the log.
    fabric.open_vswitch.ofctl("dump-tables", "leaf0")
    await_received(fabric, "OFPST_TABLE request")
    assert received(fabric, "OFPT_BUNDLE_CONTROL") == 0
    assert received(fabric, r"OFPT_(FLOW|GROUP|METER)_MOD") == 0
    assert "cookie=0x1234" in fabric.open_vswitch.ofctl("dump-flows", "leaf0")
    assert "group_id=77" in fabric.open_vswitch.ofctl("dump-groups", "leaf0")


def test_a_lost_link_changes_one_group_a_switch(fabric: DummyFabric) -> None:
    measure_every(fabric, "1 min")

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            before = await running.converged()
            assert members(before, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1}
            fabric.open_vswitch.appctl("vlog/set", "vconn:file:dbg")
            # The other end tells too: a link is down if either end says so.
            fabric.link("spine1-leaf1", up=False)
            after = await running.until(lambda snapshot: snapshot.plans > before.plans and snapshot.converged)
            assert members(after, "leaf0", "leaf1") == {"spine0": 1}
            changed = {
                one.name: one.changes - was.changes for one, was in zip(after.switches, before.switches, strict=True)
            }
            # spine1 reaches leaf1 by way of leaf0 now.
            assert changed == {"leaf0": 1, "leaf1": 1, "spine0": 0, "spine1": 1}
            await asyncio.to_thread(await_received, fabric, "OFPT_BUNDLE_ADD_MESSAGE", 3)
            assert received(fabric, "OFPT_BUNDLE_ADD_MESSAGE") == 3
            (link,) = [link for link in after.links if not link.up]
            assert (link.a, link.b, link.reason) == ("leaf1", "spine1", "spine1: port down")
            (group,) = await fabric.groups("leaf0")
            assert [bucket.bucket_id for bucket in group.buckets] == [0]
            fabric.link("spine1-leaf1", up=True)
            both = {"spine0": 1, "spine1": 1}
            again = await running.until(lambda one: members(one, "leaf0", "leaf1") == both and one.converged)
            assert [group for group in again.groups if group.members] == list(before.groups)

    asyncio.run(follow())


def test_a_fabric_is_not_as_planned_while_a_plan_is_to_come(fabric: DummyFabric) -> None:
    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            # As if the last had taken that long.
            running.controller._planned_until_s = time.monotonic() + 3600
            fabric.link("leaf0-spine0", up=False)
            found = await running.until(lambda one: not all(link.up for link in one.links))
            assert not any(switch.differences for switch in found.switches)
            assert found.unplanned
            assert not found.converged

    asyncio.run(follow())


def test_capacity_follows_a_links_rate(fabric: DummyFabric) -> None:
    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            fabric.open_vswitch.vsctl("set", "interface", "leaf1-spine1", "external_ids:anabranch-rate-bps=2500000000")
            await running.until(
                lambda one: members(one, "leaf0", "leaf1") == {"spine0": 4, "spine1": 1} and one.converged
            )
            (group,) = await fabric.groups("leaf0")
            weights = {bucket.bucket_id: bucket.weight for bucket in group.buckets}
            # Of two scores the lesser weight b wins with b / 2a: 1 / 5 (VALO Eq. 4b).
            assert weights == {0: 65535, 1: pytest.approx(0.4 * 65535, abs=1)}
            fabric.link("leaf0-spine0", up=False)
            await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine1": 1} and one.converged)
            fabric.link("leaf0-spine0", up=True)
            fabric.open_vswitch.vsctl("remove", "interface", "leaf1-spine1", "external_ids", "anabranch-rate-bps")
            await running.until(
                lambda one: members(one, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1} and one.converged
            )

    asyncio.run(follow())


@pytest.mark.usefixtures("_patient")
@pytest.mark.parametrize("recipe", ["dp_hash-twin", "multipath"])
def test_other_recipes_reconcile_too(fabric: DummyFabric, recipe: str) -> None:
    async def follow() -> int:
        async with Running(fabric.file(f'weights = "capacity"\nrecipe = "{recipe}"')) as running:
            return sum(switch.changes for switch in (await running.converged()).switches)

    assert asyncio.run(follow()) > 0
    assert asyncio.run(follow()) == 0


def test_switch_and_database_killed_come_back_to_the_plan(fabric: DummyFabric) -> None:
    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            ovs = fabric.open_vswitch
            await asyncio.to_thread(ovs.kill, SWITCH)
            await asyncio.to_thread(ovs.kill, DATABASE)
            lost = await running.until(lambda snapshot: not any(one.connected for one in snapshot.switches))
            assert all(one.last_error or not one.connected for one in lost.switches)
            await asyncio.to_thread(ovs.start_database)
            await asyncio.to_thread(ovs.start_switch)
            back = await running.until(
                lambda one: one.converged and all(switch.connects >= 2 for switch in one.switches)
            )
            assert all(switch.flows and switch.groups for switch in back.switches)

    asyncio.run(follow())
    assert len(fabric.open_vswitch.ofctl("dump-groups", "spine0").splitlines()) == 3


def test_what_somebody_removed_is_put_back(fabric: DummyFabric) -> None:
    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            for _ in range(2):
                commits = running.controller.snapshot().events["committed"]
                await asyncio.to_thread(fabric.open_vswitch.ofctl, "del-groups", "leaf1")

                def mended(one: Snapshot, commits: int = commits) -> bool:
                    return one.events["committed"] > commits and one.converged

                found = await running.until(mended)
                assert len(await fabric.groups("leaf1")) == 1
            assert found.events["refused"] == 0

    asyncio.run(follow())


def test_tables_that_were_read_while_somebody_removed_them_are_mended(
    fabric: DummyFabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = BridgeSession._read
    stale: list[frozenset[Flow]] = []

    async def torn(self: BridgeSession, connection: Connection) -> Tables:
        found = await read(self, connection)
        if self.name == "leaf1" and stale and not found.groups:
            # The rules were read before they were removed, the groups after.
            return replace(found, flows=stale.pop())
        return found

    monkeypatch.setattr(BridgeSession, "_read", torn)

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            installed = running.controller.sessions["leaf1"].observed
            assert installed is not None
            stale.append(installed.flows)
            await asyncio.to_thread(fabric.open_vswitch.ofctl, "del-groups", "leaf1")
            found = await running.until(lambda one: not stale and one.converged and one.events["committed"] >= 6)
            assert found.events["refused"] == 0
        assert "group:" in fabric.open_vswitch.ofctl("dump-flows", "leaf1")

    asyncio.run(follow())


def test_a_refusal_is_told_once_and_tried_again_when_something_changed(fabric: DummyFabric) -> None:
    measure_every(fabric, "500 ms")
    fabric.open_vswitch.vsctl(
        "--id=@table", "create", "Flow_Table", "flow_limit=2", "overflow_policy=refuse",
        "--", "set", "Bridge", "leaf0", "flow_tables:0=@table",
    )  # fmt: skip

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            # The others have what is theirs, and nothing more to send.
            first = await running.until(
                lambda one: (
                    one.switches[0].refused
                    and all(switch.commits and not switch.differences for switch in one.switches[1:])
                )
            )
            assert "TABLE_FULL" in first.switches[0].last_error
            assert first.switches[0].differences > 0
            assert await fabric.groups("leaf0") == []
            # Neither audits nor measurements have it sent again.
            fabric.open_vswitch.appctl("vlog/set", "vconn:file:dbg")
            await asyncio.to_thread(await_received, fabric, "OFPST_METER_CONFIG request", 3 * len(first.switches))
            await asyncio.to_thread(await_received, fabric, "OFPST_PORT request", 3 * len(first.switches))
            assert running.controller.snapshot().events["refused"] == 1
            assert received(fabric, "OFPT_BUNDLE") == 0
            fabric.open_vswitch.vsctl("clear", "Bridge", "leaf0", "flow_tables")
            fabric.link("leaf0-spine1", up=False)
            last = await running.until(lambda one: one.converged)
            assert members(last, "leaf0", "leaf1") == {"spine0": 1}
            assert last.switches[0].last_error == ""

    asyncio.run(follow())


def test_a_flapping_link_is_damped_and_starves_nobody(fabric: DummyFabric) -> None:
    fabric.settings += '\n[damping]\nsuppress = 3\nreuse = 1\nhalf_life = "3600 s"'

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            before = await running.converged()
            for _ in range(10):
                for up in (False, True):
                    await asyncio.to_thread(fabric.link, "leaf0-spine0", up)
                    await asyncio.sleep(0.02)
            found = await running.until(lambda one: [link.reason for link in one.links if not link.up] == ["damped"])
            # Three losses and returns, and the fourth loss.
            assert found.plans - before.plans <= 7
            # Another link's change comes through meanwhile.
            fabric.link("leaf1-spine1", up=False)
            await running.until(lambda one: one.converged and members(one, "leaf0", "leaf1") == {})
            fabric.link("leaf1-spine1", up=True)
            await running.until(lambda one: one.converged and members(one, "leaf0", "leaf1") == {"spine1": 1})

    asyncio.run(follow())


def test_a_damped_link_is_used_again_when_it_has_been_quiet(fabric: DummyFabric) -> None:
    # One loss is enough.
    fabric.settings += '\n[damping]\nsuppress = 1\nreuse = 0.5\nhalf_life = "500 ms"'

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            for up in (False, True):
                await asyncio.to_thread(fabric.link, "leaf0-spine0", up)
            await running.until(lambda one: one.converged and one.events["link-down"] == one.events["link-up"] == 1)
            found = running.controller.snapshot()
            assert found.events["damped"] == 1
            assert len(members(found, "leaf0", "leaf1")) == 2

    asyncio.run(follow())


def test_silent_loss_is_seen_by_bfd(fabric: DummyFabric) -> None:
    # A machine that is too busy for the packets of BFD makes losses of its own.
    fabric.settings += "\n[damping]\nuse = false"
    ovs = fabric.open_vswitch
    wire = f"{fabric.folder}/wire"

    def bfd(interface: str) -> list[str]:
        return ["set", "interface", interface, "bfd:enable=true", "bfd:min_rx=500", "bfd:min_tx=500"]

    ovs.vsctl("set", "interface", "leaf0-spine0", f"options:pstream=punix:{wire}")
    ovs.vsctl("set", "interface", "spine0-leaf0", f"options:stream=unix:{wire}")

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            ovs.vsctl(*bfd("leaf0-spine0"))
            found = await running.until(lambda one: not all(link.up for link in one.links))
            (link,) = [link for link in found.links if not link.up]
            assert link.reason == "leaf0: BFD down"
            ovs.vsctl(*bfd("spine0-leaf0"))
            await running.until(lambda one: all(link.up for link in one.links) and one.converged)
            ovs.vsctl("set", "interface", "spine0-leaf0", "bfd:enable=false")
            await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine1": 1} and one.converged)

    asyncio.run(follow())


@pytest.mark.usefixtures("_patient")
def test_shares_by_load_survive_a_restart(fabric: DummyFabric) -> None:
    # Longer than the test: what is measured would take the shares back to equal ones.
    measure_every(fabric, "1 min")

    async def follow(learn: bool) -> int:
        async with Running(fabric.file('weights = "load"')) as running:
            await running.converged()
            if learn:
                # Dummy ports carry nothing by themselves; what they carried is put where the counters end.
                policy = running.controller._policy
                for group in policy._groups.values():  # type: ignore[attr-defined]
                    if len(group.installed) == 2:
                        group.installed = [0.3, 0.7]
                running.controller._changed()
                await running.until(
                    lambda one: members(one, "leaf0", "leaf1")["spine0"] == 0.3 * UNITS and one.converged
                )
            return sum(switch.changes for switch in running.controller.snapshot().switches)

    assert asyncio.run(follow(learn=True)) > 0
    assert asyncio.run(follow(learn=False)) == 0


def test_another_fabric_file_is_taken_on_without_flushing(fabric: DummyFabric) -> None:
    async def follow() -> None:
        async with Running(fabric.file()) as running:
            before = await running.converged()
            running.controller.reload(fabric.file('weights = "equal"'))
            after = await running.until(
                lambda one: one.policy == "equal" and one.converged and one.plans > before.plans
            )
            # Links of one rate: both policies want the same.
            assert sum(switch.changes for switch in after.switches) == 0
            assert after.events["reloaded"] == 1

    asyncio.run(follow())


def test_a_bridge_of_another_version_is_told_how_to_speak_ours(fabric: DummyFabric) -> None:
    fabric.open_vswitch.vsctl("set", "bridge", "leaf0", "protocols=OpenFlow13")

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            hint = "ovs-vsctl set bridge leaf0 protocols=OpenFlow13,OpenFlow15"
            await running.until(lambda one: hint in one.switches[0].last_error)
            # The others do not wait for it.
            await running.until(lambda one: all(switch.commits for switch in one.switches[1:]))
            fabric.open_vswitch.vsctl(*hint.split()[1:])
            await running.converged()

    asyncio.run(follow())


def test_a_mistake_about_one_switch_is_not_the_others(fabric: DummyFabric, monkeypatch: pytest.MonkeyPatch) -> None:
    described = Network.described

    def broken(self: Network, switch: str, ports: Iterable[Port]) -> bool:
        if switch == "leaf0" and not mended:
            raise KeyError("a mistake")
        return described(self, switch, ports)

    mended: list[bool] = []
    monkeypatch.setattr(Network, "described", broken)

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.until(
                lambda one: (
                    all(switch.commits for switch in one.switches[1:]) and "please report" in one.switches[0].last_error
                )
            )
            mended.append(True)
            await running.converged()

    asyncio.run(follow())


def test_ports_that_come_back_under_other_numbers(fabric: DummyFabric) -> None:
    ovs = fabric.open_vswitch

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            before = await running.converged()
            await asyncio.to_thread(ovs.kill, SWITCH)
            swapped = (("leaf0-spine0", 21), ("leaf0-spine1", 20))
            for interface, number in swapped:
                command = ["--no-wait", "set", "interface", interface, f"ofport_request={number}"]
                await asyncio.to_thread(ovs.vsctl, *command)
            await asyncio.to_thread(ovs.start_switch)
            after = await running.until(lambda one: one.converged and all(each.connects >= 2 for each in one.switches))
            (group,) = await fabric.groups("leaf0")
            assert [bucket.watch_port for bucket in group.buckets] == [21, 20]
            # The plan with the old numbers was not sent before.
            assert after.switches[0].commits == before.switches[0].commits + 1

    asyncio.run(follow())


@pytest.mark.parametrize("recipe", RECIPES)
def test_rates_without_a_common_divisor_fit_every_recipe(fabric: DummyFabric, recipe: str) -> None:
    odd = ["set", "interface", "leaf0-spine0", "external_ids:anabranch-rate-bps=4999999937"]
    fabric.open_vswitch.vsctl(*odd)

    async def follow() -> None:
        async with Running(fabric.file(f'weights = "capacity"\nrecipe = "{recipe}"')) as running:
            found = await running.converged()
            assert members(found, "leaf0", "leaf1") == {"spine0": 4999999937, "spine1": 10**10}

    asyncio.run(follow())
