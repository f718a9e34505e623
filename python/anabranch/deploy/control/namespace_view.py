"""A network namespace as its followers see it: devices as they are announced, speeds and counters."""

from __future__ import annotations

import asyncio
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.deploy.control.ending import to_the_end
from anabranch.deploy.control.interface_rates import counters_of, speed_bps
from anabranch.deploy.netlink.link_monitor import LinkMonitor
from anabranch.deploy.netlink.link_state import lives
from anabranch.deploy.netlink.namespace import file_of
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.openflow.port import PortCounters
from anabranch.files.errors import AnabranchError


@dataclass(frozen=True)
class LinkNews:
    """Names of devices that changed since the last news."""

    touched: frozenset[str]
    """Devices that are not as they were, or were not for a moment."""
    died: frozenset[str]
    """Devices that could carry nothing at some moment."""


@dataclass(frozen=True)
class Measured:
    """Speeds and counters of some devices, by name."""

    speeds_bps: Mapping[str, int] = field(default_factory=dict)
    """0 where the driver does not know it."""
    counters: Mapping[str, PortCounters] = field(default_factory=dict)
    """Without the number of the port."""


class NamespaceView(ABC):
    """Devices of one namespace while they are followed."""

    devices: Mapping[str, Device]
    """By name, as they were last announced."""

    @abstractmethod
    def follow(self, heard: Callable[[], None], broken: Callable[[Exception], None]) -> None:
        """Has `heard` called in the running event loop when there is news to read, `broken` when none can come."""

    @abstractmethod
    def unfollow(self) -> None:
        """Ends what `follow` began."""

    @abstractmethod
    def read(self) -> LinkNews | None:
        """Takes what was announced since the last call, without waiting; `None` if nothing was.

        Raises:
            AnabranchError: the namespace is out of reach.
            OSError: likewise.

        """

    @abstractmethod
    async def measure(self, names: Collection[str]) -> Measured:
        """Reads speeds and counters of the devices of these names that exist.

        Raises:
            AnabranchError: the namespace is out of reach, or another has its name.

        """


class LocalNamespace(NamespaceView):
    """The namespace that the thread is in that makes this; a context.

    Args:
        name: name or file of the namespace, which is watched; empty for none.

    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        self.devices: Mapping[str, Device] = {}
        with ExitStack() as stack:
            self._monitor = stack.enter_context(LinkMonitor())
            self._control = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            # An open file keeps showing the namespace of the thread that opened it.
            self._counters = stack.enter_context(Path("/proc/thread-self/net/dev").open(encoding="ascii"))
            self._inode = Path("/proc/thread-self/ns/net").stat().st_ino
            self._open = stack.pop_all()
        self._take()

    def __enter__(self) -> LocalNamespace:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def follow(self, heard: Callable[[], None], broken: Callable[[Exception], None]) -> None:
        """Waits for announcements of the kernel."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            try:
                heard()
            except (AnabranchError, OSError) as error:
                loop.remove_reader(self._monitor.fileno())
                broken(error)

        loop.add_reader(self._monitor.fileno(), read)

    def unfollow(self) -> None:
        """Waits no longer."""
        asyncio.get_running_loop().remove_reader(self._monitor.fileno())

    def read(self) -> LinkNews | None:
        """Reads announcements; a device that was renamed has both names touched."""
        events = self._monitor.read()
        if not events:
            return None
        before = self.devices
        self._take()
        touched = {event.device.name for event in events}
        touched |= {name for name in {*before} | {*self.devices} if before.get(name) != self.devices.get(name)}
        died = (event.device.name for event in events if not lives(event.device))
        return LinkNews(frozenset(touched), frozenset(died))

    async def measure(self, names: Collection[str]) -> Measured:
        """Reads them from drivers and the kernel; drivers may take a while."""
        self._check_name()
        speeds = await to_the_end(lambda: {name: speed_bps(self._control, name) for name in names})
        counted = counters_of(self._counters)
        return Measured(speeds, {name: counted[name] for name in names if name in counted})

    def _take(self) -> None:
        self.devices = {device.name: device for device in self._monitor.links.values()}

    def _check_name(self) -> None:
        """Looks whether the name leads to another namespace by now: what we hold open of the first keeps it alive."""
        if self._name:
            try:
                same = file_of(self._name).stat().st_ino == self._inode
            except OSError:
                same = False
            if not same:
                raise AnabranchError(f"namespace {self._name}: gone, or another has its name")
