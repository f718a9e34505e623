"""LLDP frames by devices of a network namespace of this machine: one packet socket for all of them (`packet(7)`)."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterable

from anabranch.deploy.wiring.frame import ETHERTYPE, NEAREST_BRIDGE
from anabranch.files.errors import AnabranchError

SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_MULTICAST, PACKET_IGNORE_OUTGOING = 263, 1, 0, 23
"""Numbers of linux/if_packet.h."""
_MEMBERSHIP = struct.Struct("=iHH8s")
"""`struct packet_mreq`: device, kind, length of the address, address."""
FRAME_MAX = 2048
"""Bytes of a frame that are read; one with more is cut, and not believed."""


class PacketSocket:
    """All LLDP frames that come to the devices of the namespace of the thread that makes it.

    Raises:
        AnabranchError: no privilege (CAP_NET_RAW).

    """

    def __init__(self) -> None:
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        except OSError as error:
            raise AnabranchError(f"packet socket: {error.strerror}; it takes CAP_NET_RAW to hear LLDP frames") from None
        self._socket.setblocking(False)
        self._socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self._joined: set[int] = set()

    def __enter__(self) -> PacketSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    def fileno(self) -> int:
        """Descriptor of the socket, which is readable when a frame has come."""
        return self._socket.fileno()

    def join(self, devices: Iterable[int]) -> None:
        """Has devices take frames to LLDP's address, by number; those that have gone are forgotten."""
        numbers = set(devices)
        for number in numbers - self._joined:
            membership = _MEMBERSHIP.pack(number, PACKET_MR_MULTICAST, 6, NEAREST_BRIDGE)
            try:
                self._socket.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, membership)
            except OSError:
                # It has gone: its end will be announced.
                numbers.discard(number)
        self._joined = numbers

    def send(self, device: str, frame: bytes) -> None:
        """Sends a frame by a device; one that is down or gone sends nothing."""
        try:
            self._socket.sendto(frame, (device, ETHERTYPE))
        except OSError:
            # What is not sent is not heard, and that is what is judged.
            return

    def read(self) -> tuple[str, bytes] | None:
        """The next frame with the name of the device that it came to; None where none waits."""
        while True:
            try:
                frame, address = self._socket.recvfrom(FRAME_MAX)
            except BlockingIOError:
                return None
            except OSError as error:
                # A device that goes down says so once.
                if error.errno != errno.ENETDOWN:
                    raise
                continue
            if address[2] != socket.PACKET_OUTGOING:
                return str(address[0]), frame
