"""Connections of others to us: accepts them, and reports those that fail to introduce themselves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import stat
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from anabranch.deploy.openflow.address import UNIX, Address, parse_address
from anabranch.deploy.openflow.channel import Channel
from anabranch.deploy.openflow.connection import TIMEOUT_S, Connection, introduce
from anabranch.deploy.openflow.error import Disconnected, Refused
from anabranch.deploy.openflow.tls import SWITCH, Peer, Tls, context_for, handshake_error
from anabranch.files.errors import AnabranchError

COMERS_MAX = 128
"""Largest number of connections that have not introduced themselves; beyond it, the oldest is closed."""
BACKLOG = 100
"""Number of connections that the kernel keeps until they are accepted; as in asyncio's servers."""
REST_S = 1.0
"""Pause in seconds after the kernel had no file descriptor or memory for a connection."""

Guest = TypeVar("Guest")
Serve = Callable[[Guest], Awaitable[None]]
Report = Callable[[str, AnabranchError], None]
"""Called with the address of a peer, and the reason why it cannot be served."""


@dataclass(frozen=True)
class Arrival(Generic[Guest]):
    """One connection before its other end has said who it is."""

    protocol: asyncio.BaseProtocol
    introduced: Callable[[], Awaitable[Guest]]
    close: Callable[[], None]


@dataclass(frozen=True)
class Introduction(Generic[Guest]):
    """How those who connect say who they are."""

    begin: Callable[[float, str], Arrival[Guest]]
    """Begins with a timeout in seconds and the address of the other end."""
    question: str
    """What to ask about one that says nothing."""
    peer: Peer


def _begin_switch(timeout_s: float, peer: str) -> Arrival[Connection]:
    channel = Channel(timeout_s, peer)
    return Arrival(channel, lambda: introduce(channel), channel.close)


SWITCHES = Introduction(_begin_switch, "does a switch call, and by OpenFlow?", SWITCH)


async def serve(
    address: str,
    on_connection: Serve[Connection],
    tls: Tls | None = None,
    timeout_s: float = TIMEOUT_S,
    on_failure: Report = lambda _peer, _error: None,
) -> Listener[Connection]:
    """Accepts connections of switches; see `listen`."""
    return await listen(address, SWITCHES, on_connection, tls, timeout_s, on_failure)


async def listen(
    address: str,
    introduction: Introduction[Guest],
    on_connection: Serve[Guest],
    tls: Tls | None,
    timeout_s: float,
    on_failure: Report,
) -> Listener[Guest]:
    """Accepts connections; `on_connection` is called for each that introduces itself.

    A connection that does not is closed and reported to `on_failure`. It is also closed when `on_connection` returns.

    Raises:
        AnabranchError: the address cannot be listened at.

    """
    where = parse_address(address)
    security = context_for(where, tls, server=True)
    try:
        sockets = await _sockets(where)
    except OSError as error:
        raise AnabranchError(f"listen: {address}: {error.strerror or error}; take another address") from None
    return Listener(where, sockets, security, timeout_s, introduction, on_connection, on_failure)


