"""Server of a live page: this machine only, GET only, nothing that a request could change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from threading import BoundedSemaphore, Condition, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from anabranch.files import loopback
from anabranch.files.errors import AnabranchError

ADDRESS = "127.0.0.1"
CONNECTIONS_MAX = 64
LIFETIME_S = 15.0
"""Longest time that a client may take for the next piece of its request, or of its answer."""

HTML = "text/html; charset=utf-8"
JSON = "application/json; charset=utf-8"
HEADERS = {**loopback.HEADERS, "Content-Security-Policy": loopback.UNFRAMED}
"""What its scripts may do stands in each page itself."""

Page = Callable[[Mapping[str, str]], tuple[str, bytes] | None]
"""Content type and body for the values of a query; `None` while there is no such page."""


class LiveServer:
    """Pages by path, each answered in a thread of its own."""

    def __init__(self, pages: Mapping[str, Page], port: int) -> None:
        """Listens on `ADDRESS`; port 0 is a free one.

        Raises:
            AnabranchError: the port is taken, or may not be had.

        """
        try:
            self._server = _Server((ADDRESS, port), type("Answers", (_Answers,), {"pages": pages}))
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else "no such port"
            raise AnabranchError(f"--port: {port}: {reason}; give a free one, or leave it out") from None
        self._thread = Thread(target=self._server.serve_forever, args=(0.1,), name="live", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Address of the first page."""
        return f"http://{ADDRESS}:{self._server.server_address[1]}/"

    def close(self) -> None:
        """Stops listening, and waits until the answers that are under way have gone out."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(LIFETIME_S)
        self._server.await_answers(LIFETIME_S)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        self._free = BoundedSemaphore(CONNECTIONS_MAX)
        self._idle = Condition()
        self._answers = 0
        super().__init__(*arguments)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Counts an answer while it is under way."""
        with self._idle:
            self._answers += 1
        try:
            yield
        finally:
            with self._idle:
                self._answers -= 1
                self._idle.notify_all()

    def await_answers(self, seconds: float) -> None:
        """Waits until no answer is under way, at most so long; browsers keep connections open that ask for nothing."""
        with self._idle:
            self._idle.wait_for(lambda: self._answers == 0, seconds)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Says nothing: a browser that closes its page ends its connections as it likes."""


class _Answers(BaseHTTPRequestHandler):
    timeout = LIFETIME_S
    pages: Mapping[str, Page]
    server: _Server

    def do_GET(self) -> None:
        """Answers with a page."""
        with self.server.answering():
            self._answer()

    def _answer(self) -> None:
        if not loopback.asks_for_loopback(self.headers.get("Host", "")):
            return self._send(403, "text/plain; charset=utf-8", f"{loopback.REFUSAL}\n".encode())
        asked = urlsplit(self.path)
        page = self.pages.get(asked.path)
        answer = page(dict(parse_qsl(asked.query))) if page is not None else None
        if answer is None:
            return self._send(404, "text/plain; charset=utf-8", f"one of {' '.join(self.pages)}\n".encode())
        return self._send(200, *answer)

    def _refuse(self) -> None:
        self._send(405, "text/plain; charset=utf-8", b"only GET\n", Allow="GET")

    do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = do_POST = do_PUT = _refuse  # noqa: N815

    def _send(self, status: int, kind: str, body: bytes, **more: str) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """Names no version of Python."""
        return "anabranch"

    def log_message(self, *_: object) -> None:
        """Writes nothing: the terminal shows the run's progress."""
