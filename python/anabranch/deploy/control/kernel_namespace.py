"""A network namespace with switches in it: its links followed as the kernel announces them, its counters read."""

from __future__ import annotations

import asyncio
import socket
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO, TypeVar

from anabranch.deploy.control.backoff import Backoff
from anabranch.deploy.control.device_cables import DeviceCables
from anabranch.deploy.control.ending import end
from anabranch.deploy.control.fabric import PORT_NAME_MAX, FabricFile, SwitchFile
from anabranch.deploy.control.interface_rates import alias_bps, counters_of, speed_bps
from anabranch.deploy.control.kernel_lock import LOOK_S, Followed, lock_switch
from anabranch.deploy.control.network import Interface
from anabranch.deploy.control.session import Session, Surroundings
from anabranch.deploy.control.switch_kind import Attended
from anabranch.deploy.netlink.link_monitor import LinkMonitor
from anabranch.deploy.netlink.link_state import lives
from anabranch.deploy.netlink.namespace import file_of, inside
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.openflow.port import Port
from anabranch.deploy.service.needs import NAMESPACES, Needs
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings

OWN = "/proc/self/ns/net"
"""The namespace of the process, whatever one of its threads has done."""

State = TypeVar("State")
Result = TypeVar("Result")


def take_namespace(settings: Settings) -> str:
    """Takes the key `namespace` of a switch; empty for the controller's own."""
    meaning = "Network namespace of its ports: a name of `ip netns`, or a file."
    return settings.text("namespace", "", meaning, otherwise="the controller's own")


def needs_of(fabric: FabricFile, target: str) -> Needs:
    """What switches of a target take that are in network namespaces, beside what the target itself does."""
    needs = Needs(frozenset({"CAP_NET_RAW"}), frozenset({"AF_PACKET"})) if fabric.wiring.use else Needs()
    return needs | NAMESPACES if any(one.keys.namespace for one in fabric.switches_of(target)) else needs


class NamespaceSession(Session[State]):
    """The controller's side of one switch in the kernel of a network namespace."""

    def __init__(self, switch: SwitchFile, surroundings: Surroundings) -> None:
        """Has not looked yet."""
        super().__init__(switch, surroundings)
        self.describe: Callable[[], bool] = lambda: False
        """Called when what the switch says of its ports is another; answers whether a link changed."""
        self.read_links: Callable[[], None] = lambda: None
        """Called to have what was announced of links by now taken at once."""
        self.is_followed = False
        """Whether another controller follows it."""
        self._lock = asyncio.Lock()
        """Taken by whoever calls the kernel: one at a time may."""

    @property
    def namespace(self) -> str:
        """The namespace of its ports; empty for the controller's own."""
        name: str = self.switch.keys.namespace
        return name

    @abstractmethod
    def enter(self, stack: ExitStack) -> None:
        """Opens what it needs of the namespace that the calling thread is in, until the stack is closed.

        Raises:
            AnabranchError: the kernel does not let it.

        """

    @abstractmethod
    def follow(self, present: Mapping[str, Device], died: frozenset[str]) -> None:
        """Takes its interfaces as they are, before any plan is made with them.

        Args:
            present: those there are, by name.
            died: names of those that could carry nothing at some moment since the last call.

        """

    @abstractmethod
    def number(self, device: Device) -> int:
        """The switch's number of one of its interfaces."""

    @abstractmethod
    async def attend(self) -> None:
        """Follows the plan until it is cancelled.

        Raises:
            AnabranchError: the kernel does not let us look.

        """

    @abstractmethod
    async def measure(self) -> None:
        """Reads the counters of its groups."""

    def is_silent(self, interface: str) -> bool:
        """Whether an interface has a carrier, and yet the other end does not answer."""
        del interface
        return False

    async def serve(self) -> None:
        """Keeps the switch at the plan, and tries again where that cannot be."""
        while True:
            try:
                await self.attend()
            except AnabranchError as error:
                self.failed(error)
            except Exception as error:
                self.mistaken(error)
            await asyncio.sleep(self._backoff.next_s())

    def failed(self, error: AnabranchError) -> bool:
        """Reports an error once; links of a switch that could never be made count as down."""
        new = super().failed(error)
        if new and self.describe():
            self.changed()
        return new

    def waits(self, error: AnabranchError) -> None:
        """Reports once that another controller follows it; it forwards, whatever is not known of it."""
        self.is_followed = True
        super().failed(error)

    async def _call(self, call: Callable[..., Result], *given: object) -> Result:
        """Has a thread call the kernel, which may take a while."""
        async with self._lock:
            return await asyncio.to_thread(call, *given)


