"""A connection to one switch."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import stat
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from anabranch import AnabranchError
from anabranch.openflow.address import SSL, UNIX, Address, parse_address
from anabranch.openflow.channel import Channel
from anabranch.openflow.commit import commit
from anabranch.openflow.error import Disconnected, ProtocolError, Refused
from anabranch.openflow.flow_codec import decode_flow_counters, decode_flows, flow_request
from anabranch.openflow.framing import Kind, message
from anabranch.openflow.group_codec import ALL_GROUPS, decode_bucket_counters, decode_groups, group_request
from anabranch.openflow.handshake import ASYNCHRONOUS, CONFIGURATION, decode_features
from anabranch.openflow.meter_codec import ALL_METERS, decode_meters, meter_request
from anabranch.openflow.modification import Mod
from anabranch.openflow.multipart import What
from anabranch.openflow.port import BucketCounters, FlowCounters, Port, PortCounters
from anabranch.openflow.port_codec import decode_port_counters, decode_port_status, decode_ports, port_request
from anabranch.openflow.tables import Flow, Group, Meter
from anabranch.openflow.tls import Tls

T = TypeVar("T")
TIMEOUT_S = 5.0
COMERS_MAX = 128
"""Connections that have not introduced themselves; of more, the one that has waited longest is closed."""
MOST = 1 << 18
"""Entries of one answer; as many meters as Open vSwitch has."""


class Connection:
    """One switch that speaks OpenFlow 1.5; made by `connect` and `serve`.

    Every method raises `Disconnected` when the connection is gone or an answer does not come in time, `ProtocolError`
    when the switch sends nonsense (both end the connection) and `Refused` when it answers by an error.
    """

    def __init__(self, channel: Channel, datapath_id: int) -> None:
        self._channel = channel
        self._committing = asyncio.Lock()
        self.datapath_id = datapath_id
        """64 bits; Open vSwitch makes it of the bridge's hardware address."""
        self.on_port_status: Callable[[Port, str], None] | None = None
        """Told of every change of a port: `add`, `delete` or `modify`. `described_ports` says how they are now."""
        channel.on_port_status = self._port_status

    @property
    def peer(self) -> str:
        """The switch's address, for people."""
        return self._channel.peer

    async def described_ports(self) -> list[Port]:
        """All ports."""
        return await self._ask(What.PORTS, port_request(), decode_ports)

    async def flows(self, cookie: int = 0, mask: int = 0) -> list[Flow]:
        """The rules of all tables whose cookie is `cookie` in the bits of `mask`."""
        return await self._ask(What.FLOWS, flow_request(cookie, mask), decode_flows)

    async def groups(self) -> list[Group]:
        """All groups."""
        return await self._ask(What.GROUPS, group_request(ALL_GROUPS), decode_groups)

    async def meters(self) -> list[Meter]:
        """All meters."""
        return await self._ask(What.METERS, meter_request(ALL_METERS), decode_meters)

    async def port_counters(self) -> list[PortCounters]:
        """What went through each port."""
        return await self._ask(What.PORT_COUNTERS, port_request(), decode_port_counters)

    async def bucket_counters(self, group_id: int = ALL_GROUPS) -> list[BucketCounters]:
        """What went through each bucket of one group, or of all."""
        return await self._ask(What.BUCKET_COUNTERS, group_request(group_id), decode_bucket_counters)

    async def flow_counters(self, cookie: int = 0, mask: int = 0) -> list[FlowCounters]:
        """What matched each rule whose cookie is `cookie` in the bits of `mask`."""
        return await self._ask(What.FLOWS, flow_request(cookie, mask), decode_flow_counters)

    async def commit(self, mods: Sequence[Mod]) -> None:
        """Changes rules, groups and meters, all or nothing; see `openflow.commit`.

        Raises:
            Refused: by the switch; `mod` says which, and nothing is changed.

        """
        async with self._committing:
            await commit(self._channel, mods)

    async def barrier(self) -> None:
        """Awaits that the switch has done all it was sent."""
        await self._channel.barrier()

    async def wait_closed(self) -> None:
        """Awaits the connection's end, by either side."""
        await asyncio.shield(self._channel.closed)

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    async def _ask(self, what: What, request: bytes, decode: Callable[[bytes], Iterable[T]]) -> list[T]:
        found: list[T] = []
        for part in await self._channel.multipart(what, request):
            try:
                found.extend(decode(part))
                if len(found) > MOST:
                    raise ProtocolError(f"more than {MOST} {what.name.lower()}")
            except ProtocolError as error:
                self._channel.close(error)
                raise
            # Others have their turn between the parts of a long answer.
            await asyncio.sleep(0)
        return found

    def _port_status(self, body: bytes) -> None:
        port, what = decode_port_status(body)
        if self.on_port_status is not None:
            # Later, so that what goes wrong there is not taken for the switch's fault.
            asyncio.get_running_loop().call_soon(self.on_port_status, port, what)


