"""A real Open vSwitch over TCP and TLS, called by us and calling us; strangers' certificates on either side."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from anabranch import AnabranchError
from anabranch.lab.fabric.open_vswitch import OpenVSwitch
from anabranch.openflow.action import Output
from anabranch.openflow.connection import Connection, connect, serve
from anabranch.openflow.error import Disconnected, ProtocolError
from anabranch.openflow.match import Match
from anabranch.openflow.modification import FlowMod
from anabranch.openflow.tables import Flow
from anabranch.openflow.tls import Tls
from certificates import make_certificates
from dummy_switch import BRIDGE, PATIENCE_S, dummy_switch, run_strictly
from reserved_port import reserved_port

FLOW = Flow(0, 7, Match.of(in_port=1), (Output(2),))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tls]:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def switch(certificates: dict[str, Tls]) -> Iterator[OpenVSwitch]:
    with dummy_switch() as started:
        files = certificates["switch"]
        started.vsctl("set-ssl", str(files.key), str(files.certificate), str(files.authority))
        yield started


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work(), PATIENCE_S)

    run_strictly(bounded)


async def use(connection: Connection) -> None:
    await connection.commit([FlowMod("add", FLOW)])
    assert await connection.flows() == [FLOW]
    await connection.commit([FlowMod("delete", FLOW)])
    assert await connection.flows() == []


async def listening(address: str, tls: Tls | None) -> Connection:
    """Open vSwitch opens its port when it gets to it."""
    while True:
        with contextlib.suppress(Disconnected):
            return await connect(address, tls, PATIENCE_S)
        await asyncio.sleep(0.05)


@pytest.fixture
def port() -> Iterator[int]:
    with reserved_port() as reserved:
        yield reserved


@pytest.mark.parametrize("kind", ["tcp", "ssl"])
def test_we_call_a_switch(switch: OpenVSwitch, certificates: dict[str, Tls], port: int, kind: str) -> None:
    switch.vsctl("set-controller", BRIDGE, f"p{kind}:{port}:127.0.0.1")

    async def work() -> None:
        address = f"{kind}:127.0.0.1:{port}"
        tls = certificates["controller"] if kind == "ssl" else None
        connection = await listening(address, tls)
        await use(connection)
        connection.close()
        await connection.wait_closed()
        if kind == "ssl":
            with pytest.raises(Disconnected):
                await connect(address, certificates["stranger"])
            with pytest.raises((Disconnected, ProtocolError)):
                await connect(f"tcp:127.0.0.1:{port}", timeout_s=0.5)
        else:
            with pytest.raises(Disconnected):
                await connect(f"ssl:127.0.0.1:{port}", certificates["controller"], timeout_s=0.5)

    run(work)


@pytest.mark.parametrize("kind", ["tcp", "ssl"])
def test_a_switch_calls_us(switch: OpenVSwitch, certificates: dict[str, Tls], port: int, kind: str) -> None:
    async def attend(connection: Connection) -> None:
        await use(connection)
        ids.append(connection.datapath_id)
        came.set()
        await connection.wait_closed()

    ids: list[int] = []
    came = asyncio.Event()

    async def work() -> None:
        tls = certificates["controller"] if kind == "ssl" else None
        server = await serve(f"{kind}:127.0.0.1:{port}", attend, tls)
        switch.vsctl("set-controller", BRIDGE, f"{kind}:127.0.0.1:{port}")
        await came.wait()
        # It comes again when the connection is lost.
        came.clear()
        switch.vsctl("del-controller", BRIDGE)
        switch.vsctl("set-controller", BRIDGE, f"{kind}:127.0.0.1:{port}")
        await came.wait()
        server.close()
        switch.vsctl("del-controller", BRIDGE)

    run(work)
    told = switch.vsctl("get", "bridge", BRIDGE, "datapath_id").strip().strip('"')
    # A busy machine may lose a connection on the way, and make another.
    assert set(ids) == {int(told, 16)}
    assert len(ids) >= 2


@pytest.mark.parametrize("comer", ["stranger", "nobody", "plain", "mute"])
def test_a_stranger_does_not_get_in(certificates: dict[str, Tls], port: int, comer: str) -> None:
    async def attend(_: Connection) -> None:
        raise AssertionError

    async def call(context: ssl.SSLContext | None) -> None:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            # With TLS 1.3 the client is through before the server has looked at its certificate.
            if comer != "mute":
                writer.write(bytes(64))
            assert await reader.read() == b""
        except (ssl.SSLError, ConnectionError):
            return
        writer.transport.abort()

    async def work() -> None:
        server = await serve(f"ssl:127.0.0.1:{port}", attend, certificates["controller"], timeout_s=1)
        context: ssl.SSLContext | None = None
        if comer == "stranger":
            context = certificates["stranger"].context(server=False)
            context.load_verify_locations(certificates["controller"].authority)
        elif comer == "nobody":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.load_verify_locations(certificates["controller"].authority)
        await call(context)
        server.close()
        await server.wait_closed()

    run(work)


def test_files_that_are_no_certificates_are_named(certificates: dict[str, Tls], tmp_path: Path) -> None:
    good = certificates["controller"]
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for bad, name in (
        (Tls(good.key, good.certificate, tmp_path / "none.pem"), "none.pem"),
        (Tls(good.key, good.certificate, empty), "empty.pem"),
        (Tls(certificates["switch"].key, good.certificate, good.authority), "controller.pem"),
        (Tls(tmp_path / "none.key", good.certificate, good.authority), "none.key"),
    ):
        with pytest.raises(AnabranchError, match=name):
            bad.context(server=True)
