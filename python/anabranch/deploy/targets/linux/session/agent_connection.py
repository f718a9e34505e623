"""The controller's connection to an agent: calls are answered in time, or it ends."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from anabranch.deploy.control.ending import end
from anabranch.deploy.openflow.address import UNIX, parse_address
from anabranch.deploy.openflow.tls import Peer, Tls, context_for, handshake_error
from anabranch.deploy.targets.linux.agent import record
from anabranch.deploy.targets.linux.agent.framing import PORT, ClosedError, Message, MessageError, MessageStream
from anabranch.deploy.targets.linux.agent.hello import Hello, Welcome, read_welcome
from anabranch.deploy.targets.linux.session.routing_kernel import UnreachableError
from anabranch.files.errors import AnabranchError

Value = TypeVar("Value")
TIMEOUT_S, PROBE_S = 5.0, 2.0
"""Time that an agent has for its first answer and for that to a probe, and between two probes."""
CALL_S = 60.0
"""Time limit of a call that reads or changes the kernel, while probes are answered."""
AGENT = Peer(
    "does an agent listen there, and by TLS?",
    "give --key, --certificate and --authority to `anabranch agent`",
    "have `anabranch agent` listen at ssl:HOST:PORT",
    "[tls]",
)


class AgentConnection:
    """One agent that is connected; made by `connect`."""

    def __init__(self, stream: MessageStream, welcome: Welcome) -> None:
        self.welcome = welcome
        self.on_links: Callable[[Message], None] = lambda _: None
        """Called with every message about links; a `MessageError` that it raises ends the connection."""
        self.on_routes: Callable[[], None] = lambda: None
        """Called when a change of routes or gateways was announced."""
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the connection has ended."""
        self.reason = AnabranchError("")
        """Reason for its end."""
        self._stream = stream
        self._answers: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._calls = 0
        self._tasks = [asyncio.create_task(self._receive()), asyncio.create_task(self._probe())]

    async def call(self, call: str, read: Callable[[Mapping[str, Any]], Value], **fields: object) -> Value:
        """Calls the agent, and reads its answer.

        Raises:
            UnreachableError: the connection has ended, or ends by an answer that is none.
            AnabranchError: the agent or its kernel refuses.

        """
        answer = await self._call(call, CALL_S, **fields)
        try:
            return read(answer)
        except MessageError as error:
            raise self._end_by(error) from None

    async def close(self) -> None:
        """Ends the connection; the kernel stays as it is."""
        self._end_by(UnreachableError("the connection was closed"))
        await end(self._tasks)

    async def _call(self, call: str, timeout_s: float, **fields: object) -> Mapping[str, Any]:
        if self.closed.done():
            raise self.reason
        self._calls += 1
        number = self._calls
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            self._stream.post({"id": number, "call": call, **fields})
            return await asyncio.wait_for(answer, timeout_s)
        except asyncio.TimeoutError:
            raise self._end_by(UnreachableError(f"no answer to {call} in {timeout_s:g} s; is it running?")) from None
        finally:
            self._answers.pop(number, None)

    async def _receive(self) -> None:
        try:
            while True:
                self._take(await self._stream.receive())
        except AnabranchError as error:
            self._end_by(error)
        except OSError as error:
            self._end_by(_lost(error))

    def _take(self, message: Message) -> None:
        if "links" in message:
            self.on_links(message)
        elif "routes" in message:
            self.on_routes()
        elif "id" in message:
            answer = self._answers.get(record.integer(message["id"], "id", 0, record.U63))
            if answer is None or answer.done():
                return
            if "refused" in message:
                answer.set_exception(AnabranchError(record.text(message["refused"], "refused", 10_000)))
            else:
                answer.set_result(record.mapping(message.get("result"), "result"))
        else:
            raise MessageError(f"the agent ended: {record.text(message.get('error'), 'error', 1000)}")

    async def _probe(self) -> None:
        try:
            while True:
                await asyncio.sleep(PROBE_S)
                await self._call("ping", TIMEOUT_S)
        except AnabranchError as error:
            self._end_by(error)

    def _end_by(self, error: AnabranchError) -> AnabranchError:
        """Ends the connection, unless it has ended; the reason with the name of the agent."""
        if not self.closed.done():
            reason = self.reason = UnreachableError(f"agent {self._stream.peer}: {error}")
            self.closed.set_result(None)
            self._stream.abort()
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(reason)
        return self.reason


async def connect(address: str, tls: Tls | None, hello: Hello) -> AgentConnection:
    """Connects to the agent at `ssl:HOST:PORT`, `unix:PATH` or `tcp:HOST:PORT`.

    Raises:
        UnreachableError: no agent of this version answers there, or one end refuses the other's certificate.
        AnabranchError: `ssl` without certificates.

    """
    where = parse_address(address, PORT)
    security = context_for(where, tls, server=False)
    loop, stream = asyncio.get_running_loop(), MessageStream(address)
    begun: Awaitable[object]
    if where.kind == UNIX:
        begun = loop.create_unix_connection(lambda: stream, where.host)
    else:
        name = None if security is None else ""
        begun = loop.create_connection(lambda: stream, where.host, where.port, ssl=security, server_hostname=name)
    try:
        await asyncio.wait_for(begun, TIMEOUT_S)
        stream.post(hello.record())
        return AgentConnection(stream, read_welcome(await asyncio.wait_for(stream.receive(), TIMEOUT_S)))
    except (TimeoutError, asyncio.TimeoutError):
        stream.abort()
        raise UnreachableError(f"agent {address}: silent for {TIMEOUT_S:g} s; is it running?") from None
    except (ConnectionError, ClosedError) as error:
        stream.abort()
        hint = "is it running?" if security is None else "is it running, and does its authority vouch for us?"
        raise UnreachableError(f"agent {address}: {getattr(error, 'strerror', '') or error}; {hint}") from None
    except OSError as error:
        stream.abort()
        raise UnreachableError(f"agent {address}: {_lost(error)}") from None
    except AnabranchError as error:
        stream.abort()
        raise UnreachableError(f"agent {address}: {error}") from None
    except BaseException:
        stream.abort()
        raise


def _lost(error: OSError) -> AnabranchError:
    if isinstance(error, ssl.SSLError):
        return handshake_error(error, AGENT)
    return UnreachableError(f"{error.strerror or error}; is it running?")
