"""Changes of links as they happen: the kernel's own announcements (`RTNLGRP_LINK`, `rtnetlink(7)`).

The kernel announces a lost carrier at once for devices that stand on another one (a veth pair's end, a VLAN), and for
those of hardware if nothing was announced in the second before; else up to a second late (`linkwatch_urgent_event`,
`net/core/link_watch.c`). A veth whose number happens to be its peer's, in another namespace, counts as hardware there.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass

from anabranch.deploy.netlink.connection import (
    DUMP,
    DUMP_INTERRUPTED,
    HEADER,
    NLMSG_DONE,
    NLMSG_ERROR,
    RECEIVE_BYTES,
    REQUEST,
    TIMEOUT_S,
    attributes,
    messages,
    raise_error,
)
from anabranch.deploy.netlink.nexthop import Device
from anabranch.files.errors import AnabranchError

LINK = struct.Struct("=BxHiII")
"""`struct ifinfomsg`: family, type, number, flags, changed flags."""
RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK = 16, 17, 18
GROUP_LINK = 1
"""`RTMGRP_LINK`, as the bit that `bind` takes."""
IFLA_IFNAME, IFLA_IFALIAS, IFLA_EXT_MASK, SKIP_STATS = 3, 20, 29, 1 << 3
IFF_UP, IFF_LOWER_UP = 0x1, 0x10000


@dataclass(frozen=True)
class LinkEvent:
    """State of a device after a change."""

    device: Device
    gone: bool = False
    """Whether it was removed; `device` is then its last state, neither up nor with a carrier."""


class LinkMonitor:
    """Follows all devices of the network namespace of the thread that makes it.

    `links` has the state when it is made, and after every `read`. Wait for `fileno()` to be readable, in a `poll` or by
    `loop.add_reader(monitor.fileno(), ...)`, and read.
    """

    def __init__(self) -> None:
        self.links: dict[int, Device] = {}
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._sequence = 0
        self._seen: set[int] | None = None
        """Numbers that an unfinished listing has had; None where none is under way."""
        self._whole = True
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * RECEIVE_BYTES)
            self._socket.setblocking(False)
            # Announcements first, the listing then: what happens between the two is in both, not in neither.
            self._socket.bind((0, GROUP_LINK))
            self._list()
            self._await_listing()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> LinkMonitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    def fileno(self) -> int:
        """Descriptor of the socket, which is readable when a change has happened."""
        return self._socket.fileno()

    def read(self) -> list[LinkEvent]:
        """Reads all changes since the last call, in order; empty if there are none. It never waits."""
        events: list[LinkEvent] = []
        while True:
            received, lost = self._receive()
            if lost:
                # More happened than fits the socket's buffer: all is listed anew. What still waits is older than what
                # was lost.
                while any(self._receive()):
                    pass
                self._list()
            elif received:
                events += self._read(received)
            else:
                return events

    def _receive(self) -> tuple[bytes, bool]:
        """Receives the first waiting datagram, empty if there is none, and whether some were lost."""
        try:
            return self._socket.recv(RECEIVE_BYTES), False
        except BlockingIOError:
            return b"", False
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            return b"", True

    def _read(self, received: bytes) -> Iterable[LinkEvent]:
        for _, type_, flags, sequence, data in messages(received):
            listing = self._seen is not None and sequence == self._sequence
            self._whole &= not (listing and flags & DUMP_INTERRUPTED)
            if type_ in (RTM_NEWLINK, RTM_DELLINK):
                yield from self._link(type_, data)
            elif type_ == NLMSG_ERROR and listing:
                raise_error(data, flags)
            elif type_ == NLMSG_DONE and listing and self._whole:
                yield from self._listed()
            elif type_ == NLMSG_DONE and listing:
                self._list()

    def _link(self, type_: int, data: bytes) -> Iterable[LinkEvent]:
        family, _, number, flags, _ = LINK.unpack_from(data, HEADER.size)
        if family != socket.AF_UNSPEC:
            # A bridge announces its ports so; a port that leaves it is not a device that goes.
            return
        before = self.links.get(number)
        if type_ == RTM_DELLINK:
            if self._seen is not None:
                self._seen.discard(number)
            if before is not None:
                yield self._gone(before)
            return
        values = dict(attributes(data, HEADER.size + LINK.size))
        name, alias = (
            values.get(kind, b"").rstrip(b"\0").decode(errors="replace") for kind in (IFLA_IFNAME, IFLA_IFALIAS)
        )
        device = Device(number, name, bool(flags & IFF_UP), bool(flags & IFF_LOWER_UP), alias)
        if self._seen is not None:
            self._seen.add(number)
        if device != before:
            self.links[number] = device
            yield LinkEvent(device)

    def _gone(self, device: Device) -> LinkEvent:
        del self.links[device.index]
        return LinkEvent(Device(device.index, device.name, up=False, carrier=False), gone=True)

    def _list(self) -> None:
        """Asks for all links; the answers come as announcements do."""
        self._sequence += 1
        self._seen, self._whole = set(), True
        extra = struct.pack("=HHI", 8, IFLA_EXT_MASK, SKIP_STATS)
        body = LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0) + extra
        self._socket.send(HEADER.pack(HEADER.size + len(body), RTM_GETLINK, REQUEST | DUMP, self._sequence, 0) + body)

    def _listed(self) -> Iterable[LinkEvent]:
        seen, self._seen = self._seen, None
        for number in [number for number in self.links if seen is not None and number not in seen]:
            yield self._gone(self.links[number])

    def _await_listing(self) -> None:
        until = time.monotonic() + TIMEOUT_S
        waiting = select.poll()
        waiting.register(self, select.POLLIN)
        while self._seen is not None:
            if not waiting.poll(max(0.0, 1e3 * (until - time.monotonic()))):
                raise AnabranchError(f"kernel: no list of links within {TIMEOUT_S} s; try again")
            self.read()
