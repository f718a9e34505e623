"""Small packets of many connections, sent as fast as a core can or at a rate, and counted where they arrive."""

from __future__ import annotations

import ctypes
import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anabranch import five_tuples
from anabranch.lab.traffic.bursts import frames, open_outlet
from anabranch.lab.traffic.paced_sender import RX_PACKETS, DeviceCounters
from two_hops import HOST_DEVICE, SINK, SINK_MAC, SOURCE, SOURCE_MAC, TwoHops

CONNECTIONS = 4096
BATCH = 64
"""Number of packets of one system call."""
DRAIN_S = 0.05
PORT = 9
VECTOR = np.dtype([("base", "u8"), ("length", "u8")])
"""struct iovec."""
MESSAGE = np.dtype(
    {
        "names": ["vectors", "vector_count"],
        "formats": ["u8", "u8"],
        "offsets": [16, 24],
        "itemsize": 64,
    }
)
"""struct mmsghdr on 64 bits, the fields that are not zero."""


@dataclass(frozen=True)
class Volley:
    """Fate of packets that were sent one after the other."""

    offered: int
    arrived: int
    """Number of packets that reached the receiver's device, late ones included."""
    delivered_pps: float
    """Rate of arrivals while packets were sent."""
    busy_s: float
    """Processor time of the sender, of processes that forward, and of the kernel's threads for packets (ksoftirqd)."""
    by_path: tuple[int, ...]

    @property
    def delivered(self) -> float:
        """Fraction of the packets that arrived."""
        return self.arrived / self.offered


class Gun:
    """Sends the connections' packets in turn, again and again."""

    def __init__(self, net: TwoHops, routed: bool, workers: Sequence[int], seed: int) -> None:
        random = np.random.Generator(np.random.PCG64(seed))
        sources = random.choice(np.arange(1024, 65536), CONNECTIONS, replace=False).astype(np.uint16)
        to = net.first.mac(net.first.host_port) if routed else SINK_MAC
        self._frames = frames(five_tuples(SOURCE, SINK, "udp", sources, PORT), SOURCE_MAC, to)
        vectors = np.zeros(CONNECTIONS, VECTOR)
        vectors["base"] = self._frames.ctypes.data + np.arange(CONNECTIONS) * self._frames.shape[1]
        vectors["length"] = self._frames.shape[1]
        self._messages = np.zeros(CONNECTIONS, MESSAGE)
        self._messages["vectors"] = vectors.ctypes.data + np.arange(CONNECTIONS) * VECTOR.itemsize
        self._messages["vector_count"] = 1
        self._vectors = vectors
        self._workers = [*workers, *_kernel_threads()]
        self._library = ctypes.CDLL(None, use_errno=True)
        self._outlet = open_outlet(net.source.namespace, HOST_DEVICE)
        self._target = DeviceCounters(net.target.namespace)
        self._ends = net.second.path_ports
        # Where paths end: what a device sends as frames (XDP) it does not count as sent.
        self._paths = DeviceCounters(net.second.namespace)

    def close(self) -> None:
        """Closes its sockets and files."""
        for held in (self._outlet, self._target, self._paths):
            held.close()

    def fire(self, seconds: float, packets_per_s: float | None = None) -> Volley:
        """Sends for so long, whole rounds of the connections; without a rate as fast as it goes.

        Raises:
            OSError: the device is gone, or down.

        """
        limit = None if packets_per_s is None else max(CONNECTIONS, round(seconds * packets_per_s))
        began, paths, busy_s = self._arrived(), self._path_packets(), self._busy_s()
        start = time.monotonic()
        offered = 0
        while offered % CONNECTIONS or (time.monotonic() - start < seconds if limit is None else offered < limit):
            self._send(offered % CONNECTIONS, BATCH)
            offered += BATCH
            if packets_per_s is not None:
                wait = offered / packets_per_s - (time.monotonic() - start)
                if wait > 0:
                    time.sleep(wait)
        in_time, took_s = self._arrived() - began, time.monotonic() - start
        busy_s = self._busy_s() - busy_s
        time.sleep(DRAIN_S)
        by_path = tuple(now - before for now, before in zip(self._path_packets(), paths, strict=True))
        return Volley(offered, self._arrived() - began, in_time / took_s, busy_s, by_path)

    def _send(self, first: int, count: int) -> None:
        done = 0
        while done < count:
            at = self._messages.ctypes.data + (first + done) * MESSAGE.itemsize
            sent = self._library.sendmmsg(self._outlet.fileno(), ctypes.c_void_p(at), count - done, 0)
            if sent < 0:
                number = ctypes.get_errno()
                if number != errno.ENOBUFS:
                    raise OSError(number, os.strerror(number))
                # A ring that is full: this packet is lost, as on a wire.
                sent = 1
            done += sent

    def _arrived(self) -> int:
        return self._target.read(RX_PACKETS)[HOST_DEVICE]

    def _path_packets(self) -> list[int]:
        counted = self._paths.read(RX_PACKETS)
        return [counted.get(port, 0) for port in self._ends]

    def _busy_s(self) -> float:
        # What the kernel does for a packet in the middle of the system call that sends it is the sender's time.
        threads = (file for pid in self._workers for file in Path(f"/proc/{pid}/task").glob("*/schedstat"))
        return time.thread_time() + sum(int(file.read_text().split()[0]) for file in threads) / 1e9


@contextmanager
def gun(net: TwoHops, *, routed: bool, workers: Sequence[int], seed: int) -> Iterator[Gun]:
    """A gun that stays on one core.

    Args:
        net: Where.
        routed: As in `Wiring`.
        workers: Processes that forward.
        seed: Of the connections' ports.

    """
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    made = Gun(net, routed, workers, seed)
    try:
        yield made
    finally:
        made.close()
        os.sched_setaffinity(0, cores)


def _kernel_threads() -> list[int]:
    """The threads to which the kernel leaves packets when a core has too many."""
    found = []
    for file in Path("/proc").glob("[0-9]*/comm"):
        # Other processes end meanwhile.
        with suppress(OSError):
            if file.read_text().startswith("ksoftirqd/"):
                found.append(int(file.parent.name))
    return found
