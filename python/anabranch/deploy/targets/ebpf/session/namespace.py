"""A network namespace with datapaths: its links followed as the kernel announces them, its counters read."""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import socket
import struct
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TextIO

from anabranch.deploy.control.backoff import Backoff
from anabranch.deploy.control.ending import end
from anabranch.deploy.control.fabric import PORT_NAME_MAX
from anabranch.deploy.control.network import Interface, Network
from anabranch.deploy.netlink.link_monitor import LinkMonitor
from anabranch.deploy.netlink.namespace import file_of, inside
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.openflow.port import Port, PortCounters
from anabranch.deploy.targets.ebpf.folder import folder_of, own_folder, require_file_system
from anabranch.deploy.targets.ebpf.session.datapath import OWN, DatapathSession
from anabranch.files.errors import AnabranchError

SIOCETHTOOL, ETHTOOL_GSET = 0x8946, 0x1
ETHTOOL_CMD = struct.Struct("=III H 6x 8x H 14x")
"""`struct ethtool_cmd` of linux/ethtool.h: command, two masks, the speed's low half, ..., its high half, the rest."""
SPEED_UNKNOWN = 0xFFFF_FFFF
RATE_KEY = "anabranch-rate-bps="
"""In the alias of an interface: what its operator says of its rate."""
RATE_DIGITS_MAX = 18


