"""Many small flows: packets of given 5-tuples out of a device, to measure how they are split."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch.deploy.netlink.namespace import inside
from anabranch.files.errors import AnabranchError
from anabranch.split.tuples import PROTOCOLS

BATCH = 64
"""Packets of one sendmmsg(2); more at once and a software switch may lack room for them."""
LEAST_FRAME = 60
"""Without check sequence (IEEE 802.3 clause 3.2.8)."""
ETHERNET, IPV4, UDP = 14, 20, 8
TIME_TO_LIVE = 64
SOL_PACKET, PACKET_QDISC_BYPASS = 263, 20
"""linux/socket.h, linux/if_packet.h"""

Bytes = npt.NDArray[np.uint8]


class _Vector(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    """struct msghdr, with the padding that it ends in."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.c_void_p),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    """struct mmsghdr."""

    _fields_ = (("header", _Header), ("sent", ctypes.c_uint32))


def frames(tuples: npt.NDArray[Any], source_mac: str, target_mac: str, payload: int = 0) -> Bytes:
    """An Ethernet frame per 5-tuple (`anabranch.five_tuples`, IPv4, UDP or TCP), shape (n, bytes).

    A TCP packet is a SYN, so that a host answers with an RST at most. The IPv4 header has its checksum; UDP's is left
    out (RFC 768) and TCP's is not computed: whoever splits does not look at it, and a receiver drops the packet.

    Raises:
        AnabranchError: a tuple of IPv6, or of a protocol without ports.

    """
    if (tuples["version"] != 4).any() or not np.isin(tuples["protocol"], (PROTOCOLS["udp"], PROTOCOLS["tcp"])).all():
        raise AnabranchError("tuples: neither UDP nor TCP over IPv4; the lab's hosts have no others")
    tcp = tuples["protocol"] == PROTOCOLS["tcp"]
    size = max(LEAST_FRAME, ETHERNET + IPV4 + (20 if tcp.any() else UDP) + payload)
    block = np.zeros((len(tuples), size), np.uint8)
    block[:, 0:6] = np.frombuffer(bytes.fromhex(target_mac.replace(":", "")), np.uint8)
    block[:, 6:12] = np.frombuffer(bytes.fromhex(source_mac.replace(":", "")), np.uint8)
    block[:, 12:14] = (0x08, 0x00)
    header = block[:, ETHERNET : ETHERNET + IPV4]
    header[:, 0] = 0x45
    header[:, 2:4] = np.frombuffer(struct.pack(">H", size - ETHERNET), np.uint8)
    header[:, 8] = TIME_TO_LIVE
    header[:, 9] = tuples["protocol"]
    header[:, 12:16] = tuples["source"][:, :4]
    header[:, 16:20] = tuples["destination"][:, :4]
    header[:, 10:12] = _checksums(header)
    segment = block[:, ETHERNET + IPV4 :]
    segment[:, 0:2] = _big_endian(tuples["source_port"])
    segment[:, 2:4] = _big_endian(tuples["destination_port"])
    segment[~tcp, 4:6] = np.frombuffer(struct.pack(">H", size - ETHERNET - IPV4), np.uint8)
    segment[tcp, 12:14] = (0x50, 0x02)
    return block


def open_outlet(namespace: str, device: str) -> socket.socket:
    """A socket whose packets go past the device's queue straight to its ring.

    Raises:
        AnabranchError: no such device, or no privilege.

    """
    with inside(namespace):
        try:
            outlet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            outlet.bind((device, 0))
        except OSError as error:
            raise AnabranchError(f"{namespace}: {device}: {error.strerror}; packets are sent by root") from None
    outlet.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
    return outlet


def send(namespace: str, device: str, packets: Bytes, packets_per_s: float) -> float:
    """Sends each frame once, in order, at a rate that it does not exceed; returns the rate that it reached.

    Unlike TCP this goes past the device's queue straight to its ring: shaping does not hold it back.

    Raises:
        AnabranchError: no such device, or no privilege.

    """
    with open_outlet(namespace, device) as outlet:
        began = time.monotonic()
        for first in range(0, len(packets), BATCH):
            send_batch(outlet, packets[first : first + BATCH])
            wait = min(first + BATCH, len(packets)) / packets_per_s - (time.monotonic() - began)
            if wait > 0:
                time.sleep(wait)
        return len(packets) / max(time.monotonic() - began, 1e-9)


def send_batch(outlet: socket.socket, packets: Bytes) -> None:
    """Sends frames in one call of the kernel.

    Raises:
        OSError: the device is gone, or down.

    """
    packets = np.ascontiguousarray(packets)
    count, size = packets.shape
    vectors, messages = (_Vector * count)(), (_Message * count)()
    for index in range(count):
        vectors[index] = _Vector(packets.ctypes.data + index * size, size)
        messages[index].header.vectors = ctypes.addressof(vectors) + index * ctypes.sizeof(_Vector)
        messages[index].header.vector_count = 1
    library, done = ctypes.CDLL(None, use_errno=True), 0
    while done < count:
        sent = library.sendmmsg(
            outlet.fileno(), ctypes.byref(messages, done * ctypes.sizeof(_Message)), count - done, 0
        )
        if sent < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        done += sent


def _checksums(headers: Bytes) -> Bytes:
    """RFC 1071, of headers whose checksum is zero."""
    words = headers.reshape(len(headers), -1, 2).astype(np.uint32)
    total = (words[:, :, 0] << 8 | words[:, :, 1]).sum(axis=1)
    while (total >> 16).any():
        total = (total & 0xFFFF) + (total >> 16)
    return _big_endian(~total & 0xFFFF)


def _big_endian(values: npt.NDArray[Any]) -> Bytes:
    return values.astype(">u2").view(np.uint8).reshape(len(values), 2)
