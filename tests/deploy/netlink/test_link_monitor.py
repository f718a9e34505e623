"""Announcements of a real kernel about links, in namespaces of their own."""

from __future__ import annotations

import asyncio
import select
import socket
import subprocess

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.link_monitor import LinkEvent, LinkMonitor
from anabranch.deploy.netlink.nexthop import Device
from support.own_namespace import in_own_namespace

PATIENCE_S = 60.0
"""Deadline of what the kernel must report: no measure of speed, only of never."""


def ip(*arguments: str) -> None:
    run = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def pair() -> None:
    ip("link", "add", "e1", "type", "veth", "peer", "p1")
    ip("link", "set", "e1", "up")
    ip("link", "set", "p1", "up")


def next_events(monitor: LinkMonitor) -> list[LinkEvent]:
    assert select.select([monitor], [], [], PATIENCE_S)[0]
    return monitor.read()


def until(monitor: LinkMonitor, name: str, up: bool, carrier: bool) -> None:
    """Reads until the device is so."""
    states: list[tuple[str, bool, bool]] = []
    while (name, up, carrier) not in states:
        states = [(event.device.name, event.device.up, event.device.carrier) for event in next_events(monitor)]


def dumped() -> dict[int, Device]:
    with Connection() as connection:
        return {device.index: device for device in kernel.devices(connection)}


@in_own_namespace
def test_it_begins_with_all_links_and_tells_what_becomes_of_them() -> None:
    pair()
    with LinkMonitor() as monitor:
        assert monitor.links == dumped()
        assert monitor.read() == []
        ip("link", "set", "p1", "down")
        until(monitor, "e1", up=True, carrier=False)
        ip("link", "set", "p1", "up")
        until(monitor, "e1", up=True, carrier=True)
        ip("link", "set", "e1", "down")
        until(monitor, "e1", up=False, carrier=False)
        ip("link", "set", "e1", "name", "other")
        until(monitor, "other", up=False, carrier=False)
        ip("link", "del", "p1")
        gone: list[str] = []
        while len(gone) < 2:
            gone += [event.device.name for event in next_events(monitor) if event.gone]
        assert sorted(gone) == ["other", "p1"]
        assert monitor.links == dumped()
        # Nothing that stays as it is is told.
        assert monitor.read() == []


@in_own_namespace
def test_a_port_that_leaves_its_bridge_is_not_gone() -> None:
    pair()
    ip("link", "add", "bridge1", "type", "bridge")
    ip("link", "set", "e1", "master", "bridge1")
    with LinkMonitor() as monitor:
        ip("link", "set", "e1", "nomaster")
        ip("link", "set", "p1", "down")
        until(monitor, "e1", up=True, carrier=False)
        assert monitor.links == dumped()


@in_own_namespace
def test_what_was_lost_in_a_burst_is_listed_anew() -> None:
    pair()
    with LinkMonitor() as monitor:
        # The smallest buffer the kernel gives: a handful of announcements.
        monitor._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        for _ in range(20):
            ip("link", "set", "p1", "down")
            ip("link", "set", "p1", "up")
        ip("link", "add", "late", "type", "veth", "peer", "peer")
        ip("link", "del", "e1")
        assert monitor.read()
        assert monitor.links == dumped()
        assert monitor._sequence > 1, "the buffer did not overflow: the test shows nothing"
        assert {device.name for device in monitor.links.values()} >= {"late", "peer"}


@in_own_namespace
def test_it_serves_an_event_loop() -> None:
    pair()

    async def followed() -> list[LinkEvent]:
        loop, found = asyncio.get_running_loop(), asyncio.Queue[LinkEvent]()
        with LinkMonitor() as monitor:
            loop.add_reader(monitor.fileno(), lambda: list(map(found.put_nowait, monitor.read())))
            ip("link", "set", "p1", "down")
            events: list[LinkEvent] = []
            while not any(event.device.name == "e1" and not event.device.carrier for event in events):
                events.append(await asyncio.wait_for(found.get(), PATIENCE_S))
            loop.remove_reader(monitor.fileno())
        return events

    assert all(not event.gone for event in asyncio.run(followed()))
