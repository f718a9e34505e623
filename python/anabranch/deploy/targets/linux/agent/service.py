"""One controller at an agent: its calls answered, and what the kernel announces passed on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from anabranch.deploy.control.ending import end, to_the_end
from anabranch.deploy.control.namespace_view import LocalNamespace
from anabranch.deploy.targets.linux.agent import record
from anabranch.deploy.targets.linux.agent.framing import HELLO_BYTES_MAX, Message, MessageError, MessageStream
from anabranch.deploy.targets.linux.agent.hello import Hello, Welcome, read_hello
from anabranch.deploy.targets.linux.own_routes import OwnRoutes
from anabranch.deploy.targets.linux.session.routing_kernel import UnreachableError
from anabranch.files.errors import AnabranchError

SILENCE_S = 30.0
"""Time without a message after which a controller counts as gone; it sends one every few seconds."""
CALLS_MAX = 16
"""Calls of one controller that wait for their answers."""

Call = Callable[[Message], Coroutine[Any, Any, Mapping[str, Any]]]


@dataclass(frozen=True)
class Guest:
    """A controller that has said who it is."""

    stream: MessageStream
    hello: Hello


async def introduce(stream: MessageStream) -> Guest:
    """Awaits the first message of a controller.

    Raises:
        UnreachableError: what came is none; the other end has been told why.

    """
    try:
        return Guest(stream, read_hello(await stream.receive(HELLO_BYTES_MAX)))
    except MessageError as error:
        stream.post({"error": str(error)})
        raise
    except OSError as error:
        raise UnreachableError(f"{error.strerror or error}") from None


class Service:
    """What an agent does for one controller until the connection ends.

    Args:
        guest: the controller.
        changing: lock that calls of all controllers take.

    """

    def __init__(self, guest: Guest, changing: asyncio.Lock) -> None:
        self._stream, self._hello, self._changing = guest.stream, guest.hello, changing
        self._calls: dict[str, Call] = {"look": self._look, "put": self._put, "ask": self._ask, "count": self._count}
        self._calls["packets"] = self._packets
        self._open_calls: set[asyncio.Task[None]] = set()
        self._touched: set[str] = set()
        self._died: set[str] = set()
        self._routes_changed = False
        self._news = asyncio.Event()
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._heard = True

    async def run(self) -> None:
        """Serves the controller.

        Raises:
            AnabranchError: the connection has ended, or the kernel does not let us.

        """
        with ExitStack() as stack:
            try:
                self._view = stack.enter_context(LocalNamespace())
                self._routes = stack.enter_context(OwnRoutes(self._hello.owner, self._hello.hops))
                weight_max = self._routes.weight_max()
            except (AnabranchError, OSError) as error:
                self._stream.post({"error": str(error)})
                raise UnreachableError(str(error)) from None
            self._stream.post(Welcome(weight_max, self._devices).record())
            self._view.follow(self._hear_links, self._end_by)
            asyncio.get_running_loop().add_reader(self._routes.fileno(), self._hear_routes)
            parts = (self._receive(), self._announce(), self._await_silence(), self._broken)
            tasks = [asyncio.ensure_future(part) for part in parts]
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            except OSError as error:
                raise UnreachableError(f"{error.strerror or error}") from None
            finally:
                self._view.unfollow()
                asyncio.get_running_loop().remove_reader(self._routes.fileno())
                # A call that a thread is at ends before the sockets are closed.
                await end([*tasks, *self._open_calls])

    @property
    def _devices(self) -> dict[str, Any]:
        known = self._view.devices
        return {name: known[name] for name in self._hello.names if name in known}

    async def _receive(self) -> None:
        try:
            while True:
                message = await self._stream.receive()
                self._heard = True
                self._take(message)
                await self._stream.sent()
        except MessageError as error:
            self._stream.post({"error": str(error)})
            raise

    def _take(self, message: Message) -> None:
        if message.get("call") == "ping":
            return self._stream.post({"id": message.get("id"), "result": {}})
        number = record.integer(message.get("id"), "id", 0, record.U63)
        call = self._calls.get(record.text(message.get("call"), "call", 20))
        if call is None:
            raise MessageError(f"call: {str(message['call'])!r}: none of {', '.join(self._calls)}")
        if len(self._open_calls) >= CALLS_MAX:
            raise MessageError(f"more than {CALLS_MAX} calls at once")
        task = asyncio.create_task(self._answer(number, call, message))
        self._open_calls.add(task)
        task.add_done_callback(self._open_calls.discard)
        return None

    async def _answer(self, number: int, call: Call, message: Message) -> None:
        try:
            async with self._changing:
                answer = {"id": number, "result": await call(message)}
        except MessageError as error:
            self._stream.post({"error": str(error)})
            self._end_by(error)
            return
        except AnabranchError as error:
            answer = {"id": number, "refused": str(error)}
        except Exception as error:
            answer = {"id": number, "refused": f"{error!r}: a mistake of anabranch's agent; please report it"}
        try:
            # Devices that had died by now are announced before the answer.
            self._hear_links()
            self._post_news()
            self._stream.post(answer)
        except (AnabranchError, OSError) as error:
            self._end_by(error)

    async def _look(self, _: Message) -> Mapping[str, Any]:
        look = await to_the_end(self._routes.look)
        return {"state": record.state_record(look.state), "silent": record.hops_record(look.silent)}

    async def _put(self, message: Message) -> Mapping[str, Any]:
        owner = self._hello.owner
        observed = record.read_state(message.get("observed"), owner, whole=False)
        desired = record.read_state(message.get("desired"), owner, whole=True)
        return {"changes": await to_the_end(self._routes.put, observed, desired, self._view.devices)}

    async def _ask(self, _: Message) -> Mapping[str, Any]:
        await to_the_end(self._routes.ask, self._view.devices)
        return {}

    async def _count(self, _: Message) -> Mapping[str, Any]:
        measured = await self._view.measure(self._hello.names)
        return {"speeds": dict(measured.speeds_bps), "counters": record.counters_record(measured.counters)}

    async def _packets(self, _: Message) -> Mapping[str, Any]:
        return {"packets": record.packets_record(await to_the_end(self._routes.counted))}

    def _hear_links(self) -> None:
        news = self._view.read()
        if news is not None and not news.touched.isdisjoint(self._hello.names):
            self._touched |= news.touched & set(self._hello.names)
            self._died |= news.died & set(self._hello.names)
            self._news.set()

    def _hear_routes(self) -> None:
        if self._routes.heard():
            self._routes_changed = True
            self._news.set()

    def _post_news(self) -> None:
        if self._touched:
            links = record.devices_record(self._view.devices, self._hello.names)
            self._stream.post({"links": links, "touched": sorted(self._touched), "died": sorted(self._died)})
            self._touched.clear()
            self._died.clear()
        if self._routes_changed:
            self._routes_changed = False
            self._stream.post({"routes": "changed"})

    async def _announce(self) -> None:
        """Passes news on at once, unless the controller takes none: it is then told of all at one time."""
        while True:
            await self._news.wait()
            self._news.clear()
            self._post_news()
            await self._stream.sent()

    async def _await_silence(self) -> None:
        while self._heard:
            self._heard = False
            await asyncio.sleep(SILENCE_S)
        raise UnreachableError(f"silent for {SILENCE_S:g} s")

    def _end_by(self, error: Exception) -> None:
        if not self._broken.done():
            self._broken.set_exception(error)
