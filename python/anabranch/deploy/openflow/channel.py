"""Messages to and from one switch: replies are matched with requests, and every wait has an end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from anabranch.deploy.openflow.error import Disconnected, ProtocolError, Refused, SwitchError, decode_error
from anabranch.deploy.openflow.framing import VERSION, Frames, Kind, Message, message
from anabranch.deploy.openflow.handshake import HELLO, INCOMPATIBLE, check_hello
from anabranch.deploy.openflow.multipart import Answer, What, encode_request
from anabranch.files.errors import AnabranchError

WHOLE_ANSWER_S = 60
"""Time limit of a whole answer in seconds, however steadily its parts arrive."""
_WRITE = 1 << 16
_READ = 1 << 14
"""Bytes that are handled before other connections have their turn: a thousand messages, a few milliseconds."""
UNASKED_PER_S = 2000
"""Messages that a switch may send unasked; if it sends more, nothing is read until the second is over."""
_XIDS = 1 << 32
_ASYNCHRONOUS = frozenset({4, 11, 31, 32, 35})
"""Messages that switches send unasked and that are ignored: experimenters', removed flows, ..."""
_REPLIES = frozenset(
    {
        Kind.ECHO_REPLY,
        Kind.FEATURES_REPLY,
        Kind.MULTIPART_REPLY,
        Kind.BARRIER_REPLY,
        Kind.ROLE_REPLY,
        Kind.BUNDLE_CONTROL,
    }
)


@dataclass
class Batch:
    """Messages that are answered only if they are refused."""

    xids: range
    refusals: dict[int, SwitchError] = field(default_factory=dict)
    """Refusals, by the position of the message in the batch."""


@dataclass
class _Waiting:
    reply: int
    what: str
    future: asyncio.Future[list[bytes]]
    since: float
    heard: float
    answer: Answer | None = None


