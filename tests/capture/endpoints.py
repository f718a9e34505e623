"""The two ends of the recorded traffic: ordinary sockets, no crafted packets.

A request starts with eight bytes, the sizes of both directions; `push_bytes` follow, `pull_bytes` come back.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
from pathlib import Path
from typing import cast

from plan import TCP_SERVICES, UDP_DATAGRAM_BYTES, UDP_SERVICES, Connection

SIZES = struct.Struct("!II")
CONCURRENT = 48
BLOCK = bytes(1 << 20)
# Nothing is lost on a veth pair short of an overfull socket; the recording would not be what was planned.
UDP_PATIENCE_S = 5.0


async def send(writer: asyncio.StreamWriter, count: int) -> None:
    """Writes `count` zero bytes."""
    while count > 0:
        block = BLOCK[:count]
        writer.write(block)
        await writer.drain()
        count -= len(block)


async def receive(reader: asyncio.StreamReader, count: int) -> None:
    """Reads exactly `count` bytes and forgets them."""
    while count > 0:
        block = await reader.read(min(count, len(BLOCK)))
        if not block:
            raise ConnectionError("the peer closed early")
        count -= len(block)


async def answer_tcp(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One TCP connection, seen by the server, which closes first."""
    push, pull = SIZES.unpack(await reader.readexactly(SIZES.size))
    await receive(reader, push)
    await send(writer, pull)
    writer.close()
    await writer.wait_closed()


class AnswerUdp(asyncio.DatagramProtocol):
    """Answers each request with as many datagrams as its size needs."""

    transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the socket to answer by."""
        # Before Python 3.12 what asyncio passes is no asyncio.DatagramTransport, though it acts as one.
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """One request; the address may carry IPv6's flow label and scope."""
        left = SIZES.unpack(data[: SIZES.size])[1]
        while left > 0:
            size = min(left, UDP_DATAGRAM_BYTES)
            self.transport.sendto(bytes(size), addr)
            left -= size


class AskUdp(asyncio.DatagramProtocol):
    """Counts down the bytes of the answer."""

    def __init__(self, expected: int) -> None:
        self.left = expected
        self.done = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:  # noqa: ARG002
        """One datagram of the answer."""
        self.left -= len(data)
        if self.left <= 0 and not self.done.done():
            self.done.set_result(None)


async def connect_tcp(c: Connection) -> None:
    """One TCP connection, seen by the client."""
    local = (c.client, c.client_port)
    reader, writer = await asyncio.open_connection(c.server, c.server_port, local_addr=local)
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    writer.write(SIZES.pack(c.push_bytes, c.pull_bytes) + BLOCK[: c.push_bytes])
    await writer.drain()
    await receive(reader, c.pull_bytes)
    await reader.read()
    writer.close()
    await writer.wait_closed()


async def connect_udp(c: Connection) -> None:
    """One request and its answer."""
    transport, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: AskUdp(c.pull_bytes),
        local_addr=(c.client, c.client_port),
        remote_addr=(c.server, c.server_port),
    )
    transport.sendto(SIZES.pack(c.push_bytes, c.pull_bytes) + bytes(c.push_bytes))
    try:
        await asyncio.wait_for(protocol.done, UDP_PATIENCE_S)
    except asyncio.TimeoutError:
        raise SystemExit(f"record.py: no full answer to {c.client}:{c.client_port}/udp; record again") from None
    finally:
        transport.close()


async def serve(servers: list[str]) -> None:
    """Listens on every service of every address, says so, and serves until killed."""
    loop = asyncio.get_running_loop()
    for address in servers:
        for port in TCP_SERVICES:
            await asyncio.start_server(answer_tcp, address, port, backlog=1024)
        for port in UDP_SERVICES:
            await loop.create_datagram_endpoint(AnswerUdp, local_addr=(address, port))
    print("ready", flush=True)
    await asyncio.Event().wait()


async def run(connections: list[Connection]) -> None:
    """Opens the planned connections in order, a few dozen at a time."""
    places = asyncio.Semaphore(CONCURRENT)

    async def one(c: Connection) -> None:
        try:
            await (connect_tcp(c) if c.protocol == "tcp" else connect_udp(c))
        finally:
            places.release()

    tasks = []
    for c in connections:
        await places.acquire()
        tasks.append(asyncio.create_task(one(c)))
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    role, path = sys.argv[1:]
    work = json.loads(Path(path).read_text())
    if role == "serve":
        asyncio.run(serve(work["servers"]))
    else:
        asyncio.run(run([Connection(**c) for c in work["connections"]]))
