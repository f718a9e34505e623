"""Datapaths that route as the controller keeps them: packets, silent gateways, and what their kernels must allow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import pytest

from anabranch import AnabranchError, _core
from anabranch.deploy.control import file
from anabranch.deploy.control.state import Snapshot
from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.targets.ebpf.folder import own_folder
from anabranch.deploy.targets.ebpf.session.groups import routed, without
from support.command import anabranch
from support.dummy_fabric import Running, members
from support.own_datapaths import with_own_datapaths
from support.routed_fabric import RoutedFabric, routed_fabric
from support.waiting import wait

UPLINKS = ("leaf0-spine0", "leaf0-spine1")


@contextmanager
def fabric_of_datapaths() -> Iterator[RoutedFabric]:
    """Its kernels route by themselves too: every leaf all by `spine0`, so that a packet elsewhere is the datapath's."""
    with routed_fabric(datapath="ebpf") as fabric:
        for leaf in (0, 1):
            net = 2 * leaf
            by = f"dev leaf{leaf}-spine0"
            fabric.ip(
                f"leaf{leaf}",
                f"route add 10.0.0.0/8 via 10.9.{net}.2 {by}",
                f"route add fd00::/16 via fd00:9:{net}::2 {by}",
            )
            for spine in (0, 1):
                net = 2 * leaf + spine
                by = f"dev spine{spine}-leaf{leaf}"
                fabric.ip(
                    f"spine{spine}",
                    f"route add 10.1.{leaf}.0/24 via 10.9.{net}.1 {by}",
                    f"route add fd00:1:{leaf}::/64 via fd00:9:{net}::1 {by}",
                )
        yield fabric


def reasons(snapshot: Snapshot) -> set[str]:
    return {link.reason for link in snapshot.links} - {""}


def neighbour(fabric: RoutedFabric) -> str:
    """What the kernel of leaf0 knows of its second gateway."""
    return fabric.run("leaf0", "ip", "neigh", "show", "10.9.1.2")


def sent(fabric: RoutedFabric, count: int, version: int = 4) -> list[int]:
    """Packets of so many connections from host0 to host1 that leave by each uplink; all arrive."""
    before = fabric.sent("leaf0")
    assert fabric.arrived(count, version=version) == count
    after = fabric.sent("leaf0")
    return [after[uplink] - before[uplink] for uplink in UPLINKS]


@with_own_datapaths
def test_packets_are_routed_by_weights_in_both_versions() -> None:
    with fabric_of_datapaths() as fabric:

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                snapshot = await running.converged()
                assert members(snapshot, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1}
                for version in (4, 6):
                    # Neighbours that are asked for first need a few packets of their own.
                    assert all(60 < packets < 160 for packets in await asyncio.to_thread(sent, fabric, 200, version))
                fabric.ip("leaf0", "link set leaf0-spine1 alias anabranch-rate-bps=2500000000")
                await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine0": 4, "spine1": 1})
                snapshot = await running.converged()
                one, other = await asyncio.to_thread(sent, fabric, 200)
                assert 2.5 * other < one
                assert snapshot.events["unrouted"] == 0
                fabric.link("spine1-leaf1", up=False)
                await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine0": 1})
                snapshot = await running.converged()
                assert await asyncio.to_thread(sent, fabric, 50, 6) >= [50, 0]
                assert (snapshot.events["drifted"], snapshot.events["refused"]) == (0, 0)

        async def again() -> None:
            async with Running(fabric.file()) as running:
                snapshot = await running.converged()
                assert {switch.changes for switch in snapshot.switches} == {0}

        asyncio.run(follow())
        asyncio.run(again())


@with_own_datapaths
def test_a_silent_gateway_is_left_out_everywhere_and_asked_again() -> None:
    with fabric_of_datapaths() as fabric:
        fabric.sysctl("leaf0", {"net/ipv4/neigh/leaf0-spine1/retrans_time_ms": "20"})

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                await running.converged()
                await asyncio.to_thread(sent, fabric, 50)
                fabric.ip("spine1", "addr del 10.9.1.2/24 dev spine1-leaf0")
                fabric.ip("leaf0", "neigh flush dev leaf0-spine1")
                with fabric.load("leaf0", "10.9.1.2"):
                    snapshot = await running.until(lambda one: bool(reasons(one)))
                assert reasons(snapshot) == {"leaf0: gateway does not answer"}
                assert members(await running.converged(), "leaf1", "leaf0") == {"spine0": 1}
                assert (await asyncio.to_thread(sent, fabric, 50))[0] >= 50
                await asyncio.to_thread(wait, lambda: "FAILED" in neighbour(fabric), lambda: neighbour(fabric))
                # What was sent meanwhile has been given up, and no packet goes to it: it is asked, or never answers.
                fabric.ip("spine1", "addr add 10.9.1.2/24 dev spine1-leaf0")
                await running.until(lambda one: not reasons(one))
                snapshot = await running.converged()
                assert all(packets > 10 for packets in await asyncio.to_thread(sent, fabric, 100))
                assert snapshot.events["drifted"] == 0

        asyncio.run(follow())