class Listener(Generic[Guest]):
    """Listener that `listen` makes; accepts connections until it is closed."""

    # asyncio's servers take connections too, but say nothing of a TLS handshake that fails.

    def __init__(
        self,
        where: Address,
        sockets: Sequence[socket.socket],
        security: ssl.SSLContext | None,
        timeout_s: float,
        introduction: Introduction[Guest],
        on_connection: Serve[Guest],
        on_failure: Report,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._where = where
        self._security = security
        self._timeout_s = timeout_s
        self._introduction = introduction
        self._on_connection = on_connection
        self._on_failure = on_failure
        self._attending: set[asyncio.Task[None]] = set()
        self._waiting: dict[asyncio.Task[None], str] = {}
        """Those that have not introduced themselves, the oldest first, and where they are."""
        self._accepting = [self._accepts(each) for each in sockets]

    def close(self) -> None:
        """Accepts no more connections, and closes those that have not introduced themselves."""
        for task in (*self._accepting, *self._waiting):
            task.cancel()

    async def wait_closed(self) -> None:
        """Waits until the address is free again."""
        await asyncio.gather(*self._accepting, return_exceptions=True)

    def _accepts(self, listening: socket.socket) -> asyncio.Task[None]:
        task = self._loop.create_task(self._accept(listening))
        # Not by the task itself: one that is cancelled before its first step does nothing.
        task.add_done_callback(lambda _: listening.close())
        return task

    async def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                accepted, peer = await self._loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(REST_S)
                continue
            self._take(accepted, self._peer(peer))

    def _take(self, accepted: socket.socket, peer: str) -> None:
        if len(self._waiting) >= COMERS_MAX:
            # A real switch introduces itself within a few milliseconds, so the oldest is dropped.
            oldest = next(iter(self._waiting))
            self._on_failure(self._waiting.pop(oldest), AnabranchError(f"no hello before {COMERS_MAX} others came"))
            oldest.cancel()
        task = self._loop.create_task(self._attend(accepted, peer))
        self._waiting[task] = peer
        self._attending.add(task)
        task.add_done_callback(self._ended)
        # Closing a second time does no harm, and the transport is aborted by then.
        task.add_done_callback(lambda _: accepted.close())

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._attending.discard(task)
        self._waiting.pop(task, None)

    async def _attend(self, accepted: socket.socket, peer: str) -> None:
        arrival = self._introduction.begin(self._timeout_s, peer)
        task = asyncio.current_task()
        assert task is not None
        try:
            try:
                guest = await self._introduced(arrival, accepted)
            except AnabranchError as error:
                self._on_failure(peer, error)
                return
            self._waiting.pop(task, None)
            with contextlib.suppress(Disconnected, Refused):
                await self._on_connection(guest)
        finally:
            arrival.close()

    async def _introduced(self, arrival: Arrival[Guest], accepted: socket.socket) -> Guest:
        """Introduces both ends to each other and returns the guest.

        Raises:
            AnabranchError: the introduction fails.

        """
        patience_s = None if self._security is None else self._timeout_s
        try:
            await self._loop.connect_accepted_socket(
                lambda: arrival.protocol, accepted, ssl=self._security, ssl_handshake_timeout=patience_s
            )
        except OSError as error:
            raise handshake_error(error, self._introduction.peer) from None
        try:
            return await asyncio.wait_for(arrival.introduced(), self._timeout_s)
        except (TimeoutError, asyncio.TimeoutError):
            raise Disconnected(f"no hello in {self._timeout_s:g} s; {self._introduction.question}") from None

    def _peer(self, peer: object) -> str:
        if self._where.kind == UNIX or not isinstance(peer, tuple):
            return str(self._where)
        return str(Address(self._where.kind, peer[0], peer[1]))


async def _sockets(where: Address) -> list[socket.socket]:
    """Sockets, one for each address that a name has."""
    if where.kind == UNIX:
        return [_unix_socket(Path(where.host))]
    sockets: list[socket.socket] = []
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    try:
        for family, address in dict.fromkeys((info[0], info[4]) for info in infos):
            sockets.append(socket.create_server(address, family=family, backlog=BACKLOG))
            sockets[-1].setblocking(False)
    except OSError:
        for each in sockets:
            each.close()
        raise
    return sockets


def _unix_socket(path: Path) -> socket.socket:
    """Socket that only its owner can connect to; replaces one whose process has ended."""
    listening = socket.socket(socket.AF_UNIX)
    try:
        # Linux takes the file's mode from the socket's own, so that there is no moment in which others may connect.
        os.fchmod(listening.fileno(), 0o600)
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISSOCK(path.lstat().st_mode) and _abandoned(path):
                path.unlink()
        listening.bind(str(path))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _abandoned(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as knock:
        try:
            knock.setblocking(False)
            knock.connect(str(path))
        except ConnectionRefusedError:
            return True
        except BlockingIOError:
            # Its queue is full: it is somebody's.
            return False
        return False