async def connect(address: str, tls: Tls | None = None, timeout_s: float = TIMEOUT_S) -> Connection:
    """Connects to a switch that listens: `unix:/run/openvswitch/br0.mgmt`, `tcp:host:port` or `ssl:host:port`.

    `timeout_s` holds for the whole of this, and for each answer later.

    Raises:
        Disconnected: nobody answers there.
        ProtocolError: what answers does not speak OpenFlow 1.5.
        AnabranchError: no address, or `ssl` without certificates.

    """
    where = parse_address(address)
    security = _context(where, tls, server=False)
    loop = asyncio.get_running_loop()
    channel = Channel(timeout_s, address)
    begun: Awaitable[object]
    if where.kind == UNIX:
        begun = loop.create_unix_connection(lambda: channel, where.host)
    else:
        begun = loop.create_connection(lambda: channel, where.host, where.port, ssl=security)
    try:
        await asyncio.wait_for(begun, timeout_s)
        return await asyncio.wait_for(_introduce(channel), timeout_s)
    except (TimeoutError, asyncio.TimeoutError):
        channel.close()
        raise Disconnected(f"switch {address}: silent for {timeout_s:g} s; is it running?") from None
    except OSError as error:
        channel.close()
        raise Disconnected(f"switch {address}: {error.strerror or error}; is it running?") from None
    except BaseException:
        channel.close()
        raise


async def serve(
    address: str,
    on_connection: Callable[[Connection], Awaitable[None]],
    tls: Tls | None = None,
    timeout_s: float = TIMEOUT_S,
) -> asyncio.Server:
    """Takes connections of switches that come to us; `on_connection` is called for each that introduces itself.

    One that does not is closed, and nobody hears of it. The connection is closed when `on_connection` returns.

    Raises:
        AnabranchError: the address cannot be listened at.

    """
    where = parse_address(address)
    security = _context(where, tls, server=True)
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()
    waiting: dict[Channel, None] = {}

    async def attend(channel: Channel) -> None:
        try:
            connection = await asyncio.wait_for(_introduce(channel), timeout_s)
        except (AnabranchError, TimeoutError, asyncio.TimeoutError):
            channel.close()
            return
        finally:
            waiting.pop(channel, None)
        try:
            await on_connection(connection)
        except (Disconnected, Refused):
            pass
        finally:
            channel.close()

    class Comer(Channel):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            if len(waiting) >= COMERS_MAX:
                # Whoever introduces itself does it within a few milliseconds.
                oldest = next(iter(waiting))
                waiting.pop(oldest)
                oldest.close()
            waiting[self] = None
            super().connection_made(transport)
            task = loop.create_task(attend(self))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    def comer() -> Channel:
        return Comer(timeout_s, address)

    try:
        if where.kind == UNIX:
            return await loop.create_unix_server(comer, sock=_unix_socket(Path(where.host)))
        patience_s = None if security is None else timeout_s
        return await loop.create_server(comer, where.host, where.port, ssl=security, ssl_handshake_timeout=patience_s)
    except OSError as error:
        raise AnabranchError(f"listen: {address}: {error.strerror or error}; take another address") from None


async def _introduce(channel: Channel) -> Connection:
    await channel.hello
    with channel.batch(2) as batch:
        settings = ((Kind.SET_CONFIG, CONFIGURATION), (Kind.SET_ASYNC, ASYNCHRONOUS))
        await channel.write(message(kind, xid, body) for xid, (kind, body) in zip(batch.xids, settings, strict=True))
        features = await channel.request(Kind.FEATURES_REQUEST, b"", Kind.FEATURES_REPLY, "features")
        await channel.barrier()
    for place, error in batch.refusals.items():
        raise Refused(error, settings[place][0].name)
    return Connection(channel, decode_features(features))


def _context(where: Address, tls: Tls | None, *, server: bool) -> ssl.SSLContext | None:
    if where.kind != SSL:
        return None
    if tls is None:
        raise AnabranchError(f"address: {where}: ssl needs a key, a certificate and an authority; give them")
    return tls.context(server=server)


def _unix_socket(path: Path) -> socket.socket:
    """A socket that only its owner can connect to, in the place of one whose process is gone."""
    listening = socket.socket(socket.AF_UNIX)
    try:
        # Linux takes the file's mode from the socket's own, so that there is no moment in which others may connect.
        os.fchmod(listening.fileno(), 0o600)
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISSOCK(path.lstat().st_mode) and _abandoned(path):
                path.unlink()
        listening.bind(str(path))
    except OSError:
        listening.close()
        raise
    return listening


def _abandoned(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as knock:
        try:
            knock.connect(str(path))
        except ConnectionRefusedError:
            return True
        return False
