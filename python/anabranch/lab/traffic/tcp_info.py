"""The kernel's counters of a TCP connection (`TCP_INFO`, struct tcp_info of linux/tcp.h)."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

SIZE = 256
NAME_SIZE = 16
"""`TCP_CA_NAME_MAX` of the kernel's net/tcp.h."""

# Offsets in struct tcp_info, which only ever grows at its end.
SND_MSS, TOTAL_RETRANS, BYTES_RECEIVED, DATA_SEGS_IN = 16, 100, 128, 152
DATA_SEGS_OUT, DELIVERED_CE, BYTES_SENT, DSACK_DUPS = 156, 196, 200, 216
REORD_SEEN, RCV_OOOPACK, TOTAL_RTO = 220, 224, 240


class Sent(NamedTuple):
    """Counters of a sending end, since its connection began."""

    payload_bytes: int
    packets: int
    retransmitted: int
    marked: int
    """Segments that the receiver reported as marked (ECN)."""
    reordered: int
    """How often the sender saw that segments overtook each other."""
    timeouts: int | None
    """Retransmission timeouts; None before Linux 6.7, which does not count them by connection."""


NOTHING_SENT = Sent(0, 0, 0, 0, 0, 0)


def sent(connection: socket.socket) -> Sent:
    """Counters of the sending end of a connection."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE)
    return Sent(
        payload_bytes=struct.unpack_from("Q", info, BYTES_SENT)[0],
        packets=_counter(info, DATA_SEGS_OUT),
        retransmitted=_counter(info, TOTAL_RETRANS),
        marked=_counter(info, DELIVERED_CE),
        reordered=_counter(info, REORD_SEEN),
        timeouts=struct.unpack_from("H", info, TOTAL_RTO)[0] if len(info) >= TOTAL_RTO + 2 else None,
    )


def since(now: Sent, before: Sent) -> Sent:
    """Counts between two readings."""
    return Sent(
        payload_bytes=now.payload_bytes - before.payload_bytes,
        packets=now.packets - before.packets,
        retransmitted=now.retransmitted - before.retransmitted,
        marked=now.marked - before.marked,
        reordered=now.reordered - before.reordered,
        timeouts=None if now.timeouts is None or before.timeouts is None else now.timeouts - before.timeouts,
    )


class Received(NamedTuple):
    """Counters of a receiving end, since its connection began."""

    payload_bytes: int
    """Payload bytes that have arrived with all before them."""
    packets: int
    """Segments with payload, also those that were there already."""
    out_of_order: int
    """Segments that came behind a gap."""


def received(connection: socket.socket) -> Received:
    """Counters of the receiving end of a connection."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE)
    payload_bytes = struct.unpack_from("Q", info, BYTES_RECEIVED)[0]
    return Received(payload_bytes, _counter(info, DATA_SEGS_IN), _counter(info, RCV_OOOPACK))


def needless(connection: socket.socket) -> int:
    """Segments that a sending end was told the receiver had already (DSACK, RFC 2883)."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE)
    return _counter(info, DSACK_DUPS)


def segment_bytes(connection: socket.socket) -> int:
    """Payload of a full segment that a sending end makes, its options considered."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE)
    return _counter(info, SND_MSS)


def out_of_order(connection: socket.socket) -> int:
    """Segments that a receiving end got behind a gap."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE)
    return _counter(info, RCV_OOOPACK)


def congestion_control(connection: socket.socket) -> str:
    """Name of the congestion control that a connection runs, whatever its namespace has by default."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, NAME_SIZE).rstrip(b"\0").decode()


def _counter(info: bytes, at: int) -> int:
    return int(struct.unpack_from("I", info, at)[0])
