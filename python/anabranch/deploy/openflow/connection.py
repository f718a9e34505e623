"""A connection to one switch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TypeVar

from anabranch.deploy.openflow.address import UNIX, parse_address
from anabranch.deploy.openflow.channel import Batch, Channel
from anabranch.deploy.openflow.commit import commit
from anabranch.deploy.openflow.error import Disconnected, ProtocolError, Refused
from anabranch.deploy.openflow.flow_codec import decode_flow_counters, decode_flows, flow_request
from anabranch.deploy.openflow.framing import Kind, message
from anabranch.deploy.openflow.group_codec import ALL_GROUPS, decode_bucket_counters, decode_groups, group_request
from anabranch.deploy.openflow.handshake import ASYNCHRONOUS, CONFIGURATION, decode_features
from anabranch.deploy.openflow.meter_codec import ALL_METERS, decode_meters, meter_request
from anabranch.deploy.openflow.modification import Mod
from anabranch.deploy.openflow.multipart import What
from anabranch.deploy.openflow.packet_codec import PacketIn, decode_packet_in, encode_packet_out
from anabranch.deploy.openflow.port import BucketCounters, FlowCounters, Port, PortCounters
from anabranch.deploy.openflow.port_codec import decode_port_counters, decode_port_status, decode_ports, port_request
from anabranch.deploy.openflow.role_codec import Role, decode_role, decode_role_status, encode_role_request
from anabranch.deploy.openflow.tables import Flow, Group, Meter
from anabranch.deploy.openflow.tls import Tls, context_for

T = TypeVar("T")
TIMEOUT_S = 5.0
MOST = 1 << 18
"""Largest number of entries of one answer; as many meters as Open vSwitch has."""


class Connection:
    """One switch that speaks OpenFlow 1.5; made by `connect` and `listener.serve`.

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
        self.on_packet_in: Callable[[PacketIn], None] | None = None
        """Called with every packet that a rule sends to the controller."""
        channel.on_packet_in = self._packet_in
        self.on_role: Callable[[Role, int | None], None] | None = None
        """Called with role and generation when the switch gives this connection another role, for another's request."""
        channel.on_role_status = self._role_status
        self._packets = ExitStack()
        self._packets_out: Batch | None = None
        """The number that all packets out share; a refusal of one ends nothing."""

    @property
    def peer(self) -> str:
        """Address of the switch, for people."""
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
        """Counters of each port."""
        return await self._ask(What.PORT_COUNTERS, port_request(), decode_port_counters)

    async def bucket_counters(self, group_id: int = ALL_GROUPS) -> list[BucketCounters]:
        """Counters of each bucket of one group, or of all."""
        return await self._ask(What.BUCKET_COUNTERS, group_request(group_id), decode_bucket_counters)

    async def flow_counters(self, cookie: int = 0, mask: int = 0) -> list[FlowCounters]:
        """Counters of each rule whose cookie is `cookie` in the bits of `mask`."""
        return await self._ask(What.FLOWS, flow_request(cookie, mask), decode_flow_counters)

    async def commit(self, mods: Sequence[Mod]) -> None:
        """Changes rules, groups and meters, all or nothing; see `openflow.commit`.

        Raises:
            Refused: by the switch; `mod` says which, and nothing is changed.

        """
        async with self._committing:
            await commit(self._channel, mods)

    async def role(self, role: Role, generation: int = 0) -> tuple[Role, int | None]:
        """Asks for a role; the role it has now, and the last generation that the switch was given, if any.

        Raises:
            Refused: by the switch, with `OFPRRFC_STALE` where it was given a later generation.

        """
        body = encode_role_request(role, generation)
        reply = await self._channel.request(Kind.ROLE_REQUEST, body, Kind.ROLE_REPLY, f"role {role.name.lower()}")
        try:
            return decode_role(reply)
        except ProtocolError as error:
            self._channel.close(error)
            raise

    def give_up_role(self, generation: int) -> None:
        """Asks to be a secondary, and does not wait for the answer."""
        body = encode_role_request(Role.SECONDARY, generation)
        self._channel.ask_later(Kind.ROLE_REQUEST, body, Kind.ROLE_REPLY, "role secondary")

    async def barrier(self) -> None:
        """Waits until the switch has done everything it was sent."""
        await self._channel.barrier()

    def send_packet(self, port: int, frame: bytes) -> None:
        """Has a frame leave by a port. Nobody answers: it may be lost, and the port may be gone."""
        if self._packets_out is None:
            self._packets_out = self._packets.enter_context(self._channel.batch(1))
        self._channel.post(Kind.PACKET_OUT, self._packets_out.xids.start, encode_packet_out(port, frame))

    async def wait_closed(self) -> None:
        """Waits for the connection's end, by either side."""
        await asyncio.shield(self._channel.closed)

    @property
    def failure(self) -> str:
        """Reason why the connection has ended; empty while it has not."""
        return str(self._channel.failure or "")

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    async def _ask(self, what: What, request: bytes, decode: Callable[[bytes], Iterable[T]]) -> list[T]:
        entries: list[T] = []
        for part in await self._channel.multipart(what, request):
            try:
                entries.extend(decode(part))
                if len(entries) > MOST:
                    raise ProtocolError(f"more than {MOST} {what.name.lower()}")
            except ProtocolError as error:
                self._channel.close(error)
                raise
            # Others have their turn between the parts of a long answer.
            await asyncio.sleep(0)
        return entries

    def _packet_in(self, body: bytes) -> None:
        packet = decode_packet_in(body)
        if self.on_packet_in is not None:
            asyncio.get_running_loop().call_soon(self.on_packet_in, packet)

    def _role_status(self, body: bytes) -> None:
        role, generation = decode_role_status(body)
        if self.on_role is not None:
            asyncio.get_running_loop().call_soon(self.on_role, role, generation)

    def _port_status(self, body: bytes) -> None:
        port, what = decode_port_status(body)
        if self.on_port_status is not None:
            # Later, so that what goes wrong there is not taken for the switch's fault.
            asyncio.get_running_loop().call_soon(self.on_port_status, port, what)


