"""Linux kernels that route as the controller keeps them: packets, links, gateways, and what others do to routes."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

import pytest

from anabranch.deploy.control.ending import end, to_the_end
from anabranch.deploy.control.state import GroupState, Snapshot
from anabranch.deploy.netlink.announcements import Announcements
from anabranch.deploy.targets.linux.observe import LinuxState
from anabranch.deploy.targets.linux.session import kernel_routes
from anabranch.deploy.targets.linux.session.kernel_routes import RoutesSession
from support.dummy_fabric import Running, members
from support.own_namespace import in_own_namespace
from support.routed_fabric import RoutedFabric, routed_fabric
from support.waiting import wait

ONE, OTHER = "10.1.1.0/24", "fd00:1:1::/64"
"""What lies behind leaf1."""
BOTH = {"leaf0-spine0": 1, "leaf0-spine1": 1}


def split(fabric: RoutedFabric) -> dict[str, int]:
    """How leaf0 sends to leaf1: alike in both IP versions, or in the midst of a change."""
    four, six = (fabric.split("leaf0", prefix) for prefix in (ONE, OTHER))
    return four if four == six else {}


def changes(snapshot: Snapshot) -> dict[str, int]:
    return {switch.name: switch.changes for switch in snapshot.switches}


def reasons(snapshot: Snapshot) -> set[str]:
    return {link.reason for link in snapshot.links} - {""}


@in_own_namespace
def test_packets_are_forwarded_by_weights_in_both_versions() -> None:
    with routed_fabric() as fabric:

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                snapshot = await running.converged()
                assert members(snapshot, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1}
                assert split(fabric) == BOTH
                for version in (4, 6):
                    before = fabric.sent("leaf0")
                    assert await asyncio.to_thread(fabric.arrived, 200, version=version) == 200
                    after = fabric.sent("leaf0")
                    for uplink in BOTH:
                        assert 60 < after[uplink] - before[uplink] < 145
                # A rate that an operator writes beside the interface weighs.
                fabric.ip("leaf0", "link set leaf0-spine1 alias anabranch-rate-bps=2500000000")
                await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine0": 4, "spine1": 1})
                await running.converged()
                assert split(fabric) == {"leaf0-spine0": 4, "leaf0-spine1": 1}

        asyncio.run(follow())


@in_own_namespace
def test_a_carrier_that_returns_gets_its_path_back_and_a_restart_changes_nothing() -> None:
    with routed_fabric(parallel=2) as fabric:
        every = {f"leaf0-spine{spine}{number}": 1 for spine in (0, 1) for number in ("", "-1")}
        lost = "leaf0-spine0-1"

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                await running.converged()
                assert split(fabric) == every
                before = fabric.owners("leaf0", ONE)
                fabric.link("spine0-leaf0-1", up=False)
                await running.until(lambda one: reasons(one) != set())
                snapshot = await running.converged()
                # The kernel has removed nexthop and member itself; the other parallel link goes on.
                assert split(fabric) == {name: 1 for name in every if name != lost}
                moved = fabric.owners("leaf0", ONE)
                assert {old for old, new in zip(before, moved, strict=True) if old != new} == {lost}
                down = changes(snapshot)
                fabric.link("spine0-leaf0-1", up=True)
                await running.until(lambda one: not reasons(one))
                snapshot = await running.converged()
                assert split(fabric) == every
                # A nexthop and a member for each IP version, and nothing else at this leaf.
                assert changes(snapshot)["leaf0"] - down["leaf0"] == 4
                await asyncio.to_thread(
                    wait, lambda: fabric.owners("leaf0", ONE).count(lost) == len(before) // 4, lambda: "buckets"
                )
                back = fabric.owners("leaf0", ONE)
                assert {new for old, new in zip(moved, back, strict=True) if old != new} == {lost}
                # What the kernel removes itself is nobody's drift, and no mistake of ours.
                assert (snapshot.events["drifted"], snapshot.events["refused"]) == (0, 0)

        async def again() -> None:
            async with Running(fabric.file()) as running:
                snapshot = await running.converged()
                assert set(changes(snapshot).values()) == {0}

        asyncio.run(follow())
        asyncio.run(again())


@in_own_namespace
def test_a_leaf_that_cannot_be_reached_has_routes_that_drop() -> None:
    with routed_fabric() as fabric:

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                await running.converged()
                # A link that this leaf cannot see, and one that it can.
                fabric.link("leaf1-spine1", up=False)
                await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine0": 1})
                await running.converged()
                assert split(fabric) == {"leaf0-spine0": 1}
                fabric.link("spine0-leaf0", up=False)
                await running.until(lambda one: members(one, "leaf0", "leaf1") == {})
                await running.converged()
                for prefix in (ONE, OTHER):
                    version = "-6" if ":" in prefix else "-4"
                    assert fabric.run("leaf0", "ip", version, "route", "show", prefix).startswith("blackhole")
                fabric.link("leaf1-spine1", up=True)
                fabric.link("spine0-leaf0", up=True)
                await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1})
                snapshot = await running.converged()
                assert split(fabric) == BOTH
                assert not any(one.hop.drops for one in fabric.state("leaf0").nexthops.values())
                assert snapshot.events["drifted"] == 0

        asyncio.run(follow())


@in_own_namespace
def test_what_others_take_away_is_put_back_at_once_and_not_fought_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with routed_fabric() as fabric:
        # Who takes it away again at once is let be for so long.
        monkeypatch.setattr(kernel_routes, "AGAIN_S", 1e6)

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                await running.converged()
                fabric.ip("leaf0", f"route del {ONE} proto 171")
                await running.until(lambda one: one.events["drifted"] == 1 and one.converged)
                assert split(fabric) == BOTH
                fabric.ip("leaf0", f"route del {ONE} proto 171")
                # Links are followed all the same.
                fabric.link("spine0-leaf0", up=False)
                await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine1": 1})
                fabric.link("spine0-leaf0", up=True)
                snapshot = await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1})
                assert snapshot.events["drifted"] == 1
                assert fabric.run("leaf0", "ip", "route", "show", ONE) == ""

        asyncio.run(follow())


@in_own_namespace
def test_an_audit_finds_what_no_announcement_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with routed_fabric() as fabric:
        fabric.settings = '[measure]\naudit = "200 ms"\n'
        deaf = threading.Event()
        read = Announcements.read
        monkeypatch.setattr(Announcements, "read", lambda self: read(self) and not deaf.is_set())

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                await running.converged()
            # A successor changes nothing, so that nothing it did itself has it look.
            deaf.set()
            async with Running(fabric.file()) as running:
                await running.converged()
                fabric.ip("leaf0", f"route del {ONE} proto 171")
                await running.until(lambda one: one.events["drifted"] == 1 and one.converged)
                assert split(fabric) == BOTH

        asyncio.run(follow())


@in_own_namespace
def test_a_silent_gateway_is_left_out_everywhere_and_asked_again() -> None:
    with routed_fabric() as fabric:
        fabric.sysctl("leaf0", {"net/ipv4/neigh/leaf0-spine0/retrans_time_ms": "20"})

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                await running.converged()
                assert await asyncio.to_thread(fabric.arrived, 50) == 50
                fabric.ip("spine0", "addr del 10.9.0.2/24 dev spine0-leaf0")
                fabric.ip("leaf0", "neigh flush dev leaf0-spine0")
                with fabric.load("leaf0", "10.9.0.2"):
                    snapshot = await running.until(lambda one: bool(reasons(one)))
                assert reasons(snapshot) == {"leaf0: gateway does not answer"}
                # The other leaf avoids the link too.
                assert members(await running.converged(), "leaf1", "leaf0") == {"spine1": 1}
                assert split(fabric) == {"leaf0-spine1": 1}
                # No packet goes to it any more: that it answers comes out because it is asked.
                fabric.ip("spine0", "addr add 10.9.0.2/24 dev spine0-leaf0")
                snapshot = await running.until(lambda one: not reasons(one))
                snapshot = await running.converged()
                assert split(fabric) == BOTH
                assert snapshot.events["drifted"] == 0

        asyncio.run(follow())


@in_own_namespace
def test_a_route_of_somebody_else_is_named_and_tried_again() -> None:
    with routed_fabric() as fabric:
        fabric.ip("leaf0", f"route add {ONE} via 10.9.0.2 proto static")

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                snapshot = await running.until(lambda one: any(switch.refused for switch in one.switches))
                (refused,) = (switch for switch in snapshot.switches if switch.refused)
                assert refused.name == "leaf0"
                assert "somebody else's route has that prefix, table and metric" in refused.last_error
                # All or nothing.
                assert fabric.state("leaf0") == LinuxState()
                fabric.ip("leaf0", f"route del {ONE} proto static")
                await running.converged()
                assert split(fabric) == BOTH

        asyncio.run(follow())


@in_own_namespace
def test_shares_of_groups_are_measured_in_packets() -> None:
    with routed_fabric() as fabric:
        fabric.settings = '[measure]\ninterval = "2 s"\n'
        fabric.ip("leaf0", "link set leaf0-spine1 alias anabranch-rate-bps=2500000000")

        def towards(snapshot: Snapshot) -> GroupState:
            (group,) = (one for one in snapshot.groups if (one.switch, one.leaf) == ("leaf0", "leaf1"))
            return group

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                await running.until(
                    lambda one: one.converged and members(one, "leaf0", "leaf1") == {"spine0": 4, "spine1": 1}
                )
                assert split(fabric) == {"leaf0-spine0": 4, "leaf0-spine1": 1}
                # The interfaces are the oracle: they send the group's packets, and a few of neighbour discovery.
                before, counted = fabric.sent("leaf0"), await packets(running)
                assert await asyncio.to_thread(fabric.arrived, 200) == 200
                after, counts = fabric.sent("leaf0"), await packets(running) - counted
                assert counts.total() == 200
                for device, count in counts.items():
                    assert 0 <= after[device] - before[device] - count < 30
                assert counts["leaf0-spine0"] > 2 * counts["leaf0-spine1"] > 20
                # The first reading says nothing of an interval, and one may have a part of a burst only.
                sending = asyncio.create_task(bursts())
                group = towards(await running.until(lambda one: towards(one).measured_packets > 0))
                await end([sending])
                assert group.measured_bytes == 0
                assert sum(member.measured_share or 0 for member in group.members) == pytest.approx(1)

        async def bursts() -> None:
            while True:
                await to_the_end(fabric.arrived, 200)
                await asyncio.sleep(0.1)

        async def packets(running: Running) -> Counter[str]:
            session = running.controller.sessions["leaf0"]
            assert isinstance(session, RoutesSession)
            state, totals = fabric.state("leaf0"), await session.kernel.counted()
            number = next(one.nexthop_id for one in state.routes.values() if str(one.prefix) == ONE)
            return Counter({state.nexthops[hop].hop.device: count for hop, count in totals[number].items()})

        asyncio.run(follow())


@in_own_namespace
def test_shares_by_load_follow_what_links_carry() -> None:
    with routed_fabric() as fabric:
        fabric.settings = '[measure]\ninterval = "100 ms"\n'
        for spine in (0, 1):
            fabric.ip("leaf0", f"link set leaf0-spine{spine} alias anabranch-rate-bps=8000000")

        async def follow() -> None:
            async with Running(fabric.file('weights = "load"')) as running:
                snapshot = await running.until(lambda one: one.converged and members(one, "leaf0", "leaf1") != {})
                assert len(set(members(snapshot, "leaf0", "leaf1").values())) == 1
                with fabric.load("leaf0", "10.9.0.2"):
                    await running.until(lambda one: one.converged and heavier(one))
                    by_device = split(fabric)
                    assert 0 < by_device["leaf0-spine0"] < by_device["leaf0-spine1"]
            # The successor goes on from the shares in the kernel.
            async with Running(fabric.file('weights = "load"')) as running:
                assert changes(await running.converged())["leaf0"] == 0

        def heavier(snapshot: Snapshot) -> bool:
            weights = members(snapshot, "leaf0", "leaf1")
            return weights["spine0"] < weights["spine1"]

        asyncio.run(follow())