class NamespaceSessions(Attended):
    """Switches that the controller follows, by namespace (`switch_kind.Attended`)."""

    def __init__(self, sessions: Iterable[NamespaceSession[Any]], surroundings: Surroundings) -> None:
        by_name = {session.name: session for session in sessions}
        self.sessions = by_name
        self._namespaces = [
            KernelNamespace(
                namespace,
                (session for session in by_name.values() if session.namespace == namespace),
                surroundings,
            )
            for namespace in dict.fromkeys(session.namespace for session in by_name.values())
        ]

    def work(self) -> list[Coroutine[Any, Any, object]]:
        """Namespaces with their links, which serve their switches."""
        return [namespace.run() for namespace in self._namespaces]


class KernelNamespace:
    """The switches of one namespace: what they have in common."""

    def __init__(self, name: str, sessions: Iterable[NamespaceSession[Any]], surroundings: Surroundings) -> None:
        self.name = name
        self._sessions = list(sessions)
        self._network, self._wiring = surroundings.network, surroundings.wiring
        self._interval_s = surroundings.fabric.interval_s
        self._owner, self._commits = surroundings.fabric.owner, surroundings.commits
        self._backoff = Backoff(name)
        self._devices: Mapping[str, Device] = {}
        """By name, as they were last announced."""
        self._speeds_bps: Mapping[str, int] = {}
        """By name, as they were last read: that waits for whoever changes a link, and news of it may not."""

    async def run(self) -> None:
        """Follows it, and serves its switches."""
        while True:
            try:
                with ExitStack() as stack:
                    with inside(self.name or OWN):
                        monitor = stack.enter_context(LinkMonitor())
                        control = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                        # An open file keeps showing the namespace of the thread that opened it.
                        counters = stack.enter_context(Path("/proc/thread-self/net/dev").open(encoding="ascii"))
                        inode = Path("/proc/thread-self/ns/net").stat().st_ino
                        cables = stack.enter_context(self._new_cables())
                        for session in self._sessions:
                            session.enter(stack)
                    await self._attend(monitor, control, counters, inode, cables)
            except AnabranchError as error:
                self._failed(error)
            except OSError as error:
                self._failed(AnabranchError(f"namespace {self.name or 'of the controller'}: {error}"))
            await asyncio.sleep(self._backoff.next_s())

    def _new_cables(self) -> DeviceCables:
        switches = [session.switch for session in self._sessions]
        return DeviceCables(self._wiring, self._network.topology, switches)

    async def _attend(
        self, monitor: LinkMonitor, control: socket.socket, counters: TextIO, inode: int, cables: DeviceCables
    ) -> None:
        self._speeds_bps = self._speeds(control)
        self._devices = _by_name(monitor)
        for session in self._sessions:
            session.describe = partial(self._describe, session)
            session.read_links = partial(self._follow, monitor, cables)
            session.follow(self._present(session), frozenset())
            self._describe(session)
        cables.take(self._devices)
        loop = asyncio.get_running_loop()
        broken: asyncio.Future[None] = loop.create_future()

        def read() -> None:
            try:
                self._follow(monitor, cables)
            except (AnabranchError, OSError) as error:
                loop.remove_reader(monitor.fileno())
                broken.set_exception(error)

        loop.add_reader(monitor.fileno(), read)
        work = [self._serve(session) for session in self._sessions]
        tasks = [asyncio.ensure_future(part) for part in (*work, self._measure(control, counters, inode), broken)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            loop.remove_reader(monitor.fileno())
            await end(tasks)

    async def _serve(self, session: NamespaceSession[Any]) -> None:
        """Serves a switch when no other controller does; its links are followed before."""
        with ExitStack() as stack:
            while self._commits:
                try:
                    with inside(self.name or OWN):
                        stack.enter_context(lock_switch(session.switch.target, self._owner, session.name))
                    break
                except Followed as error:
                    session.waits(error)
                    await asyncio.sleep(LOOK_S)
            if session.is_followed:
                session.is_followed, session.record.last_error = False, ""
            await session.serve()

    def _follow(self, monitor: LinkMonitor, cables: DeviceCables) -> None:
        """Reports devices that are not as they were."""
        events = monitor.read()
        if not events:
            return
        touched = {event.device.name for event in events}
        died = frozenset(event.device.name for event in events if not lives(event.device))
        before, self._devices = self._devices, _by_name(monitor)
        touched |= {name for name in {*before} | {*self._devices} if before.get(name) != self._devices.get(name)}
        for session in self._sessions:
            if touched.isdisjoint(session.switch.interfaces.values()):
                continue
            # This comes first: a dead interface must carry nothing while the plan is computed.
            session.follow(self._present(session), died)
            numbers = self._network.openflow_ports(session.name)
            if self._describe(session) or self._network.openflow_ports(session.name) != numbers:
                session.changed()
        cables.take(self._devices)

    def _present(self, session: NamespaceSession[Any]) -> dict[str, Device]:
        names = session.switch.interfaces.values()
        return {name: self._devices[name] for name in names if name in self._devices}

    def _speeds(self, control: socket.socket) -> dict[str, int]:
        names = dict.fromkeys(name for session in self._sessions for name in session.switch.interfaces.values())
        return {name: speed_bps(control, name) for name in names}

    def _describe(self, session: NamespaceSession[Any]) -> bool:
        """Takes all interfaces of a switch; answers whether a link changed."""
        present = self._present(session).values()
        # A switch that could never be created forwards nothing: other switches must avoid it.
        none = not session.record.connects and bool(session.record.last_error) and not session.is_followed
        speeds = self._speeds_bps
        ports = [
            Port(
                session.number(device),
                device.name[:PORT_NAME_MAX],
                "",
                lives(device) and not none,
                speeds.get(device.name, 0),
            )
            for device in present
        ]
        changed = self._network.described(session.name, ports)
        rows = [
            Interface(device.name, rate_bps=alias_bps(device.alias), gateway_silent=session.is_silent(device.name))
            for device in present
        ]
        return self._network.interfaces([session.name], rows) or changed

    async def _measure(self, control: socket.socket, counters: TextIO, inode: int) -> None:
        """Reads speeds, and counters of links and groups."""
        while True:
            await asyncio.sleep(self._interval_s)
            self._check_name(inode)
            before, self._speeds_bps = self._speeds_bps, await asyncio.to_thread(self._speeds, control)
            if self._speeds_bps != before:
                for session in self._sessions:
                    if self._describe(session):
                        session.changed()
            counted = counters_of(counters)
            for session in self._sessions:
                numbers = [
                    replace(counted[name], number=session.number(device))
                    for name, device in self._present(session).items()
                    if name in counted
                ]
                self._network.measured(session.name, numbers)
                await session.measure()

    def _check_name(self, inode: int) -> None:
        """Looks whether the name leads to another namespace by now: what we hold open of the first keeps it alive."""
        if self.name:
            try:
                same = file_of(self.name).stat().st_ino == inode
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