async def connect(address: str, tls: Tls | None = None, timeout_s: float = TIMEOUT_S) -> Connection:
    """Connects to a switch that listens: `unix:/run/openvswitch/br0.mgmt`, `tcp:host:port` or `ssl:host:port`.

    `timeout_s` holds for the whole of this, and for each answer later.

    Raises:
        Disconnected: no switch answers there.
        ProtocolError: the other end does not speak OpenFlow 1.5.
        AnabranchError: no address, or `ssl` without certificates.

    """
    where = parse_address(address)
    security = context_for(where, tls, server=False)
    loop = asyncio.get_running_loop()
    channel = Channel(timeout_s, address)
    begun: Awaitable[object]
    if where.kind == UNIX:
        begun = loop.create_unix_connection(lambda: channel, where.host)
    else:
        begun = loop.create_connection(lambda: channel, where.host, where.port, ssl=security)
    try:
        await asyncio.wait_for(begun, timeout_s)
        return await asyncio.wait_for(introduce(channel), timeout_s)
    except (TimeoutError, asyncio.TimeoutError):
        channel.close()
        raise Disconnected(f"switch {address}: silent for {timeout_s:g} s; is it running?") from None
    except OSError as error:
        channel.close()
        raise Disconnected(f"switch {address}: {error.strerror or error}; is it running?") from None
    except BaseException:
        channel.close()
        raise


async def introduce(channel: Channel) -> Connection:
    """Begins a connection: hello, settings, and the switch's identity.

    Raises:
        Disconnected: the other end has gone.
        ProtocolError: it does not speak OpenFlow 1.5.
        Refused: it refuses a setting.

    """
    await channel.hello
    with channel.batch(2) as batch:
        settings = ((Kind.SET_CONFIG, CONFIGURATION), (Kind.SET_ASYNC, ASYNCHRONOUS))
        await channel.write(message(kind, xid, body) for xid, (kind, body) in zip(batch.xids, settings, strict=True))
        features = await channel.request(Kind.FEATURES_REQUEST, b"", Kind.FEATURES_REPLY, "features")
        await channel.barrier()
    for index, error in batch.refusals.items():
        raise Refused(error, settings[index][0].name)
    return Connection(channel, decode_features(features))
