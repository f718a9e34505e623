"""The switches of one network namespace: links followed as they are announced, speeds and counters read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from anabranch.deploy.control.backoff import Backoff
from anabranch.deploy.control.device_cables import DeviceCables
from anabranch.deploy.control.ending import end
from anabranch.deploy.control.fabric import PORT_NAME_MAX
from anabranch.deploy.control.interface_rates import alias_bps
from anabranch.deploy.control.kernel_lock import LOOK_S, Followed, lock_switch
from anabranch.deploy.control.namespace_session import NamespaceSession
from anabranch.deploy.control.namespace_view import LocalNamespace, NamespaceView
from anabranch.deploy.control.network import Interface
from anabranch.deploy.control.session import Surroundings
from anabranch.deploy.control.switch_kind import Attended
from anabranch.deploy.netlink.link_state import lives
from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.openflow.port import Port
from anabranch.files.errors import AnabranchError

OWN = "/proc/self/ns/net"
"""The namespace of the process, whatever one of its threads has done."""

TakeDevices = Callable[[Mapping[str, Device]], None]
"""Called with all devices of a namespace, by name, whenever one changes."""


class NamespaceSessions(Attended):
    """Switches that the controller follows, by namespace (`switch_kind.Attended`)."""

    def __init__(self, namespaces: Sequence[KernelNamespace]) -> None:
        self._namespaces = namespaces
        self.sessions = {session.name: session for one in namespaces for session in one.sessions}

    def work(self) -> list[Coroutine[Any, Any, object]]:
        """Namespaces with their links, which serve their switches."""
        return [namespace.run() for namespace in self._namespaces]


def by_namespace(sessions: Sequence[NamespaceSession[Any]], surroundings: Surroundings) -> list[KernelNamespace]:
    """The namespaces of this machine that some switches are in."""
    return [
        KernelNamespace(name, [session for session in sessions if session.namespace == name], surroundings)
        for name in dict.fromkeys(session.namespace for session in sessions)
    ]


class KernelNamespace:
    """The switches of one namespace: what they have in common."""

    def __init__(self, name: str, sessions: Iterable[NamespaceSession[Any]], surroundings: Surroundings) -> None:
        self.name = name
        self.sessions = list(sessions)
        self.network, self.wiring = surroundings.network, surroundings.wiring
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
                async with self.reach() as (view, take_devices):
                    await self._attend(view, take_devices)
            except AnabranchError as error:
                self._failed(error)
            except OSError as error:
                self._failed(AnabranchError(f"namespace {self.name or 'of the controller'}: {error}"))
            await asyncio.sleep(self._backoff.next_s())

    @asynccontextmanager
    async def reach(self) -> AsyncIterator[tuple[NamespaceView, TakeDevices]]:
        """Opens all that is needed of the namespace.

        Raises:
            AnabranchError: there is no such namespace, or no privilege.
            OSError: the kernel refuses.

        """
        with ExitStack() as stack:
            with inside(self.name or OWN):
                view = stack.enter_context(LocalNamespace(self.name))
                switches = [session.switch for session in self.sessions]
                cables = stack.enter_context(DeviceCables(self.wiring, self.network.topology, switches))
                for session in self.sessions:
                    session.enter(stack)
            yield view, cables.take

    def lock(self, session: NamespaceSession[Any]) -> AbstractContextManager[object]:
        """Locks a switch for this controller.

        Raises:
            Followed: another controller has locked it.

        """
        with inside(self.name or OWN):
            return lock_switch(session.switch.target, self._owner, session.name)

    async def _attend(self, view: NamespaceView, take_devices: TakeDevices) -> None:
        self._speeds_bps = (await view.measure(self._names)).speeds_bps
        self._backoff.succeeded()
        self._devices = view.devices
        read_links = partial(self._follow, view, take_devices)
        for session in self.sessions:
            session.describe = partial(self._describe, session)
            session.read_links = read_links
            session.follow(self._present(session), frozenset())
            self._describe(session)
        take_devices(self._devices)
        broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def end_by(error: Exception) -> None:
            if not broken.done():
                broken.set_exception(error)

        view.follow(read_links, end_by)
        work = [self._serve(session) for session in self.sessions]
        tasks = [asyncio.ensure_future(part) for part in (*work, self._measure(view), broken)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            view.unfollow()
            await end(tasks)

    async def _serve(self, session: NamespaceSession[Any]) -> None:
        """Serves a switch when no other controller does; its links are followed before."""
        with ExitStack() as stack:
            while self._commits:
                try:
                    stack.enter_context(self.lock(session))
                    break
                except Followed as error:
                    session.waits(error)
                    await asyncio.sleep(LOOK_S)
            if session.is_followed:
                session.is_followed, session.record.last_error = False, ""
            await session.serve()

    def _follow(self, view: NamespaceView, take_devices: TakeDevices) -> None:
        """Reports devices that are not as they were."""
        news = view.read()
        if news is None:
            return
        self._devices = view.devices
        for session in self.sessions:
            if news.touched.isdisjoint(session.switch.interfaces.values()):
                continue
            # This comes first: a dead interface must carry nothing while the plan is computed.
            session.follow(self._present(session), news.died)
            numbers = self.network.openflow_ports(session.name)
            if self._describe(session) or self.network.openflow_ports(session.name) != numbers:
                session.changed()
        take_devices(self._devices)

    def _present(self, session: NamespaceSession[Any]) -> dict[str, Device]:
        names = session.switch.interfaces.values()
        return {name: self._devices[name] for name in names if name in self._devices}

    @property
    def _names(self) -> list[str]:
        """Names of all interfaces of its switches."""
        return list(dict.fromkeys(name for session in self.sessions for name in session.switch.interfaces.values()))

    def _describe(self, session: NamespaceSession[Any]) -> bool:
        """Takes all interfaces of a switch; answers whether a link changed."""
        present = self._present(session).values()
        # A switch that could never be created forwards nothing: other switches must avoid it.
        unreached = not session.record.connects and bool(session.record.last_error)
        none = unreached and not (session.forwards_unreached or session.is_followed)
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
        changed = self.network.described(session.name, ports)
        rows = [
            Interface(device.name, rate_bps=alias_bps(device.alias), gateway_silent=session.is_silent(device.name))
            for device in present
        ]
        return self.network.interfaces([session.name], rows) or changed

    async def _measure(self, view: NamespaceView) -> None:
        """Reads speeds, and counters of links and groups."""
        while True:
            await asyncio.sleep(self._interval_s)
            measured = await view.measure(self._names)
            before, self._speeds_bps = self._speeds_bps, measured.speeds_bps
            if self._speeds_bps != before:
                for session in self.sessions:
                    if self._describe(session):
                        session.changed()
            for session in self.sessions:
                numbers = [
                    replace(measured.counters[name], number=session.number(device))
                    for name, device in self._present(session).items()
                    if name in measured.counters
                ]
                self.network.measured(session.name, numbers)
                await session.measure()

    def _failed(self, error: AnabranchError) -> None:
        for session in self.sessions:
            session.failed(error)
            self.network.unmeasured(session.name)
