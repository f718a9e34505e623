"""Messages that an agent and a controller must not believe: cut, foreign, too long, and of somebody else's routes."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from anabranch.deploy.netlink.nexthop import Device, Hop, Nexthop, NexthopGroup, Resilience, Route
from anabranch.deploy.openflow.port import PortCounters
from anabranch.deploy.targets.linux.agent import daemon, record, service
from anabranch.deploy.targets.linux.agent.framing import (
    HELLO_BYTES_MAX,
    MESSAGE_BYTES_MAX,
    MessageError,
    MessageStream,
    encode,
)
from anabranch.deploy.targets.linux.agent.hello import Hello, Welcome
from anabranch.deploy.targets.linux.observe import NEXTHOPS, PROTOCOL, LinuxState, first_number
from anabranch.deploy.targets.linux.session import agent_connection
from anabranch.deploy.targets.linux.session.agent_connection import connect
from anabranch.deploy.targets.linux.session.remote_kernel import RemoteKernel, RemoteNamespace
from anabranch.deploy.targets.linux.session.routing_kernel import UnreachableError
from anabranch.files.errors import AnabranchError
from support.own_namespace import in_own_namespace

OWNER = 3
FIRST = first_number(OWNER)
HOP = Hop(4, "p0", ip_address("10.9.0.2"))
HELLO = Hello(OWNER, ("p0",), frozenset({HOP}))
NEXTHOP = Nexthop(FIRST + NEXTHOPS, HOP, PROTOCOL)
GROUP = NexthopGroup(FIRST, ((NEXTHOP.nexthop_id, 3),), Resilience(8, 100, 1000), PROTOCOL)
ROUTE = Route(ip_network("10.2.0.0/16"), 254, 1, FIRST, PROTOCOL)
STATE = LinuxState({NEXTHOP.nexthop_id: NEXTHOP}, {FIRST: GROUP}, {ROUTE.key: ROUTE})


def test_states_devices_and_counters_come_back_as_they_went() -> None:
    six = Nexthop(FIRST + NEXTHOPS + 1, Hop(6, ""), PROTOCOL)
    threshold = NexthopGroup(FIRST + 1, ((six.nexthop_id, 65535),), None, PROTOCOL)
    route = Route(ip_network("fd00::/48"), 1 << 31, 1024, six.nexthop_id, PROTOCOL)
    whole = LinuxState(
        {**STATE.nexthops, six.nexthop_id: six},
        {**STATE.groups, FIRST + 1: threshold},
        {**STATE.routes, route.key: route},
    )
    for state in (LinuxState(), STATE, whole):
        assert record.read_state(json.loads(json.dumps(record.state_record(state))), OWNER, whole=True) == state
    device = Device(7, "p0", up=True, carrier=False, alias="anabranch-rate-bps=5")
    assert record.read_devices(record.devices_record({"p0": device, "p1": device}, ["p0", "gone"])) == {"p0": device}
    counters = {"p0": PortCounters(0, 1, 2, 3, 2**64 - 1, 5, 6)}
    assert record.read_counters(record.counters_record(counters)) == counters
    assert record.read_hops(record.hops_record({HOP, six.hop})) == {HOP, six.hop}


def changed(**fields: Any) -> dict[str, Any]:
    return {**record.state_record(STATE), **fields}


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        (None, "no object"),
        ({}, "nexthops"),
        (changed(nexthops=[[1, 4, "p0", ""]]), "number of owner 3"),
        (changed(nexthops=[[first_number(2), 4, "p0", ""]]), "number of owner 3"),
        (changed(nexthops=[[True, 4, "p0", ""]]), "number of owner 3"),
        (changed(nexthops=[[NEXTHOP.nexthop_id, 5, "p0", ""]]), "version 5"),
        (changed(nexthops=[[NEXTHOP.nexthop_id, 4, "p" * 16, ""]]), "no text of up to 15"),
        (changed(nexthops=[[NEXTHOP.nexthop_id, 4, "p0", "10.9.0"]]), "10.9.0"),
        (changed(nexthops=[[NEXTHOP.nexthop_id, 4, "p0"]]), "rows of 4"),
        (changed(nexthops=[]), "leads to what is not in it"),
        (changed(groups=[[FIRST, [], None]]), "leads to what is not in it"),
        (changed(groups=[[FIRST, [[NEXTHOP.nexthop_id, 0]], None]]), "weight"),
        (changed(groups=[[FIRST, [[NEXTHOP.nexthop_id, 65536]], None]]), "weight"),
        (changed(groups=[[FIRST, [[NEXTHOP.nexthop_id, 1.0]], None]]), "weight"),
        (changed(groups=[[FIRST, [[NEXTHOP.nexthop_id, 1]], [0, 1, 1]]]), "buckets"),
        (changed(groups=[[FIRST, [[NEXTHOP.nexthop_id, 1]], [8, -1, 1]]]), "idle timer"),
        (changed(groups=[]), "leads to what is not in it"),
        (changed(routes=[["10.2.0.1/16", 254, 1, FIRST]]), "host bits"),
        (changed(routes=[["10.2.0.0/16", 0, 1, FIRST]]), "table"),
        (changed(routes=[["10.2.0.0/16", 254, 1 << 32, FIRST]]), "metric"),
        (changed(routes=[["10.2.0.0/16", 254, 1, 0]]), "number of owner 3"),
        (changed(routes={"10.2.0.0/16": 1}), "rows of 4"),
    ],
)
def test_a_state_that_is_none_or_somebody_elses_is_refused(state: Any, problem: str) -> None:
    with pytest.raises(MessageError, match=problem):
        record.read_state(state, OWNER, whole=True)


@asynccontextmanager
async def running_agent(address: str) -> AsyncIterator[list[str]]:
    """An agent in the namespace of the test; what it says."""
    lines: list[str] = []
    listener = await daemon.serve(address, None, lines.append)
    try:
        yield lines
    finally:
        listener.close()
        await listener.wait_closed()


async def answer_to(path: Path, sent: bytes, *, cut: bool = False) -> list[dict[str, Any]]:
    """All that an agent answers until it closes the connection; with `cut` nothing follows what is sent."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(sent)
    if cut:
        writer.write_eof()
    received = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    messages = []
    while received:
        (length,) = struct.unpack_from("!I", received)
        messages.append(json.loads(received[4 : 4 + length]))
        received = received[4 + length :]
    return messages


