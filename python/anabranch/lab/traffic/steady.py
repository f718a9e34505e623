"""Steady UDP from one host to another, as fast as the sender's link takes it: no answers, no control of congestion.

A thread writes into a socket that blocks; the host's shaped device takes the packets out at its rate, evenly.
"""

from __future__ import annotations

import socket
import struct
import threading
from types import TracebackType

from anabranch.deploy.netlink.namespace import inside
from anabranch.files.errors import AnabranchError
from anabranch.lab.traffic.play import Endpoint

PORT = 5003
PAYLOAD = 1472
"""Bytes that make a packet of 1500."""
ROOM_BYTES = 32 * 1024
"""Room for packets that wait for the device."""

SEND_TIMEOUT_S = 10
"""Time in which a device takes one packet, however slow; a struct timeval for SO_SNDTIMEO (socket(7))."""


class Steady:
    """UDP from `source` to `target`, from the beginning of a block to its end."""

    def __init__(self, source: Endpoint, target: Endpoint) -> None:
        self._source, self._target = source, target
        self._ends = threading.Event()
        self._failed: OSError | None = None
        self._sockets: list[socket.socket] = []
        self._thread = threading.Thread(target=self._send, daemon=True)

    def __enter__(self) -> Steady:
        """Begins.

        Raises:
            AnabranchError: no such namespace, or no privilege.

        """
        with inside(self._target.namespace):
            # Nobody reads: the kernel drops what has no room, and sends no answer as to a closed port.
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._sockets.append(receiver)
            receiver.bind((self._target.address, PORT))
        with inside(self._source.namespace):
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._sockets.append(sender)
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM_BYTES)
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", SEND_TIMEOUT_S, 0))
            sender.connect((self._target.address, PORT))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends.

        Raises:
            AnabranchError: it had ended before.

        """
        self._ends.set()
        # It writes one packet more at most.
        self._thread.join(2 * SEND_TIMEOUT_S)
        for one in self._sockets:
            one.close()
        if self._failed is not None and kind is None:
            raise AnabranchError(f"{self._source.address} to {self._target.address}: UDP: {self._failed.strerror}")

    def _send(self) -> None:
        sender, packet = self._sockets[1], bytes(PAYLOAD)
        try:
            while not self._ends.is_set():
                sender.send(packet)
        except OSError as failure:
            self._failed = failure
