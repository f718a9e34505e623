"""The controller's pages over HTTP: GET only, every request and answer bounded, none of them in the way of the loop."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable
from time import monotonic

from aiohttp import web

from anabranch import AnabranchError

CONNECTIONS_MAX = 64
LIFETIME_S = 15.0
"""Of a connection, idle or not: who sends its request letter by letter is gone after it."""
HEADER_MAX, HEADERS_MAX = 4096, 64
FRESH_S = 0.5
"""An answer is given to all who ask within this time."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Connection": "close",
}

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
        self._local = _is_loopback(host)
        self._protocol = _Bounded(self._answer)
        try:
            self._server = await asyncio.get_running_loop().create_server(self._protocol, host, int(port), backlog=64)
        except OSError as error:
            raise AnabranchError(f"listen.http: {address}: {error.strerror or error}; give a free one") from None

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens: the port that was chosen, if 0 was given."""
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
        if request.method != "GET":
            return _text(405, "only GET", Allow="GET")
        if self._local and not _is_loopback(_without_port(request.host)):
            # A page of somebody's whose name was made to lead here must not read the fabric.
            return _text(403, "listening for this machine only: ask for localhost")
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
        self._made: tuple[float, Answer] | None = None

    async def get(self) -> Answer:
        async with self._lock:
            if self._made is None or monotonic() - self._made[0] > FRESH_S:
                answer = await asyncio.to_thread(self._make)
                self._made = monotonic(), answer
            return self._made[1]


class _Bounded(web.Server):
    """At most so many connections, none for longer than `LIFETIME_S`."""

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
        self._ends: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self._ends) >= CONNECTIONS_MAX:
            transport.abort()
            return
        self._ends[handler] = asyncio.get_running_loop().call_later(LIFETIME_S, transport.abort)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        end = self._ends.pop(handler, None)
        if end is not None:
            end.cancel()


def _text(status: int, text: str, **more: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n", headers={**HEADERS, **more})


def _without_port(host: str) -> str:
    return host if host.endswith("]") else host.rsplit(":", 1)[0]


def _is_loopback(host: str) -> bool:
    if host in ("localhost", ""):
        return host == "localhost"
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