@with_own_datapaths
def test_what_a_kernel_does_not_forward_is_refused_and_what_it_has_no_route_to_is_named() -> None:
    with fabric_of_datapaths() as fabric:
        fabric.sysctl("leaf0", {"net/ipv6/conf/leaf0-host0/forwarding": "0"})
        fabric.ip("leaf1", "route del 10.0.0.0/8")

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                snapshot = await running.until(lambda one: one.events["refused"] > 0 and one.events["unrouted"] > 0)
                errors = {switch.name: switch.last_error for switch in snapshot.switches}
                assert "leaf0-host0: the kernel forwards no IPv6 from there" in errors["leaf0"]
                assert "sysctl -w net.ipv6.conf.leaf0-host0.forwarding=1" in errors["leaf0"]
                assert not errors["leaf1"]
                assert not snapshot.converged

        asyncio.run(follow())


def test_a_group_without_a_way_drops() -> None:
    """Members without an interface carry nothing; where none is left, the packets are nobody else's."""
    one = _core.KernelGroup("leaf1 IPv4", ["10.1.1.0/24"], [4, 5, 6], [1, 2, 3], [True, True, False], "redirect", 7, 8)
    gateways = {number: {4: ip_address(f"10.9.{number}.2")} for number in (4, 6)}
    (group,) = routed([one], gateways)
    assert (group.output, group.up, group.weights) == ("route", [True, False, False], [1, 2, 3])
    assert [str(gateway) for gateway in group.gateways] == ["10.9.4.2", "10.9.4.2", "10.9.6.2"]
    assert (group.seed, group.pause_ns) == (7, 8)
    (none,) = routed(without([one], frozenset({4})), gateways)
    assert (none.output, none.up, list(none.gateways)) == ("redirect", [False] * 3, [])


@with_own_datapaths
def test_gateways_are_checked_and_once_leaves_a_datapath_that_routes(tmp_path: Path) -> None:
    with fabric_of_datapaths() as fabric:
        text = fabric.text()
        for old, new, problem in (
            (
                'spine0 = ["10.9.0.2", "fd00:9:0::2"]',
                'spine0 = ["10.9.0.2"]',
                "spine0: no address of IPv6, which the fabric",
            ),
            ('spine0 = ["10.9.0.2", "fd00:9:0::2"], ', "", "switch.leaf0.gateways.spine0: no address of IPv4"),
            ('["10.9.0.2", ', '["10.9.0", ', "switch.leaf0.gateways.spine0: 10.9.0: not an address"),
            ("gateways = { spine0", "gateways = { spine9", "switch.leaf0.gateways.spine9: no neighbour of leaf0"),
        ):
            assert old in text, (old, text)
            with pytest.raises(AnabranchError, match=problem):
                file.parse(text.replace(old, new, 1), "fabric.toml")
        plan = tmp_path / "fabric.toml"
        plan.write_text(text)
        assert anabranch("control", str(plan), "--once", "--timeout", "60").returncode == 0
        with inside(fabric.namespace("leaf0")):
            datapath = _core.KernelDatapath.open(own_folder() / "leaf0")
        assert datapath is not None
        assert [(one.name, one.output) for one in datapath.observed()] == [
            ("leaf1 IPv4", "route"),
            ("leaf1 IPv6", "route"),
        ]
        again = anabranch("control", str(plan), "--dry-run", "--timeout", "60")
        assert (again.returncode, "group leaf" in again.stdout) == (0, False), again.stdout


@with_own_datapaths
def test_a_prefix_that_loses_its_route_and_gets_it_back_is_named() -> None:
    with fabric_of_datapaths() as fabric:

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                await running.converged()
                for lost in (1, 2):
                    fabric.ip("leaf1", "route del 10.0.0.0/8")
                    await running.until(lambda one, count=lost: one.events["unrouted"] == count)  # type: ignore[misc]
                    fabric.ip("leaf1", "route add 10.0.0.0/8 via 10.9.2.2 dev leaf1-spine0")
                    await running.until(lambda one, count=lost: one.events["routed-again"] == count)  # type: ignore[misc]
                assert (await running.converged()).events["drifted"] == 0

        asyncio.run(follow())
