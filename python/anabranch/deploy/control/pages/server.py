"""The controller's pages over HTTP: GET only, every request and answer bounded, none of them in the way of the loop."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from aiohttp import web

from anabranch.files import loopback
from anabranch.files.errors import AnabranchError

CONNECTIONS_MAX = 64
SOURCE_CONNECTIONS_MAX = 16
"""Connections of one address: twice what a browser opens, and little enough that others find room."""
IPV6_SOURCE_BITS = 64
"""Prefix that counts as one address: whoever has one address of a subnet has all of them (RFC 7421)."""
LIFETIME_S = 15.0
"""Lifetime of a connection, idle or not: a client that sends its request letter by letter is cut off after it."""
HEADER_MAX, HEADERS_MAX = 4096, 64
FRESH_S = 0.5
"""An answer is given to all who ask within this time."""

HEADERS = {**loopback.HEADERS, "Content-Security-Policy": f"default-src 'none'; style-src 'self'; {loopback.UNFRAMED}"}

Answer = tuple[int, str, bytes]
"""Status, content type, body."""


class Pages:
    """A server of pages, each made by a function that may run in any thread."""

    def __init__(self, pages: dict[str, Callable[[], Answer]]) -> None:
        self._pages = {path: _Page(make) for path, make in pages.items()}
        self._server: asyncio.Server | None = None
        self._protocol: _Bounded | None = None
        self._local = True

    async def start(self, address: str) -> None:
        """Listens on `host:port`.

        Raises:
            AnabranchError: no such address, or it is taken.

        """
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        if not host or not port.isdigit() or int(port) > 65535:
            raise AnabranchError(f"listen.http: {address}: not host:port; write 127.0.0.1:9653")
        self._local = loopback.is_loopback(host)
        self._protocol = _Bounded(self._answer)
        try:
            self._server = await asyncio.get_running_loop().create_server(self._protocol, host, int(port), backlog=64)
        except OSError as error:
            raise AnabranchError(f"listen.http: {address}: {error.strerror or error}; give a free one") from None

    @property
    def address(self) -> tuple[str, int]:
        """Address at which it listens: the port that was chosen, if 0 was given."""
        if self._server is None:
            raise AnabranchError("pages: not started; call start() first")
        host, port = self._server.sockets[0].getsockname()[:2]
        return str(host), int(port)

    async def close(self) -> None:
        """Stops listening and ends all connections."""
        if self._server is not None and self._protocol is not None:
            self._server.close()
            await self._protocol.shutdown(timeout=1)
            await self._server.wait_closed()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._protocol is not None:
            self._protocol.asked(request.protocol)
        answer = await self._answered(request)
        # The header alone would leave the connection open for a client that waits for its end.
        answer.force_close()
        return answer

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method != "GET":
            return _text(405, "only GET", Allow="GET")
        if self._local and not loopback.asks_for_loopback(request.host):
            return _text(403, loopback.REFUSAL)
        page = self._pages.get(request.path)
        if page is None:
            return _text(404, f"one of {' '.join(self._pages)}")
        status, kind, body = await page.get()
        return web.Response(status=status, body=body, headers={**HEADERS, "Content-Type": kind})


class _Page:
    """One page, made at most once in `FRESH_S` and never twice at a time."""

    def __init__(self, make: Callable[[], Answer]) -> None:
        self._make = make
        self._lock = asyncio.Lock()
        self._cached: tuple[float, Answer] | None = None

    async def get(self) -> Answer:
        async with self._lock:
            if self._cached is None or monotonic() - self._cached[0] > FRESH_S:
                answer = await asyncio.to_thread(self._make)
                self._cached = monotonic(), answer
            return self._cached[1]


@dataclass
class _OpenConnection:
    """A connection that is open."""

    transport: asyncio.Transport
    source: str
    end: asyncio.TimerHandle
    asked: bool = False
    """Whether its request has come; until then nobody works for it."""


class _Bounded(web.Server):
    """At most so many connections, and so many of one address, none for longer than `LIFETIME_S`.

    A new one is always let in, so that slow clients keep nobody out: where there is no room an older one is closed,
    first one that has not asked yet, of the same address or else of the one that has most.
    """

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        super().__init__(
            handler,
            access_log=None,
            keepalive_timeout=LIFETIME_S,
            lingering_time=0,
            max_line_size=HEADER_MAX,
            max_field_size=HEADER_MAX,
            max_headers=HEADERS_MAX,
        )
        self._open: dict[web.RequestHandler, _OpenConnection] = {}
        """The oldest first."""

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        source = _source(transport)
        self._make_room(source)
        end = asyncio.get_running_loop().call_later(LIFETIME_S, transport.abort)
        self._open[handler] = _OpenConnection(transport, source, end)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self._forget(handler)

    def asked(self, handler: web.RequestHandler) -> None:
        """Notes that a connection's request has come."""
        connection = self._open.get(handler)
        if connection is not None:
            connection.asked = True

    def _make_room(self, source: str) -> None:
        counts = Counter(connection.source for connection in self._open.values())
        if counts[source] < SOURCE_CONNECTIONS_MAX:
            if len(self._open) < CONNECTIONS_MAX:
                return
            ((source, _),) = counts.most_common(1)
        of_source = [(handler, connection) for handler, connection in self._open.items() if connection.source == source]
        handler, connection = min(of_source, key=lambda one: one[1].asked)
        self._forget(handler)
        connection.transport.abort()

    def _forget(self, handler: web.RequestHandler) -> None:
        connection = self._open.pop(handler, None)
        if connection is not None:
            connection.end.cancel()


def _source(transport: asyncio.Transport) -> str:
    """The address that a connection comes from, as far as it counts as one."""
    address = ipaddress.ip_address(transport.get_extra_info("peername")[0].partition("%")[0])
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((int(address), IPV6_SOURCE_BITS), strict=False))


def _text(status: int, text: str, **more: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n", headers={**HEADERS, **more})
