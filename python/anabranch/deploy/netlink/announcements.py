"""Changes of nexthops, routes and neighbours as they happen: the kernel's own announcements (`rtnetlink(7)`)."""

from __future__ import annotations

import errno
import socket
import struct

from anabranch.deploy.netlink.connection import HEADER, RECEIVE_BYTES, SOL_NETLINK, attributes, messages
from anabranch.deploy.netlink.kernel import ROUTE
from anabranch.deploy.netlink.message import RTM_DELNEXTHOP, RTM_DELROUTE, RTM_NEWNEIGH, RTM_NEWNEXTHOP, RTM_NEWROUTE
from anabranch.deploy.netlink.nexthop import Address, address_of

ADD_MEMBERSHIP = 1
GROUPS = (3, 7, 11, 24, 25, 32)
"""RTNLGRP_NEIGH, _IPV4_ROUTE, _IPV6_ROUTE, _IPV4_NETCONF, _IPV6_NETCONF, _NEXTHOP."""
RTM_DELNEIGH, RTM_NEWNETCONF = 29, 80
NEIGHBOUR = struct.Struct("=B3xiHBB")
"""`struct ndmsg`: family, number of the device, state, flags, type."""
NEXTHOP_BYTES = 8
NDA_DST, NHA_ID = 1, 1


class Announcements:
    """Announcements of the network namespace of the thread that makes it, sifted for what one follower cares about.

    Args:
        protocol: maker of the routes and nexthops that count (rtnetlink's numbers); `None`: none count.
        gateways: neighbours that count.
        forwarding: whether all routes count, whoever made them, and what a device is told to forward.

    """

    def __init__(self, protocol: int | None, gateways: frozenset[Address], *, forwarding: bool = False) -> None:
        self._protocol, self._gateways, self._forwarding = protocol, gateways, forwarding
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * RECEIVE_BYTES)
            self._socket.setblocking(False)
            self._socket.bind((0, 0))
            for group in GROUPS:
                self._socket.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, group)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Announcements:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def fileno(self) -> int:
        """Descriptor of the socket, which is readable when something was announced."""
        return self._socket.fileno()

    def read(self) -> bool:
        """Whether anything that counts was announced since the last call, or may have been; it never waits."""
        counts = False
        while True:
            try:
                received = self._socket.recv(RECEIVE_BYTES)
            except BlockingIOError:
                return counts
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                # More was announced than fits the socket's buffer.
                counts = True
                continue
            counts = any(self._counts(type_, data) for _, type_, _, _, data in messages(received)) or counts

    def _counts(self, type_: int, data: bytes) -> bool:
        match type_:
            case _ if type_ in (RTM_NEWNEIGH, RTM_DELNEIGH):
                values = dict(attributes(data, HEADER.size + NEIGHBOUR.size))
                packed = values.get(NDA_DST, b"")
                return len(packed) in (4, 16) and address_of(packed) in self._gateways
            case _ if type_ in (RTM_NEWROUTE, RTM_DELROUTE):
                return self._forwarding or bool(ROUTE.unpack_from(data, HEADER.size)[5] == self._protocol)
            case _ if type_ == RTM_NEWNETCONF:
                return self._forwarding
            case _ if type_ in (RTM_NEWNEXTHOP, RTM_DELNEXTHOP):
                return data[HEADER.size + 2] == self._protocol
            case _:
                return False