class KernelNamespace:
    """The datapaths of one namespace: what they have in common."""

    def __init__(self, name: str, sessions: Iterable[DatapathSession], network: Network, interval_s: float) -> None:
        self.name = name
        self._sessions = list(sessions)
        self._network = network
        self._interval_s = interval_s
        self._backoff = Backoff(name)
        self._devices: Mapping[str, Device] = {}
        """By name, as they were last told of."""
        self._speeds_bps: Mapping[str, int] = {}
        """By name, as they were last read: that waits for whoever changes a link, and news of it may not."""

    async def run(self) -> None:
        """Follows it, and serves its datapaths."""
        while True:
            try:
                require_file_system()
                with ExitStack() as stack:
                    with inside(self.name or OWN):
                        monitor = stack.enter_context(LinkMonitor())
                        control = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                        # An open file keeps showing the namespace of the thread that opened it.
                        counters = stack.enter_context(Path("/proc/thread-self/net/dev").open(encoding="ascii"))
                        folder = own_folder()
                    await self._attend(monitor, control, counters, folder)
            except AnabranchError as error:
                self._failed(error)
            except OSError as error:
                self._failed(AnabranchError(f"namespace {self.name or 'of the controller'}: {error}"))
            await asyncio.sleep(self._backoff.next_s())

    async def _attend(self, monitor: LinkMonitor, control: socket.socket, counters: TextIO, folder: Path) -> None:
        self._speeds_bps = self._speeds(control)
        for session in self._sessions:
            session.describe = partial(self._describe, session, monitor)
            self._describe(session, monitor)
        self._devices = _by_name(monitor)
        loop = asyncio.get_running_loop()
        broken: asyncio.Future[None] = loop.create_future()

        def read() -> None:
            try:
                if monitor.read():
                    self._follow(monitor)
            except (AnabranchError, OSError) as error:
                loop.remove_reader(monitor.fileno())
                broken.set_exception(error)

        loop.add_reader(monitor.fileno(), read)
        work = [session.serve(folder / session.name) for session in self._sessions]
        tasks = [
            asyncio.ensure_future(part) for part in (*work, self._measure(monitor, control, counters, folder), broken)
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            loop.remove_reader(monitor.fileno())
            await end(tasks)

    def _follow(self, monitor: LinkMonitor) -> None:
        """Tells of devices that are not as they were."""
        before, now = self._devices, _by_name(monitor)
        self._devices = now
        for session in self._sessions:
            names = session.switch.interfaces.values()
            if any(before.get(name) != now.get(name) for name in names):
                numbers = self._network.openflow_ports(session.name)
                if self._describe(session, monitor) or self._network.openflow_ports(session.name) != numbers:
                    session.changed()

    def _speeds(self, control: socket.socket) -> dict[str, int]:
        names = dict.fromkeys(name for session in self._sessions for name in session.switch.interfaces.values())
        return {name: _speed_bps(control, name) for name in names}

    def _describe(self, session: DatapathSession, monitor: LinkMonitor) -> bool:
        """Takes all interfaces of a switch; answers whether a link changed."""
        devices = _by_name(monitor)
        present = [devices[name] for name in session.switch.interfaces.values() if name in devices]
        dead = frozenset(device.index for device in present if not _up(device))
        # This comes first: a dead interface must carry nothing while the plan is computed.
        session.ports(frozenset(device.index for device in present), dead)
        # A datapath that could never be created forwards nothing: other switches must avoid it.
        none = not session.record.connects and bool(session.record.last_error)
        speeds = self._speeds_bps
        ports = [
            Port(device.index, device.name[:PORT_NAME_MAX], "", _up(device) and not none, speeds.get(device.name, 0))
            for device in present
        ]
        changed = self._network.described(session.name, ports)
        rates = [Interface(device.name, rate_bps=_alias_bps(device.alias)) for device in present]
        return self._network.interfaces([session.name], rates) or changed

    async def _measure(self, monitor: LinkMonitor, control: socket.socket, counters: TextIO, folder: Path) -> None:
        """Reads speeds, and counters of links and groups."""
        while True:
            await asyncio.sleep(self._interval_s)
            self._check_name(folder)
            before, self._speeds_bps = self._speeds_bps, await asyncio.to_thread(self._speeds, control)
            if self._speeds_bps != before:
                for session in self._sessions:
                    if self._describe(session, monitor):
                        session.changed()
            counted = _counted(counters)
            for session in self._sessions:
                numbers = [
                    replace(counted[name], number=self._devices[name].index)
                    for name in session.switch.interfaces.values()
                    if name in counted and name in self._devices
                ]
                self._network.measured(session.name, numbers)
                await session.measure()

    def _check_name(self, folder: Path) -> None:
        """Looks whether the name leads to another namespace by now: what we hold open of the first keeps it alive."""
        if self.name:
            try:
                same = folder_of(file_of(self.name).stat().st_ino) == folder
            except OSError:
                same = False
            if not same:
                raise AnabranchError(f"namespace {self.name}: gone, or another has its name")

    def _failed(self, error: AnabranchError) -> None:
        for session in self._sessions:
            session.failed(error)
            self._network.unmeasured(session.name)


def _by_name(monitor: LinkMonitor) -> dict[str, Device]:
    return {device.name: device for device in monitor.links.values()}


def _up(device: Device) -> bool:
    return device.up and device.carrier


def _speed_bps(control: socket.socket, device: str) -> int:
    """The speed that the driver reports; 0 where it does not know."""
    setting = ctypes.create_string_buffer(ETHTOOL_CMD.pack(ETHTOOL_GSET, 0, 0, 0, 0))
    try:
        fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP16x", device.encode(), ctypes.addressof(setting)))
    except OSError:
        return 0
    _, _, _, low, high = ETHTOOL_CMD.unpack(setting.raw[: ETHTOOL_CMD.size])
    mbps = high << 16 | low
    return 0 if mbps in (0xFFFF, SPEED_UNKNOWN) else mbps * 1_000_000


def _alias_bps(alias: str) -> int:
    """The rate in an alias; 0 where there is none."""
    rate = next((word.removeprefix(RATE_KEY) for word in alias.split() if word.startswith(RATE_KEY)), "")
    return int(rate) if rate.isascii() and rate.isdigit() and len(rate) <= RATE_DIGITS_MAX else 0


def _counted(counters: TextIO) -> dict[str, PortCounters]:
    """What each device has counted (`/proc/net/dev`); its number is not there."""
    counters.seek(0)
    by_name = {}
    for line in counters.read().splitlines()[2:]:
        device, _, numbers = line.partition(":")
        got_bytes, got, _, got_dropped, *_, sent_bytes, sent, _, sent_dropped, _, _, _, _ = map(int, numbers.split())
        by_name[device.strip()] = PortCounters(0, got, sent, got_bytes, sent_bytes, got_dropped, sent_dropped)
    return by_name