class Channel(asyncio.BufferedProtocol):
    """One connection. Any error ends it, and every waiting request gets the reason."""

    def __init__(self, timeout_s: float, peer: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._timeout_s = timeout_s
        self.peer = peer
        """The switch's address, for people."""
        self.hello: asyncio.Future[None] = self._loop.create_future()
        """Done when both ends know that they speak version 1.5."""
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self.on_port_status: Callable[[bytes], None] = lambda _: None
        self.on_packet_in: Callable[[bytes], None] = lambda _: None
        self.on_role_status: Callable[[bytes], None] = lambda _: None
        self._transport: asyncio.Transport | None = None
        self._frames = Frames()
        self._waiting: dict[int, _Waiting] = {}
        self._batches: list[Batch] = []
        self._next = 0
        self._failure: AnabranchError | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._heard = self._loop.time()
        self._probe: asyncio.TimerHandle | None = None
        # asyncio reads TLS into slices of it, which of a bytearray would be copies (`_do_read__buffered`, sslproto.py).
        self._buffer = memoryview(bytearray(_READ))
        self._unasked = 0
        self._second = self._heard
        self._patience: asyncio.TimerHandle | None = None

    @property
    def failure(self) -> AnabranchError | None:
        """Reason why the connection has ended; None while it has not."""
        return self._failure

    # Requests of the controller.

    async def request(self, kind: int, body: bytes, reply: int, what: str) -> bytes:
        """Sends a request and awaits its one reply's body; `what` is for people.

        Raises:
            Refused: the switch answers by an error.
            Disconnected: there is no connection, or no answer in time.
            ProtocolError: the switch sends nonsense.

        """
        (answer,) = await self._send(kind, body, reply, what, None)
        return answer

    async def multipart(self, what: What, body: bytes) -> list[bytes]:
        """Requests a long answer, and awaits its parts."""
        name = what.name.lower().replace("_", " ")
        return await self._send(
            Kind.MULTIPART_REQUEST, encode_request(what, body), Kind.MULTIPART_REPLY, name, Answer(what)
        )

    async def barrier(self) -> None:
        """Waits until the switch has done everything it was sent."""
        await self.request(Kind.BARRIER_REQUEST, b"", Kind.BARRIER_REPLY, "barrier")

    @contextmanager
    def batch(self, count: int) -> Iterator[Batch]:
        """Numbers messages that are answered only if refused. A barrier within shows that all answers have arrived."""
        batch = Batch(self._xids(count))
        self._batches.append(batch)
        try:
            yield batch
        finally:
            self._batches.remove(batch)

    async def write(self, messages: Iterable[bytes]) -> None:
        """Sends messages, as fast as the switch accepts them."""
        waiting: list[bytes] = []
        size = 0
        for one in messages:
            waiting.append(one)
            size += len(one)
            if size >= _WRITE:
                await self._write(b"".join(waiting))
                waiting, size = [], 0
        await self._write(b"".join(waiting))

    def ask_later(self, kind: int, body: bytes, reply: int, what: str) -> None:
        """Sends a request whose reply is not awaited; if none arrives, the connection ends."""
        if self._failure is None:
            self._send(kind, body, reply, what, None).add_done_callback(
                lambda done: done.cancelled() or done.exception()
            )

    def post(self, kind: int, xid: int, body: bytes) -> None:
        """Sends a message that nobody answers, unless the switch reads too slowly; `xid` is of a batch."""
        if self._failure is None and self._writable.is_set():
            assert self._transport is not None
            self._transport.write(message(kind, xid, body))

    def close(self, reason: AnabranchError | None = None) -> None:
        """Ends the connection."""
        if self._failure is None:
            self._failure = reason or Disconnected(f"switch {self.peer}: the connection was closed; connect again")
        for timer in (self._probe, self._patience):
            if timer is not None:
                timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        self._writable.set()
        waiting, self._waiting = self._waiting, {}
        for one in waiting.values():
            if not one.future.done():
                one.future.set_exception(self._failure)
        if not self.hello.done():
            self.hello.set_exception(self._failure)
            # It need not be awaited: not by who has given up.
            self.hello.exception()

    # Methods that asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Sends the hello."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(message(Kind.HELLO, 0, HELLO))
        self._probe = self._loop.call_later(self._timeout_s, self._look)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (asyncio's)
        """Buffer for the next bytes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Handles the bytes that have arrived."""
        self._heard = self._loop.time()
        try:
            for one in self._frames.feed(bytes(self._buffer[:nbytes])):
                if self._failure is not None:
                    return
                self._receive(one)
        except AnabranchError as error:
            self.close(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """Reports the end to all waiting requests."""
        self.close(Disconnected(f"switch {self.peer}: {exc or 'it closed the connection'}; is it running?"))
        if not self.closed.done():
            self.closed.set_result(None)

    def pause_writing(self) -> None:
        """Pauses: the switch reads more slowly than it is sent."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Resumes: the switch has caught up."""
        self._writable.set()

    # How.

    def _xids(self, count: int) -> range:
        if self._next + count >= _XIDS:
            self._next = 0
        first = self._next + 1
        self._next += count
        return range(first, first + count)

    def _send(
        self, kind: int, body: bytes, reply: int, what: str, answer: Answer | None
    ) -> asyncio.Future[list[bytes]]:
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        assert self._transport is not None
        (xid,) = self._xids(1)
        now = self._loop.time()
        waiting = _Waiting(reply, what, self._loop.create_future(), now, now, answer)
        self._waiting[xid] = waiting
        self._transport.write(message(kind, xid, body))
        self._loop.call_later(self._timeout_s, self._expire, xid, waiting)
        return waiting.future

    async def _write(self, data: bytes) -> None:
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        assert self._transport is not None
        self._transport.write(data)
        if not self._writable.is_set():
            stuck = self._loop.call_later(self._timeout_s, self._silent, "it reads nothing")
            try:
                await self._writable.wait()
            finally:
                stuck.cancel()
        else:
            await asyncio.sleep(0)

    def _expire(self, xid: int, waiting: _Waiting) -> None:
        if self._waiting.get(xid) is not waiting:
            return
        now = self._loop.time()
        due = min(waiting.heard + self._timeout_s, waiting.since + max(WHOLE_ANSWER_S, self._timeout_s))
        if now < due:
            self._loop.call_at(due, self._expire, xid, waiting)
        else:
            self._silent(f"{waiting.what}: no whole answer in {now - waiting.since:.1f} s")

    def _look(self) -> None:
        """Checks whether the switch is still alive: a silent one must answer an echo."""
        if self.hello.done() and self._loop.time() - self._heard >= self._timeout_s and not self._waiting:
            self.ask_later(Kind.ECHO_REQUEST, b"", Kind.ECHO_REPLY, "echo")
        if self._failure is None:
            self._probe = self._loop.call_later(self._timeout_s, self._look)

    def _silent(self, what: str) -> None:
        self.close(Disconnected(f"switch {self.peer}: {what}; is it running?"))

    def _receive(self, one: Message) -> None:
        if not self.hello.done():
            self._receive_first(one)
        elif one.version != VERSION:
            raise ProtocolError(f"a message of wire version {one.version:#04x}")
        elif one.kind == Kind.ERROR:
            self._receive_error(one)
        elif one.kind in _REPLIES:
            self._receive_reply(one)
        else:
            self._receive_unasked(one)

    def _receive_unasked(self, one: Message) -> None:
        if self._heard - self._second >= 1:
            self._second, self._unasked = self._heard, 0
        self._unasked += 1
        if self._unasked >= UNASKED_PER_S and self._patience is None:
            assert self._transport is not None
            self._transport.pause_reading()
            self._patience = self._loop.call_at(self._second + 1, self._read_on)
        if one.kind == Kind.ECHO_REQUEST:
            self._answer_echo(one)
        elif one.kind == Kind.PORT_STATUS:
            self.on_port_status(one.body)
        elif one.kind == Kind.PACKET_IN:
            self.on_packet_in(one.body)
        elif one.kind == Kind.ROLE_STATUS:
            self.on_role_status(one.body)
        elif one.kind != Kind.HELLO and one.kind not in _ASYNCHRONOUS:
            raise ProtocolError(f"a message of type {one.kind}")

    def _read_on(self) -> None:
        self._patience = None
        if self._transport is not None:
            self._transport.resume_reading()

    def _receive_first(self, one: Message) -> None:
        if one.kind == Kind.ERROR:
            raise Refused(decode_error(one.body), "hello")
        try:
            check_hello(one)
        except ProtocolError:
            assert self._transport is not None
            self._transport.write(message(Kind.ERROR, one.xid, INCOMPATIBLE))
            raise
        self.hello.set_result(None)

    def _answer_echo(self, one: Message) -> None:
        # One that asks and does not read gets no answers: they would pile up.
        if self._writable.is_set():
            assert self._transport is not None
            self._transport.write(message(Kind.ECHO_REPLY, one.xid, one.body))

    def _receive_reply(self, one: Message) -> None:
        waiting = self._waiting.get(one.xid)
        if waiting is None or waiting.reply != one.kind:
            raise ProtocolError(f"a reply of type {one.kind} to no request (xid {one.xid:#x})")
        waiting.heard = self._heard
        parts = [one.body]
        if waiting.answer is not None:
            if not waiting.answer.add(one.body):
                return
            parts = waiting.answer.parts
        del self._waiting[one.xid]
        if not waiting.future.done():
            waiting.future.set_result(parts)

    def _receive_error(self, one: Message) -> None:
        error = decode_error(one.body)
        waiting = self._waiting.pop(one.xid, None)
        if waiting is not None:
            if not waiting.future.done():
                waiting.future.set_exception(Refused(error, waiting.what))
            return
        for batch in self._batches:
            if one.xid in batch.xids:
                batch.refusals.setdefault(one.xid - batch.xids.start, error)
                return
        raise ProtocolError(f"{error.name} about nothing that it was sent (xid {one.xid:#x})")
