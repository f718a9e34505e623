"""Switches that are broken or mean harm: every call ends in an error, in time, and nothing else is disturbed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from anabranch import AnabranchError
from anabranch.deploy.openflow import channel, connection
from anabranch.deploy.openflow.action import Output
from anabranch.deploy.openflow.connection import Connection, connect
from anabranch.deploy.openflow.error import Disconnected, ProtocolError, Refused
from anabranch.deploy.openflow.framing import HEADER, VERSION, Kind, message
from anabranch.deploy.openflow.handshake import HELLO
from anabranch.deploy.openflow.listener import serve
from anabranch.deploy.openflow.match import Match
from anabranch.deploy.openflow.modification import FlowMod, MeterMod
from anabranch.deploy.openflow.tables import Flow, Meter
from support.dummy_switch import run_strictly
from support.openflow_peer import (
    LAST,
    MORE,
    PATIENCE_S,
    TIMEOUT_S,
    Behaviour,
    Peer,
    answers,
    part,
    peer,
    run,
    timeout_s,
)


def writes(data: bytes) -> Behaviour:
    async def behave(one: Peer) -> None:
        one.writer.write(data)
        await one.end()

    return behave


async def hangs_up(one: Peer) -> None:
    await one.next()


async def errs(one: Peer) -> None:
    await one.send(Kind.ERROR, 0, b"\0\0\0\0no common version")
    await one.end()


async def is_mute_after_hello(one: Peer) -> None:
    await one.send(Kind.HELLO, 0, HELLO)
    await one.end()


async def has_short_features(one: Peer) -> None:
    await one.send(Kind.HELLO, 0, HELLO)
    while (request := await one.next()).kind != Kind.BARRIER_REQUEST:
        if request.kind == Kind.FEATURES_REQUEST:
            await one.send(Kind.FEATURES_REPLY, request.xid, b"\0" * 7)
    await one.send(Kind.BARRIER_REPLY, request.xid)
    await one.end()


async def refuses_settings(one: Peer) -> None:
    await one.send(Kind.HELLO, 0, HELLO)
    while (request := await one.next()).kind != Kind.BARRIER_REQUEST:
        if request.kind == Kind.SET_ASYNC:
            await one.send(Kind.ERROR, request.xid, b"\0\x0f\0\x01")
        if request.kind == Kind.FEATURES_REQUEST:
            await one.send(Kind.FEATURES_REPLY, request.xid, bytes(24))
    await one.send(Kind.BARRIER_REPLY, request.xid)
    await one.end()


@pytest.mark.parametrize(
    ("behave", "error"),
    [
        (writes(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n" * 600), ProtocolError),
        (writes(bytes(100)), ProtocolError),
        (writes(message(Kind.HELLO, 0, b"\0\x01\0\x08\0\0\0\x12")), ProtocolError),
        (writes(HEADER.pack(4, Kind.HELLO, 8, 0)), ProtocolError),
        (writes(message(Kind.BARRIER_REPLY, 0)), ProtocolError),
        (writes(message(Kind.HELLO, 0, b"\0\x01\0\x03")), ProtocolError),
        (writes(message(Kind.HELLO, 0, HELLO) + HEADER.pack(4, Kind.ECHO_REQUEST, 8, 0)), ProtocolError),
        (hangs_up, Disconnected),
        (errs, Refused),
        (has_short_features, ProtocolError),
        (refuses_settings, Refused),
    ],
)
def test_who_is_no_switch_is_refused(behave: Behaviour, error: type[AnabranchError]) -> None:
    async def work() -> None:
        async with peer(behave) as address:
            with pytest.raises(error):
                await connect(address, timeout_s=timeout_s(error))

    run(work)


def test_who_says_nothing_or_half_is_not_waited_for() -> None:
    silent = (
        writes(b""),
        writes(b"SSH-2.0-OpenSSH_9.2p1\r\n"),
        writes(message(Kind.HELLO, 0, HELLO)[:11]),
        is_mute_after_hello,
    )

    async def meet(behave: Behaviour) -> None:
        async with peer(behave) as address:
            with pytest.raises(Disconnected):
                await connect(address, timeout_s=TIMEOUT_S)

    async def work() -> None:
        await asyncio.gather(*map(meet, silent))

    run(work)


def test_nobody_there(tmp_path: Path) -> None:
    async def work() -> None:
        for address in (f"unix:{tmp_path}/none", "tcp:127.0.0.1:1", "tcp:no.such.host.invalid:6653"):
            with pytest.raises(Disconnected):
                await connect(address)
        for address in (
            "tcp:",
            "udp:host",
            "tcp:host:0",
            "tcp:host:70000",
            "tcp:[::1",
            "tcp:a:b:c",
            "unix:",
            "tcp:h:+1",
            "x",
        ):
            with pytest.raises(AnabranchError, match="address"):
                await connect(address)
        with pytest.raises(AnabranchError, match="certificate"):
            await connect("ssl:127.0.0.1:1")

    # Names are resolved by a thread.
    run_strictly(work)


def reset(one: Peer) -> None:
    """Closes the connection by RST."""
    descriptor: socket.socket = one.writer.get_extra_info("socket")
    descriptor.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.writer.transport.abort()


async def resets_in_the_middle(one: Peer) -> None:
    await one.introduce()
    request = await one.next()
    one.writer.write(part(request, MORE, b"") + part(request, LAST, bytes(400))[:60])
    await one.writer.drain()
    reset(one)


async def breaks_off_a_message(one: Peer) -> None:
    await one.introduce()
    one.writer.write(part(await one.next(), LAST, bytes(400))[:60])
    await one.end()


async def dribbles(one: Peer) -> None:
    """A byte now and then, never a whole answer."""
    await one.introduce()
    for byte in part(await one.next(), LAST, bytes(4000)):
        one.writer.write(bytes([byte]))
        await asyncio.sleep(TIMEOUT_S / 8)


@pytest.mark.parametrize(
    ("behave", "error"),
    [
        (answers(lambda request: message(Kind.MULTIPART_REPLY, request.xid ^ 1, bytes(8))), ProtocolError),
        (answers(lambda request: message(Kind.BARRIER_REPLY, request.xid)), ProtocolError),
        (answers(lambda request: message(Kind.MULTIPART_REPLY, request.xid)), ProtocolError),
        (answers(lambda request: part(request, LAST, b"", what=7)), ProtocolError),
        (answers(lambda request: part(request, LAST, bytes(24))), ProtocolError),
        (answers(lambda request: part(request, LAST, b"\xff" * 300)), ProtocolError),
        (answers(lambda request: HEADER.pack(5, Kind.MULTIPART_REPLY, 16, request.xid) + bytes(8)), ProtocolError),
        (answers(lambda request: HEADER.pack(VERSION, Kind.MULTIPART_REPLY, 7, request.xid)), ProtocolError),
        (answers(lambda request: message(99, request.xid)), ProtocolError),
        (answers(lambda request: message(Kind.ERROR, request.xid, b"\0\x01\0\x05")), Refused),
        (answers(lambda request: message(Kind.ERROR, request.xid + 9, b"\0\x01\0\x05")), ProtocolError),
        (answers(lambda request: message(Kind.ERROR, request.xid, b"\0")), ProtocolError),
        (answers(lambda _: message(Kind.PORT_STATUS, 0, bytes(20))), ProtocolError),
        (answers(lambda _: message(Kind.PORT_STATUS, 0, b"\x09" + bytes(79))), ProtocolError),
        (answers(lambda request: part(request, LAST, b"") * 2), ProtocolError),
        (answers(lambda request: part(request, MORE, b""), endlessly=True), Disconnected),
        (answers(lambda request: part(request, MORE, bytes(60000)), endlessly=True), ProtocolError),
        (
            answers(
                lambda _: message(Kind.PORT_STATUS, 0, b"\2" + bytes(7) + struct.pack(">IH34x", 1, 40)), endlessly=True
            ),
            Disconnected,
        ),
        (answers(lambda _: message(Kind.ECHO_REQUEST, 0, bytes(60000)), endlessly=True), Disconnected),
        (resets_in_the_middle, Disconnected),
    ],
)
def test_nonsense_in_answers(behave: Behaviour, error: type[AnabranchError], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "WHOLE_ANSWER_S", 1)

    run(lambda: ask_in_vain(behave, error))


def test_silence_in_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "WHOLE_ANSWER_S", 1)
    nothing, endless = answers(lambda _: b""), answers(lambda request: part(request, MORE, b""))

    async def work() -> None:
        silent = (nothing, endless, breaks_off_a_message, dribbles)
        await asyncio.gather(*[ask_in_vain(behave, Disconnected) for behave in silent])

    run(work)


async def ask_in_vain(behave: Behaviour, error: type[AnabranchError]) -> None:
    async with peer(behave) as address:
        victim = await connect(address, timeout_s=timeout_s(error))
        results = await asyncio.gather(victim.flows(), victim.flow_counters(), return_exceptions=True)
        assert any(isinstance(result, error) for result in results), results
        assert all(isinstance(result, AnabranchError | list) for result in results), results
        if error is not Refused:
            await victim.wait_closed()
            for request in (victim.flows(), victim.barrier(), victim.commit([FlowMod("add", Flow(0, 0, Match()))])):
                with pytest.raises((Disconnected, ProtocolError)):
                    await request
        victim.close()
        await victim.wait_closed()


def test_an_answer_may_take_long_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    async def is_slow(one: Peer) -> None:
        await one.introduce()
        for last in (4, PATIENCE_S):
            request = await one.next()
            for number in range(last):
                one.writer.write(part(request, LAST if number == 3 and last == 4 else MORE, b""))
                await asyncio.sleep(TIMEOUT_S / 2)

    async def work() -> None:
        async with peer(is_slow) as address:
            victim = await connect(address, timeout_s=TIMEOUT_S)
            assert await victim.flows() == []
            monkeypatch.setattr(channel, "WHOLE_ANSWER_S", 3 * TIMEOUT_S)
            with pytest.raises(Disconnected, match="no whole answer"):
                await victim.flows()

    run(work)


def test_an_answer_of_too_many_entries_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST", 100)
    meters = b"".join(struct.pack(">HHI", 8, 0, number) for number in range(101))

    async def work() -> None:
        async with peer(answers(lambda request: part(request, LAST, meters, what=10))) as address:
            victim = await connect(address, timeout_s=TIMEOUT_S)
            with pytest.raises(ProtocolError, match="more than 100 meters"):
                await victim.meters()
            await victim.wait_closed()

    run(work)


def bundles(open_reply: bytes = b"\0\x01", *, add: bytes = b"", commit: bytes | None = None) -> Behaviour:
    """Answers steps of bundles; `add` is what it says of each message, as an error's body."""

    async def behave(one: Peer) -> None:
        await one.introduce()
        while True:
            request = await one.next()
            if request.kind == Kind.BUNDLE_CONTROL:
                step = request.body[4:6]
                reply = (
                    request.body[:4] + {b"\0\0": open_reply, b"\0\4": commit or b"\0\5"}.get(step, b"\0\7") + b"\0\3"
                )
                if step == b"\0\4" and commit is not None and len(commit) > 2:
                    await one.send(Kind.ERROR, request.xid, commit)
                else:
                    await one.send(Kind.BUNDLE_CONTROL, request.xid, reply)
            elif request.kind == Kind.BARRIER_REQUEST:
                await one.send(Kind.BARRIER_REPLY, request.xid)
            elif add:
                await one.send(Kind.ERROR, request.xid, add)

    return behave


