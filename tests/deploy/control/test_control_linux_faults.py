"""Linux kernels that route under a controller: killed at any moment, beside other kinds of switch, on lossy links."""

from __future__ import annotations

import asyncio
import random
import re
from pathlib import Path
from typing import Any

import pytest

from anabranch import AnabranchError
from anabranch.deploy.control import file
from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.targets.linux.change import steps, take
from anabranch.deploy.targets.linux.observe import LinuxState
from support.command import anabranch
from support.controller_process import ControllerProcess, controller
from support.dummy_fabric import Running, members
from support.own_datapaths import ip, with_own_datapaths
from support.own_namespace import in_own_namespace
from support.reserved_port import reserved_port
from support.routed_fabric import RoutedFabric, routed_fabric
from support.waiting import wait

ONE = "10.1.1.0/24"
BOTH = {"leaf0-spine0": 1, "leaf0-spine1": 1}
PAGES = 'http = "127.0.0.1:0"'


def content(fabric: RoutedFabric) -> tuple[dict[str, list[tuple[str, int]]], int, int]:
    """Members of leaf0's groups by route, and the numbers of nexthops and groups: numbers that they have may differ."""
    state = fabric.state("leaf0")
    members = {
        str(route): sorted(
            (str(state.nexthops[number].hop), weight) for number, weight in state.groups[route.nexthop_id].members
        )
        for route in state.routes.values()
    }
    return members, len(state.nexthops), len(state.groups)


@in_own_namespace
def test_a_controller_that_ends_after_any_step_leaves_what_its_successor_completes() -> None:
    with routed_fabric() as fabric:
        namespace = fabric.namespace("leaf0")

        async def converge() -> None:
            async with Running(fabric.file()) as running:
                await running.converged()

        asyncio.run(converge())
        whole, before = content(fabric), LinuxState()
        every = steps(before, fabric.state("leaf0"))
        assert len(every) == 14
        for count in range(len(every)):
            with inside(namespace), Connection() as connection:
                devices = {device.name: device for device in kernel.devices(connection)}
                for step in steps(fabric.state("leaf0"), before):
                    take(connection, step, devices)
                for step in every[:count]:
                    take(connection, step, devices)
            # No route leads to what is not there yet.
            state = fabric.state("leaf0")
            assert {route.nexthop_id for route in state.routes.values()} <= state.groups.keys()
            asyncio.run(converge())
            assert content(fabric) == whole


@in_own_namespace
def test_a_controller_that_is_killed_while_links_flap_has_a_successor_that_converges(tmp_path: Path) -> None:
    moments = random.Random(7)
    ip("link", "set", "lo", "up")
    with routed_fabric() as fabric, reserved_port() as port:
        plan = tmp_path / "fabric.toml"
        plan.write_text(fabric.text().replace(PAGES, f'http = "127.0.0.1:{port}"'))
        with controller(plan, port) as process:
            process.wait_healthy()
            whole = content(fabric)
            for _ in range(2):
                for up in (False, True):
                    fabric.link("spine0-leaf0", up)
                # Anywhere in the answer to it, or before.
                asyncio.run(asyncio.sleep(moments.uniform(0, 0.05)))
                process.kill()
                process.start()
                process.wait_healthy()
                assert content(fabric) == whole


@in_own_namespace
def test_a_second_controller_follows_kernels_when_the_first_is_killed(tmp_path: Path) -> None:
    ip("link", "set", "lo", "up")
    with routed_fabric() as fabric, reserved_port() as port, reserved_port() as other:
        files = []
        for name, number in (("first", port), ("second", other)):
            files.append(tmp_path / f"{name}.toml")
            files[-1].write_text(fabric.text().replace(PAGES, f'http = "127.0.0.1:{number}"'))
        with controller(files[0], port) as first:
            first.wait_healthy()
            whole = content(fabric)
            with controller(files[1], other) as second:
                wait(lambda: len(named(second, "unreachable")) == 4, second.log.read_text)
                (error,) = {event["error"].partition(": ")[2] for event in named(second, "unreachable")}
                hint = "this one changes nothing, and goes on when that ends"
                assert error == f"another controller with owner 0 follows it; {hint}"
                assert (second.healthy(), first.healthy()) == (False, True)
                once = anabranch("control", str(files[1]), "--once", "--timeout", "1")
                assert once.returncode == 1
                assert "leaf0: another controller with owner 0 follows it" in " ".join(once.stdout.split())
                # Who only looks needs no lock.
                assert anabranch("control", str(files[1]), "--dry-run").returncode == 0
                first.kill()
                second.wait_healthy()
                assert (content(fabric), named(second, "committed")) == (whole, [])


def named(process: ControllerProcess, event: str) -> list[dict[str, Any]]:
    return [one for one in process.events() if one["event"] == event]


