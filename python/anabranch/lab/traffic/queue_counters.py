"""Counters of a device's queue (sent, dropped, waiting) by netlink: cheap enough to be read while traffic runs."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import NamedTuple

from anabranch.deploy.netlink.namespace import inside
from anabranch.files.errors import AnabranchError

# linux/netlink.h, linux/rtnetlink.h, linux/gen_stats.h
NETLINK_ROUTE = 0
RTM_NEWQDISC, RTM_GETQDISC = 36, 38
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_DUMP = 0x1, 0x300
TCA_STATS2, TCA_STATS_BASIC, TCA_STATS_QUEUE = 7, 1, 3
TC_H_ROOT = 0xFFFFFFFF
HEADER = struct.Struct("=IHHII")
QDISC = struct.Struct("=BxxxiIII")
"""struct tcmsg: family, interface, handle, parent, info."""
ATTRIBUTE = struct.Struct("=HH")
ANSWER_BYTES = 1 << 18
TIMEOUT_S = 10.0
NESTED = 0x3FFF


class QueueCounters(NamedTuple):
    """Counters of the root queueing discipline of a device, since it was made."""

    sent_bytes: int
    """Ethernet frames without their check sequence."""
    sent_packets: int
    dropped_packets: int
    """Packets dropped for want of room."""
    backlog_bytes: int
    """Bytes that wait now."""


class QueueReader:
    """Counters of devices of one namespace. Close it."""

    def __init__(self, namespace: str, devices: Sequence[str]) -> None:
        with inside(namespace):
            self._names = {socket.if_nametoindex(device): device for device in devices}
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_ROUTE)
        self._socket.settimeout(TIMEOUT_S)
        self._sequence = 0

    def __enter__(self) -> QueueReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends it."""
        self._socket.close()

    def read(self) -> dict[str, QueueCounters]:
        """Counters now, by device; a device without a queue is left out.

        Raises:
            AnabranchError: the kernel is silent.

        """
        self._sequence += 1
        size = HEADER.size + QDISC.size
        header = HEADER.pack(size, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, self._sequence, 0)
        self._socket.send(header + QDISC.pack(socket.AF_UNSPEC, 0, 0, 0, 0))
        by_device = {}
        for message in self._messages():
            _, interface, _, parent, _ = QDISC.unpack_from(message)
            if parent == TC_H_ROOT and interface in self._names:
                counters = _counters(message[QDISC.size :])
                if counters is not None:
                    by_device[self._names[interface]] = counters
        return by_device

    def _messages(self) -> Iterator[memoryview]:
        while True:
            try:
                part = memoryview(self._socket.recv(ANSWER_BYTES))
            except TimeoutError:
                raise AnabranchError(f"kernel: says nothing of queues within {TIMEOUT_S:g} s; try again") from None
            while len(part) >= HEADER.size:
                size, kind, _, sequence, _ = HEADER.unpack_from(part)
                if sequence == self._sequence:
                    if kind == NLMSG_DONE:
                        return
                    if kind == NLMSG_ERROR:
                        raise OSError(-struct.unpack_from("=i", part, HEADER.size)[0], "netlink")
                    if kind == RTM_NEWQDISC:
                        yield part[HEADER.size : size]
                part = part[_aligned(size) :]


def _counters(attributes: memoryview) -> QueueCounters | None:
    for kind, value in _attributes(attributes):
        if kind == TCA_STATS2:
            parts = dict(_attributes(value))
            sent_bytes, sent_packets = struct.unpack_from("=QI", parts[TCA_STATS_BASIC])
            _, backlog, dropped = struct.unpack_from("=III", parts[TCA_STATS_QUEUE])
            return QueueCounters(sent_bytes, sent_packets, dropped, backlog)
    return None


def _attributes(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    while len(data) >= ATTRIBUTE.size:
        size, kind = ATTRIBUTE.unpack_from(data)
        yield kind & NESTED, data[ATTRIBUTE.size : size]
        data = data[_aligned(size) :]


def _aligned(size: int) -> int:
    return size + 3 & ~3
