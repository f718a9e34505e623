"""A Linux kernel behind an agent, as its namespace and its session see it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Any

from anabranch.deploy.control.kernel_namespace import KernelNamespace, TakeDevices
from anabranch.deploy.control.namespace_session import NamespaceSession
from anabranch.deploy.control.namespace_view import LinkNews, Measured, NamespaceView
from anabranch.deploy.control.session import Surroundings
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.targets.linux.agent import record
from anabranch.deploy.targets.linux.agent.framing import Message
from anabranch.deploy.targets.linux.agent.hello import Hello
from anabranch.deploy.targets.linux.observe import LinuxState
from anabranch.deploy.targets.linux.own_routes import Look
from anabranch.deploy.targets.linux.session.agent_connection import AgentConnection, connect
from anabranch.deploy.targets.linux.session.kernel_routes import RoutesSession
from anabranch.deploy.targets.linux.session.routing_kernel import RoutingKernel

UNCHECKED = "an agent sends no frames"
"""Why the cables of such a switch are not checked."""


class RemoteNamespace(NamespaceView):
    """Devices of an agent's namespace."""

    def __init__(self, connection: AgentConnection) -> None:
        self.devices: Mapping[str, Device] = connection.welcome.devices
        self._connection = connection
        self._touched: set[str] = set()
        self._died: set[str] = set()
        self._heard: Callable[[], None] = lambda: None
        connection.on_links = self._take

    def follow(self, heard: Callable[[], None], broken: Callable[[Exception], None]) -> None:
        """Waits for announcements of the agent, and for the end of its connection."""
        self._heard = heard
        self._connection.closed.add_done_callback(lambda _: broken(self._connection.reason))
        heard()

    def unfollow(self) -> None:
        """Waits no longer."""
        self._heard = lambda: None

    def read(self) -> LinkNews | None:
        """Takes what has come."""
        if not self._touched:
            return None
        news = LinkNews(frozenset(self._touched), frozenset(self._died))
        self._touched.clear()
        self._died.clear()
        return news

    async def measure(self, names: Collection[str]) -> Measured:
        """Asks for speeds and counters."""
        del names
        return await self._connection.call("count", _measured)

    def _take(self, message: Message) -> None:
        self.devices = record.read_devices(message["links"])
        self._touched.update(record.names_of(message.get("touched"), "touched"))
        self._died.update(record.names_of(message.get("died"), "died"))
        self._heard()


class RemoteKernel(RoutingKernel):
    """An owner's routes behind an agent."""

    def __init__(self, connection: AgentConnection, owner: int) -> None:
        self._connection, self._owner = connection, owner

    def follow(self, heard: Callable[[], None]) -> None:
        """Waits for announcements of the agent."""
        self._connection.on_routes = heard

    def unfollow(self) -> None:
        """Waits no longer."""
        self._connection.on_routes = lambda: None

    async def weight_max(self) -> int:
        """Largest weight, as the agent said at first."""
        return self._connection.welcome.weight_max

    async def look(self) -> Look:
        """Has the agent read its kernel."""
        return await self._connection.call("look", self._look_of)

    async def put(self, observed: LinuxState, desired: LinuxState, devices: Mapping[str, Device]) -> int:
        """Has the agent change its kernel; the devices are those that it knows itself."""
        del devices
        states = {"observed": record.state_record(observed), "desired": record.state_record(desired)}
        return await self._connection.call("put", _changes, **states)

    async def counted(self) -> Mapping[int, Mapping[int, int]]:
        """Has the agent read its kernel."""
        return await self._connection.call("packets", lambda answer: record.read_packets(answer.get("packets")))

    async def ask(self, devices: Mapping[str, Device]) -> None:
        """Has the agent ask the gateways."""
        del devices
        await self._connection.call("ask", lambda _: None)

    def _look_of(self, answer: Mapping[str, Any]) -> Look:
        state = record.read_state(answer.get("state"), self._owner, whole=False)
        return Look(state, record.read_hops(answer.get("silent")))


class AgentNamespace(KernelNamespace):
    """The switch behind one agent."""

    def __init__(self, session: RoutesSession, surroundings: Surroundings) -> None:
        super().__init__(session.name, [session], surroundings)
        self._session, self._tls = session, surroundings.fabric.tls

    @asynccontextmanager
    async def reach(self) -> AsyncIterator[tuple[NamespaceView, TakeDevices]]:
        """Connects to the agent."""
        session = self._session
        names = tuple(session.switch.interfaces.values())
        connection = await connect(session.keys.agent, self._tls, Hello(session.owner, names, session.hops))
        try:
            session.kernel = RemoteKernel(connection, session.owner)
            self.wiring.away(session.name, UNCHECKED if self.wiring.is_on else "")
            yield RemoteNamespace(connection), lambda _: None
        finally:
            await connection.close()

    def lock(self, session: NamespaceSession[Any]) -> AbstractContextManager[object]:
        """Locks nothing: the kernel is another machine's."""
        del session
        return nullcontext()


def _measured(answer: Mapping[str, Any]) -> Measured:
    return Measured(record.read_speeds(answer.get("speeds")), record.read_counters(answer.get("counters")))


def _changes(answer: Mapping[str, Any]) -> int:
    return record.integer(answer.get("changes"), "changes", 0, record.U63)