FAILED, UNKNOWN_GROUP = b"\0\x11\0\x0d", b"\0\x06\0\x08"


@pytest.mark.parametrize(
    ("behave", "error", "text"),
    [
        (bundles(), None, ""),
        (bundles(b"\0\x03"), ProtocolError, "bundle"),
        (bundles(commit=b"\0\x07"), ProtocolError, "bundle"),
        (bundles(add=UNKNOWN_GROUP), Refused, "rule of table 0.*OFPGMFC_UNKNOWN_GROUP"),
        (bundles(commit=FAILED), Refused, "bundle commit: refused: OFPBFC_MSG_FAILED"),
        (bundles(commit=UNKNOWN_GROUP), Refused, "bundle commit"),
    ],
)
def test_answers_to_commits(behave: Behaviour, error: type[AnabranchError] | None, text: str) -> None:
    async def work() -> None:
        async with peer(behave) as address:
            victim = await connect(address, timeout_s=TIMEOUT_S)
            mods = [FlowMod("add", Flow(0, number, Match(), (Output(1),))) for number in range(3)]
            if error is None:
                await victim.commit(mods)
            else:
                with pytest.raises(error, match=text):
                    await victim.commit(mods)
            victim.close()
            await victim.wait_closed()

    run(work)


def test_a_switch_that_reads_nothing_holds_nobody() -> None:
    async def stops_reading(one: Peer) -> None:
        await one.introduce()
        one.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(PATIENCE_S)

    async def work() -> None:
        async with peer(stops_reading) as address:
            victim = await connect(address, timeout_s=TIMEOUT_S)
            mods = [MeterMod("delete", Meter(number, 1, 1)) for number in range(200_000)]
            with pytest.raises(Disconnected, match=r"reads nothing|echo"):
                await victim.commit(mods)

    run(work)


