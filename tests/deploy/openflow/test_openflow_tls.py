"""A real Open vSwitch over TCP and TLS, called by us and calling us; strangers' certificates on either side."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from anabranch import AnabranchError
from anabranch.deploy.openflow.action import Output
from anabranch.deploy.openflow.connection import Connection, connect
from anabranch.deploy.openflow.error import Disconnected, ProtocolError
from anabranch.deploy.openflow.listener import serve
from anabranch.deploy.openflow.match import Match
from anabranch.deploy.openflow.modification import FlowMod
from anabranch.deploy.openflow.tables import Flow
from anabranch.deploy.openflow.tls import Tls
from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from support.certificates import certificate, make_certificates
from support.dummy_switch import BRIDGE, PATIENCE_S, dummy_switch, run_strictly
from support.reserved_port import reserved_port

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


FAILURES = {
    "another authority": (
        "ssl",
        r"its certificate is refused: .*; have its certificate signed by the authority of \[tls\]",
    ),
    "expired": ("ssl", "its certificate has expired; sign a new one, or set both clocks right"),
    "does not trust us": (
        "ssl",
        r"it refuses our certificate \(unknown ca\); give it our authority: ovs-vsctl set-ssl",
    ),
    "no TLS": ("tcp", "it does not speak TLS; ovs-vsctl set-controller BRIDGE ssl:HOST:PORT"),
    "OpenFlow 1.3 only": (
        "ssl",
        "it offers OpenFlow 1.3 at most: .*; ovs-vsctl add bridge BRIDGE protocols OpenFlow15",
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_switch_that_fails_the_handshake_is_reported(certificates: dict[str, Tls], port: int, failure: str) -> None:
    kind, text = FAILURES[failure]
    reported: list[tuple[str, str]] = []

    async def attend(_: Connection) -> None:
        raise AssertionError

    async def work() -> None:
        came = asyncio.Event()

        def report(peer: str, error: AnabranchError) -> None:
            reported.append((peer, str(error)))
            # A busy machine may be too slow for a handshake; the next one comes.
            if re.search(text, str(error)):
                came.set()

        address = f"ssl:127.0.0.1:{port}"
        server = await serve(address, attend, certificates["controller"], PATIENCE_S, report)
        started.vsctl("set-controller", BRIDGE, f"{kind}:127.0.0.1:{port}")
        await came.wait()
        server.close()
        await server.wait_closed()

    with dummy_switch() as started:
        ours = certificates["switch"]
        folder = ours.key.parent
        files = ours
        if failure == "another authority":
            files = Tls(certificates["stranger"].key, certificates["stranger"].certificate, ours.authority)
        elif failure == "expired":
            files = certificate(folder, "expired", "ours", days=-1)
        elif failure == "does not trust us":
            files = Tls(ours.key, ours.certificate, certificates["stranger"].authority)
        elif failure == "OpenFlow 1.3 only":
            started.vsctl("set", "bridge", BRIDGE, "protocols=OpenFlow13")
        started.vsctl("set-ssl", str(files.key), str(files.certificate), str(files.authority))
        try:
            run(work)
        except asyncio.TimeoutError:
            pytest.fail(str(reported))
    assert all(re.fullmatch(r"ssl:127\.0\.0\.1:\d+", peer) and peer != f"ssl:127.0.0.1:{port}" for peer, _ in reported)


@pytest.mark.parametrize(
    ("sent", "text"),
    [(b"", "no hello in 1 s"), (b"GET / HTTP/1.0\r\n" * 2000, "not OpenFlow 1.5"), (None, "is it running?")],
)
def test_who_comes_and_is_no_switch_is_reported(port: int, sent: bytes | None, text: str) -> None:
    async def attend(_: Connection) -> None:
        raise AssertionError

    async def work() -> None:
        reported = asyncio.get_running_loop().create_future()
        address = f"tcp:127.0.0.1:{port}"
        server = await serve(address, attend, None, 1.0, lambda peer, error: reported.set_result((peer, str(error))))
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        ours = writer.get_extra_info("sockname")[1]
        if sent is None:
            writer.close()
        else:
            writer.write(sent)
        peer, error = await reported
        assert peer == f"tcp:127.0.0.1:{ours}"
        assert text in error
        writer.transport.abort()
        server.close()
        await server.wait_closed()

    run(work)


PROMPT = "Enter PEM pass phrase"
LOAD = """
import sys
from pathlib import Path
from anabranch import AnabranchError
from anabranch.deploy.openflow.tls import Tls
try:
    Tls(*map(Path, sys.argv[1:])).context(server=True)
except AnabranchError as error:
    print(error)
"""


def test_nobody_is_asked_for_a_pass_phrase(certificates: dict[str, Tls], tmp_path: Path) -> None:
    good, encrypted = certificates["controller"], tmp_path / "encrypted.key"
    encrypt = ["openssl", "pkey", "-in", str(good.key), "-aes256", "-passout", "pass:secret", "-out", str(encrypted)]
    subprocess.run(encrypt, check=True)
    # With a terminal, which is where OpenSSL asks.
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(
            sys.executable, [sys.executable, "-c", LOAD, str(encrypted), str(good.certificate), str(good.authority)]
        )
    said = b""
    try:
        while PROMPT.encode() not in said:
            # Linux says EIO when the last one has closed the other side.
            said += os.read(terminal, 1024) or b""
    except OSError:
        pass
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    text = said.decode()
    assert PROMPT not in text
    assert f"tls: {encrypted}: the key is encrypted, and nobody is asked for a pass phrase; openssl pkey -in" in text


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
