"""Frames that reach a device, each with the kernel's time and its length, kept by the kernel until somebody looks.

A ring of packet(7) in memory that is shared with the kernel (TPACKET_V2): nothing runs while frames arrive.
"""

from __future__ import annotations

import mmap
import socket
import struct
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch.deploy.netlink.namespace import inside
from anabranch.files.errors import AnabranchError

SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION, PACKET_RESERVE = 263, 5, 6, 10, 12
TPACKET_V2 = 1
ALL_PROTOCOLS = 3
"""ETH_P_ALL of linux/if_ether.h."""
SLOT_BYTES, BLOCK_BYTES = 128, 1 << 20
"""Room for one frame's header and its first bytes; and the unit in which the kernel takes memory."""
SLOT = np.dtype(
    {
        "names": ["status", "length", "seconds", "nanoseconds", "kind"],
        "formats": ["<u4", "<u4", "<u4", "<u4", "u1"],
        # struct tpacket2_hdr, and behind it sll_pkttype of struct sockaddr_ll (linux/if_packet.h).
        "offsets": [0, 4, 16, 20, 32 + 10],
        "itemsize": SLOT_BYTES,
    }
)
ARRIVED, OUTGOING = 1, 4
"""TP_STATUS_USER; PACKET_OUTGOING."""


class Arrivals:
    """Frames that arrive at a device from the beginning of a block on."""

    def __init__(self, namespace: str, device: str, frames: int) -> None:
        """Makes room for so many frames.

        Raises:
            AnabranchError: no such device, no privilege, or not so much memory.

        """
        self._device = device
        blocks = -(-frames * SLOT_BYTES // BLOCK_BYTES)
        slots = blocks * BLOCK_BYTES // SLOT_BYTES
        with inside(namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        try:
            self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
            self._socket.setsockopt(
                SOL_PACKET, PACKET_RX_RING, struct.pack("IIII", BLOCK_BYTES, blocks, SLOT_BYTES, slots)
            )
            self._memory = mmap.mmap(self._socket.fileno(), blocks * BLOCK_BYTES)
            # Not before: a socket that is bound to a protocol receives.
            self._socket.bind((device, ALL_PROTOCOLS))
        except OSError as error:
            self._socket.close()
            raise AnabranchError(f"{namespace}: {device}: {error.strerror}; frames are watched by root") from None

    def __enter__(self) -> Arrivals:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._memory.close()
        self._socket.close()

    def read(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Time of each frame in nanoseconds since the Unix epoch, and its bytes; shape (frames,), in order.

        Raises:
            AnabranchError: more arrived than there was room for.

        """
        _, dropped = struct.unpack("II", self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        if dropped:
            raise AnabranchError(
                f"{self._device}: {dropped} frames more than there was room for; measure for less time"
            )
        slots: npt.NDArray[Any] = np.frombuffer(bytes(self._memory), SLOT)
        used = slots[(slots["status"] & ARRIVED != 0) & (slots["kind"] != OUTGOING)]
        times_ns = used["seconds"].astype(np.int64) * 1_000_000_000 + used["nanoseconds"]
        return times_ns, used["length"].astype(np.int64)