def test_a_silent_switch_is_noticed_by_itself() -> None:
    async def falls_silent(one: Peer) -> None:
        await one.introduce()
        await one.end()

    async def work() -> None:
        async with peer(falls_silent) as address:
            victim = await connect(address, timeout_s=TIMEOUT_S)
            await victim.wait_closed()
            with pytest.raises(Disconnected, match="echo"):
                await victim.barrier()

    run(work)


def test_a_switch_that_answers_echoes_is_kept() -> None:
    async def behave(one: Peer) -> None:
        await one.introduce()
        await one.send(Kind.ECHO_REQUEST, 5, b"ping")
        while True:
            request = await one.next()
            if request.kind == Kind.ECHO_REPLY:
                assert (request.xid, request.body) == (5, b"ping")
                answered.set()
            else:
                assert request.kind == Kind.ECHO_REQUEST
                await one.send(Kind.ECHO_REPLY, request.xid, request.body)

    answered = asyncio.Event()

    async def work() -> None:
        async with peer(behave) as address:
            kept = await connect(address, timeout_s=TIMEOUT_S)
            await answered.wait()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(kept.wait_closed(), 3 * TIMEOUT_S)
            kept.close()
            await kept.wait_closed()

    run(work)


def test_a_request_that_is_given_up_disturbs_nothing() -> None:
    async def behave(one: Peer) -> None:
        await one.introduce()
        late = await one.next()
        request = await one.next()
        one.writer.write(part(late, LAST, b"") + message(Kind.BARRIER_REPLY, request.xid))
        await one.end()

    async def work() -> None:
        async with peer(behave) as address:
            kept = await connect(address, timeout_s=TIMEOUT_S)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(kept.flows(), TIMEOUT_S / 8)
            await kept.barrier()
            kept.close()
            await kept.wait_closed()

    run(work)


