"""Nexthops, groups and routes of a real kernel, in namespaces of their own."""

from __future__ import annotations

import subprocess
from collections import Counter
from ipaddress import ip_address, ip_network
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection, KernelRefusedError, attributes, messages
from anabranch.deploy.netlink.lookup import look_up
from anabranch.deploy.netlink.nexthop import Device, Hop, Nexthop, NexthopGroup, Resilience, Route
from support.own_namespace import in_own_namespace

PROTOCOL = 171
GROUP, FIRST, SECOND = 0xAB000000, 0xAB008000, 0xAB008001


def ip(*arguments: str) -> str:
    run = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def two_links() -> None:
    ip("link", "set", "lo", "up")
    for number in (1, 2):
        ip("link", "add", f"e{number}", "type", "veth", "peer", f"p{number}")
        ip("link", "set", f"e{number}", "up")
        ip("link", "set", f"p{number}", "up")
        ip("addr", "add", f"10.9.{number}.1/24", "dev", f"e{number}")


def named(connection: Connection) -> dict[str, Device]:
    return {device.name: device for device in kernel.devices(connection)}


def two_nexthops(connection: Connection) -> tuple[Nexthop, Nexthop]:
    both = (
        Nexthop(FIRST, Hop(4, "e1", ip_address("10.9.1.2")), PROTOCOL),
        Nexthop(SECOND, Hop(4, "e2"), PROTOCOL),
    )
    for nexthop in both:
        kernel.put_nexthop(connection, nexthop, named(connection)[nexthop.hop.device])
    return both


@in_own_namespace
def test_what_is_written_is_read_back_and_ip_reads_the_same() -> None:
    two_links()
    with Connection() as connection:
        both = two_nexthops(connection)
        resilient = NexthopGroup(GROUP, ((FIRST, 3), (SECOND, 256)), Resilience(64, 500, 1000), PROTOCOL)
        threshold = NexthopGroup(GROUP + 1, ((FIRST, 1), (SECOND, 1)), None, PROTOCOL)
        kernel.put_group(connection, resilient)
        kernel.put_group(connection, threshold)
        routes = {
            Route(ip_network("10.2.0.0/16"), 254, 0, GROUP, PROTOCOL),
            Route(ip_network("0.0.0.0/0"), 1000, 7, GROUP + 1, PROTOCOL),
        }
        for route in routes:
            kernel.put_route(connection, route, replace=False)
        assert kernel.nexthops(connection, kernel.devices(connection)) == ([*both], [resilient, threshold])
        assert set(kernel.routes(connection, PROTOCOL)) == routes
        shown = ip("nexthop", "show", "id", str(GROUP))
        assert f"group {FIRST},3/{SECOND},256 type resilient buckets 64 idle_timer 5 unbalanced_timer 10" in shown
        owners = Counter(kernel.buckets(connection, GROUP))
        assert owners == {FIRST: round(64 * 3 / 259), SECOND: 64 - round(64 * 3 / 259)}
        for route in routes:
            kernel.delete_route(connection, route)
        kernel.delete_nexthop(connection, GROUP)
        kernel.delete_nexthop(connection, GROUP + 1)
        assert kernel.routes(connection, PROTOCOL) == []
        assert kernel.nexthops(connection, kernel.devices(connection)) == ([*both], [])


@in_own_namespace
def test_ipv6_by_gateway_and_over_a_weight_of_a_byte() -> None:
    two_links()
    with Connection() as connection:
        if kernel.weight_max(connection) == kernel.NARROW_WEIGHT_MAX:
            pytest.skip("this kernel takes weights to 255 only: Linux 6.12 is needed")
        if not Path("/proc/net/if_inet6").exists():
            pytest.skip("no IPv6")
        ip("addr", "add", "fd00:9::1/64", "dev", "e1", "nodad")
        gateway = Nexthop(FIRST, Hop(6, "e1", ip_address("fd00:9::2")), PROTOCOL)
        direct = Nexthop(SECOND, Hop(6, "e2"), PROTOCOL)
        for nexthop in (gateway, direct):
            kernel.put_nexthop(connection, nexthop, named(connection)[nexthop.hop.device])
        group = NexthopGroup(GROUP, ((FIRST, 65535), (SECOND, 257)), None, PROTOCOL)
        kernel.put_group(connection, group)
        route = Route(ip_network("fd00:2::/32"), 254, 9, GROUP, PROTOCOL)
        kernel.put_route(connection, route, replace=False)
        assert kernel.nexthops(connection, kernel.devices(connection)) == ([gateway, direct], [group])
        assert kernel.routes(connection, PROTOCOL) == [route]
        destinations = np.tile(np.frombuffer(ip_address("fd00:2::7").packed, np.uint8), (64, 1))
        ports = np.arange(1, 65, dtype=np.uint16)
        hops = set(look_up(connection, 6, destinations, ports, ports))
        assert hops <= {
            (named(connection)["e1"].index, ip_address("fd00:9::2")),
            (named(connection)["e2"].index, None),
        }


@in_own_namespace
def test_look_ups_are_what_ip_says_and_split_as_weighted() -> None:
    two_links()
    Path("/proc/sys/net/ipv4/fib_multipath_hash_policy").write_text("1")
    connections = 20_000
    with Connection() as connection:
        two_nexthops(connection)
        kernel.put_group(connection, NexthopGroup(GROUP, ((FIRST, 3), (SECOND, 1)), None, PROTOCOL))
        kernel.put_route(connection, Route(ip_network("10.2.0.0/16"), 254, 0, GROUP, PROTOCOL), replace=False)
        random = np.random.default_rng(5)
        destinations = random.integers(0, 256, (connections, 4)).astype(np.uint8)
        destinations[:, :2] = (10, 2)
        sports, dports = random.integers(1, 65536, (2, connections)).astype(np.uint16)
        hops = look_up(connection, 17, destinations, sports, dports)
        numbers = {device.index: device.name for device in kernel.devices(connection)}
    taken = Counter(numbers[device] for device, _ in hops)
    # Six standard deviations of a binomial of 20,000 and 3/4: the kernel's hash has another key after every boot.
    assert abs(taken["e1"] - 15_000) < 6 * 61.2
    assert {gateway for device, gateway in hops if numbers[device] == "e1"} == {ip_address("10.9.1.2")}
    for row in range(50):
        address = ".".join(map(str, destinations[row]))
        ports = ["sport", str(sports[row]), "dport", str(dports[row])]
        said = ip("route", "get", address, "ipproto", "udp", *ports)
        assert f" dev {numbers[hops[row][0]]} " in said


@in_own_namespace
def test_a_refusal_says_what_the_kernel_says() -> None:
    two_links()
    ip("link", "set", "p2", "down")
    with Connection() as connection:
        with pytest.raises(KernelRefusedError, match="Carrier for nexthop device is down"):
            kernel.put_nexthop(connection, Nexthop(SECOND, Hop(4, "e2"), PROTOCOL), named(connection)["e2"])
        with pytest.raises(KernelRefusedError, match="No such file"):
            kernel.delete_nexthop(connection, SECOND)
        devices = named(connection)
        assert devices["e1"].carrier
        assert devices["e2"].up
        assert not devices["e2"].carrier


@given(st.binary(max_size=200))
def test_any_bytes_are_walked_to_an_end(data: bytes) -> None:
    assert sum(len(whole) for *_, whole in messages(data)) <= len(data)
    assert sum(len(value) for _, value in attributes(data, 0)) <= len(data)