@in_own_namespace
def test_once_puts_the_plan_there_and_a_dry_run_only_says_it(tmp_path: Path) -> None:
    with routed_fabric() as fabric:
        plan = tmp_path / "fabric.toml"
        plan.write_text(fabric.text())
        shown = anabranch("control", str(plan), "--dry-run")
        assert shown.returncode == 0, shown.stderr
        lines = " ".join(shown.stdout.split())
        assert re.search(r"\+ group 0xab\S+ resilient .* 10.9.0.2 on leaf0-spine0 weight=1", lines)
        assert re.search(r"\+ route 10.1.1.0/24 table 254 metric 0 -> group 0xab", lines)
        assert fabric.state("leaf0") == LinuxState()
        assert anabranch("control", str(plan), "--once").returncode == 0
        assert fabric.split("leaf0", ONE) == BOTH
        again = anabranch("control", str(plan), "--dry-run")
        assert (again.returncode, "route" in again.stdout) == (0, False)


@with_own_datapaths
def test_a_spine_may_be_a_datapath_in_the_kernel() -> None:
    with routed_fabric(bare=("spine1",)) as fabric:
        fabric.pass_frames("spine1")

        async def follow() -> None:
            async with Running(fabric.file(more={"spine1": 'datapath = "ebpf"'})) as running:
                await running.converged()
                assert fabric.split("leaf0", ONE) == BOTH
                for version in (4, 6):
                    before = fabric.sent("leaf0")
                    assert await asyncio.to_thread(fabric.arrived, 100, version=version) == 100
                    after = fabric.sent("leaf0")
                    assert all(after[uplink] - before[uplink] > 20 for uplink in BOTH)
                # Each kind learns of what the other has lost.
                fabric.link("spine1-leaf1", up=False)
                await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine0": 1})
                await running.converged()
                assert fabric.split("leaf0", ONE) == {"leaf0-spine0": 1}
                assert await asyncio.to_thread(fabric.arrived, 100) == 100

        asyncio.run(follow())


@in_own_namespace
def test_loss_that_no_end_reports_is_seen_by_counters() -> None:
    with routed_fabric() as fabric:
        fabric.settings = '[measure]\ninterval = "50 ms"\n'
        fabric.interpose("leaf0", "spine0")

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                await running.converged()
                with fabric.load("leaf0", "10.9.0.2"):
                    snapshot = await running.until(lambda one: any(any(link.lost_share) for link in one.links))
                (link,) = (link for link in snapshot.links if any(link.lost_share))
                assert (link.a, link.b, link.up, link.lost_share[1]) == ("leaf0", "spine0", True, 0.0)
                assert not snapshot.converged

        asyncio.run(follow())


def text() -> str:
    """A fabric file whose namespaces nobody looks for."""
    fabric = RoutedFabric(parallel=2)
    fabric.namespace = lambda node: node  # type: ignore[method-assign]
    return fabric.text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('weights = "capacity"', 'weights = "wino"', "policy.weights: wino: .*leaf0 is a Linux kernel that routes"),
        ('"10.9.1.2"', '"10.9.1"', "switch.leaf0.gateways.spine0: 10.9.1: not an address; write 10.9.1.2 or fd00:1::2"),
        (', "10.9.1.2"', "", "switch.leaf0.gateways.spine0: .*: 1 addresses of IPv4 for 2 links; give one per link"),
        ("gateways = { spine0", "gateways = { spine7", "switch.leaf0.gateways.spine7: no neighbour of leaf0"),
        ("gateways = {", "gateway = {", "switch.leaf0.gateway: unknown key; .*gateways"),
        ("gateways = {", "group = { recipe = 'auto' }\ngateways = {", "switch.leaf0.group.recipe: auto: unknown"),
        ("gateways = {", "group = { buckets = 100 }\ngateways = {", "switch.leaf0.group.buckets: 100: give a power"),
        (
            "gateways = {",
            "group = { recipe = 'mpath', buckets = 64 }\ngateways = {",
            "switch.leaf0.group.buckets: 64: mpath has none",
        ),
    ],
)
def test_what_cannot_be_is_refused(old: str, new: str, said: str) -> None:
    assert old in text()
    with pytest.raises(AnabranchError, match=said):
        file.parse(text().replace(old, new, 1), "fabric.toml")


def test_a_version_without_a_gateway_is_named() -> None:
    four = re.sub(r', "fd00:9[^"]*"', "", text())
    with pytest.raises(AnabranchError, match=r"switch.leaf0.gateways.spine0: no address of IPv6, which the fabric has"):
        file.parse(four, "fabric.toml")
    # IPv4 goes by gateways of IPv6 (RFC 5549).
    six = re.sub(r'"10.9[^"]*", ', "", text())
    assert file.parse(six, "fabric.toml")