def framed(text: str) -> bytes:
    return struct.pack("!I", len(text)) + text.encode()


def call(name: str, **fields: Any) -> bytes:
    return encode({"id": 1, "call": name, **fields})


@in_own_namespace
def test_an_agent_ends_what_is_no_controller_with_a_reason_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "agent"
    hello = encode(HELLO.record())
    put = {"observed": record.state_record(LinuxState()), "desired": record.state_record(STATE)}
    hostile = {
        b"GET / HTTP/1.1\r\n\r\n": "a message of 1195725856 bytes",
        struct.pack("!I", HELLO_BYTES_MAX + 1): f"longer than {HELLO_BYTES_MAX}",
        framed("{"): "no JSON",
        framed("[" * 100_000): "no JSON",
        framed('{"owner":' + "9" * 5000 + "}"): "no JSON",
        framed("[]"): "no JSON object",
        framed("{}"): "not a controller of anabranch",
        encode({**HELLO.record(), "anabranch-agent": 2}): "version 2 of the protocol, and the agent has 1",
        encode({**HELLO.record(), "owner": 256}): "owner",
        encode({**HELLO.record(), "devices": "p0"}): "devices: no list",
        encode({**HELLO.record(), "hops": [[4, "p0", 1]]}): "gateway",
        hello + struct.pack("!I", MESSAGE_BYTES_MAX + 1): f"longer than {MESSAGE_BYTES_MAX}",
        hello + framed("\x00"): "no JSON",
        hello + encode({"id": 1}): "call",
        hello + call("reboot"): "none of look, put, ask, count",
        hello + encode({"id": -1, "call": "look"}): "id",
        hello + call("put"): "state: no object",
        hello + call("put", **{**put, "desired": changed(groups=[])}): "leads to what is not in it",
        hello + call("look") * 40: "more than 16 calls",
    }

    async def attack() -> None:
        async with running_agent(f"unix:{path}") as lines:
            for sent, problem in hostile.items():
                answers = await answer_to(path, sent)
                assert problem in answers[-1]["error"], (sent[:80], answers)
                assert any(problem in line for line in lines), (problem, lines)
            # Cut anywhere, a change is none; whole, it is refused by its missing device, and the connection goes on.
            whole = hello + call("put", **put)
            for end in (3, len(hello) - 1, len(hello) + 2, len(whole) - 1):
                assert not any("id" in one for one in await answer_to(path, whole[:end], cut=True))
            connection = await connect(f"unix:{path}", None, HELLO)
            assert connection.welcome.devices == {}
            with pytest.raises(AnabranchError, match="no such device now; nothing is changed"):
                await RemoteKernel(connection, OWNER).put(LinuxState(), STATE, {})
            assert (await RemoteKernel(connection, OWNER).look()).state == LinuxState()
            await connection.close()

    asyncio.run(attack())


