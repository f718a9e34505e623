"""Puts frames on a wire as fast as they arrive at the other end: on no machine is anything lost."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType

from anabranch.deploy.netlink.namespace import inside
from anabranch.files.errors import AnabranchError
from anabranch.lab.traffic.bursts import Bytes, open_outlet, send_batch

WINDOW = 256
"""Frames under way: fewer than a lab's Open vSwitch has room for (`socket_buffers`) and than the kernel queues between
two devices for all namespaces together (net.core.netdev_max_backlog, 1000)."""
STALL_S = 10.0
"""Silence at the other end that is taken for loss."""
REST_S = 50e-6
"""Between two looks at the counters: the processor is the switch's."""
TX_BYTES, TX_PACKETS, RX_PACKETS = 8, 9, 1
"""Columns of `/proc/net/dev`."""


class LostError(AnabranchError):
    """Not all frames arrived."""


class DeviceCounters:
    """The kernel's counters of the devices of a namespace."""

    def __init__(self, namespace: str) -> None:
        with inside(namespace):
            # An open file keeps showing the namespace that it was opened in.
            self._file = Path("/proc/thread-self/net/dev").open("rb", buffering=0)  # noqa: SIM115

    def read(self, column: int) -> dict[str, int]:
        """A column by device."""
        self._file.seek(0)
        data = b""
        while part := self._file.read(1 << 16):
            data += part
        counters = {}
        for line in data.splitlines()[2:]:
            name, _, values = line.partition(b":")
            counters[name.strip().decode()] = int(values.split()[column])
        return counters

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


class PacedSender:
    """From a device in one namespace to one in another."""

    def __init__(self, source: tuple[str, str], target: tuple[str, str]) -> None:
        """Both as (namespace, device)."""
        self._outlet = open_outlet(*source)
        self._counters = DeviceCounters(target[0])
        self._device = target[1]

    def __enter__(self) -> PacedSender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._outlet.close()
        self._counters.close()

    def send(self, frames: Bytes) -> None:
        """Sends all frames, shape (n, bytes), and waits until all have arrived.

        Raises:
            LostError: some did not arrive.
            AnabranchError: more arrive than were sent.

        """
        before = self._arrived()
        sent = arrived = 0
        while arrived < len(frames):
            burst = frames[sent : arrived + WINDOW]
            if len(burst):
                send_batch(self._outlet, burst)
            sent += len(burst)
            arrived = self._beyond(before, arrived, sent)
        if arrived > len(frames):
            raise AnabranchError(f"{self._device}: {arrived - len(frames)} frames more than were sent; who else sends?")

    def _beyond(self, before: int, arrived: int, sent: int) -> int:
        """Waits for half the window, or all that is under way, to have arrived; how many have."""
        due = min(arrived + WINDOW // 2, sent)
        deadline = time.monotonic() + STALL_S
        while (now := self._arrived() - before) < due:
            if time.monotonic() > deadline:
                raise LostError(f"{self._device}: {sent - now} of {sent} frames lost; is a rule missing?")
            time.sleep(REST_S)
        return now

    def _arrived(self) -> int:
        return self._counters.read(RX_PACKETS)[self._device]