@pytest.fixture
def listening() -> Iterator[str]:
    with TemporaryDirectory(prefix="serve") as folder:
        yield f"unix:{folder}/s"


def test_who_comes_without_being_a_switch_does_not_keep_switches_out(listening: str) -> None:
    path = listening.removeprefix("unix:")

    async def switch(data: bytes) -> None:
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(data)
        with contextlib.suppress(ConnectionError):
            await reader.read()
            assert not data or data[0] != VERSION or await reader.read() == b""
        writer.transport.abort()

    async def honest() -> None:
        reader, writer = await asyncio.open_unix_connection(path)
        with contextlib.suppress(ConnectionError):
            await Peer(reader, writer).introduce()
            await Peer(reader, writer).end()
        writer.transport.abort()

    async def greet(connection: Connection) -> None:
        assert connection.datapath_id == 7
        assert Path(path).stat().st_mode & 0o777 == 0o600
        greeted.append(connection)
        with pytest.raises(Disconnected):
            await connection.flows()

    greeted: list[Connection] = []

    async def work() -> None:
        server = await serve(listening, greet, timeout_s=TIMEOUT_S)
        strangers = [b"", bytes(100), b"GET / HTTP/1.0\r\n\r\n" * 2000, message(Kind.HELLO, 0, HELLO), b"\x06"]
        await asyncio.gather(*map(switch, strangers), honest(), honest())
        server.close()
        await server.wait_closed()
        assert len(greeted) == 2

    run(work)
    # An abandoned socket is no obstacle; one where somebody listens is.
    run(work_twice(listening))


def work_twice(listening: str) -> Callable[[], Awaitable[None]]:
    async def nobody(_: Connection) -> None:
        raise AssertionError

    async def work() -> None:
        server = await serve(listening, nobody)
        with pytest.raises(AnabranchError, match="listen"):
            await serve(listening, nobody)
        server.close()

    return work