@in_own_namespace
def test_a_controller_that_falls_silent_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "SILENCE_S", 0.2)

    async def stay() -> None:
        async with running_agent(f"unix:{tmp_path / 'agent'}") as lines:
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "agent"))
            writer.write(encode(HELLO.record()))
            await asyncio.wait_for(reader.read(), 60)
            writer.close()
            assert any("silent for 0.2 s" in line for line in lines)

    asyncio.run(stay())


Reply = Callable[[MessageStream], None]


@asynccontextmanager
async def false_agent(path: Path, welcome: dict[str, Any] | bytes, reply: Reply) -> AsyncIterator[str]:
    """Listener that welcomes every controller and answers each of its messages by `reply`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.current_task())

        class Answers(MessageStream):
            def post(self, message: Any) -> None:
                writer.write(message if isinstance(message, bytes) else encode(message))

        answers = Answers("")
        answers.post(welcome)
        try:
            while True:
                (length,) = struct.unpack("!I", await reader.readexactly(4))
                await reader.readexactly(length)
                reply(answers)
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    tasks: list[asyncio.Task[None] | None] = []
    server = await asyncio.start_unix_server(serve, str(path))
    try:
        yield f"unix:{path}"
    finally:
        server.close()
        await asyncio.wait([task for task in tasks if task is not None])


WELCOME = Welcome(65535, {"p0": Device(1, "p0", up=True, carrier=True)}).record()


@pytest.mark.parametrize(
    ("welcome", "problem"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "a message of 1213486160 bytes"),
        ({**WELCOME, "anabranch-agent": 7}, "version 7 of the protocol, and the controller has 1"),
        ({**WELCOME, "weight_max": 0}, "weight_max"),
        ({**WELCOME, "links": [[1, "p0", 1, True, ""]]}, "neither true nor false"),
        ({"error": "no privilege"}, "refused: no privilege"),
    ],
)
def test_a_controller_refuses_what_is_no_agent(tmp_path: Path, welcome: Any, problem: str) -> None:
    async def meet() -> None:
        async with false_agent(tmp_path / "agent", welcome, lambda _: None) as address:
            with pytest.raises(UnreachableError, match=problem):
                await connect(address, None, HELLO)

    asyncio.run(meet())


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ({"id": 1, "result": {}}, "state: no object"),
        ({"id": 1, "result": {"state": changed(groups=[[1, [], None]]), "silent": []}}, "number of owner 3"),
        ({"id": 1, "result": []}, "result: no object"),
        ({"id": "1"}, "id"),
        ({"links": 1}, "links"),
        ({"links": [], "touched": [1], "died": []}, "touched"),
        ({"error": "out of reach"}, "the agent ended: out of reach"),
        (b"\x00\x00\x00\x02[]", "no JSON object"),
        (b"\xff\xff\xff\xff", "longer than"),
    ],
)
def test_an_answer_that_is_none_ends_the_connection_with_a_reason(tmp_path: Path, reply: Any, problem: str) -> None:
    async def ask() -> None:
        async with false_agent(tmp_path / "agent", WELCOME, lambda stream: stream.post(reply)) as address:
            connection = await connect(address, None, HELLO)
            RemoteNamespace(connection)
            with pytest.raises(UnreachableError, match=problem):
                await RemoteKernel(connection, OWNER).look()
            assert problem in str(connection.reason)
            await connection.close()

    asyncio.run(ask())


def test_a_silent_agent_is_noticed_and_a_refusal_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_connection, "PROBE_S", 0.05)
    monkeypatch.setattr(agent_connection, "TIMEOUT_S", 0.2)

    async def wait() -> None:
        async with false_agent(tmp_path / "agent", WELCOME, lambda _: None) as address:
            connection = await connect(address, None, HELLO)
            await asyncio.wait_for(asyncio.shield(connection.closed), 60)
            assert "no answer to ping in 0.2 s" in str(connection.reason)
            with pytest.raises(UnreachableError, match="no answer"):
                await RemoteKernel(connection, OWNER).look()
            await connection.close()
        refusal = {"id": 1, "refused": "somebody else's route"}
        monkeypatch.setattr(agent_connection, "PROBE_S", 600)
        async with false_agent(tmp_path / "other", WELCOME, lambda stream: stream.post(refusal)) as address:
            connection = await connect(address, None, HELLO)
            with pytest.raises(AnabranchError, match="somebody else's route") as caught:
                await RemoteKernel(connection, OWNER).put(LinuxState(), STATE, {})
            assert not isinstance(caught.value, UnreachableError)
            assert not connection.closed.done()
            await connection.close()

    asyncio.run(wait())
