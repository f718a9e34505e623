"""Room in the sockets of a running `ovs-vswitchd`, for queues in the lab to hold what their limits say.

In the userspace datapath all ports of all bridges send through one AF_PACKET socket (`af_packet_sock` in
lib/netdev-linux.c of Open vSwitch), and what waits in a qdisc counts towards the socket it came from. With the kernel's
default, 208 KiB with all overhead, some 90 full frames fill the queues of the whole fabric together; those beyond are
lost, though no qdisc counts them. The default cannot be set for a namespace, so the sockets themselves are widened.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from anabranch.files.errors import AnabranchError

SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
"""asm-generic/socket.h; the plain options stop at net.core.wmem_max."""
SYS_PIDFD_GETFD = 438
"""The same number on every architecture (pidfd_getfd(2))."""
SEND_BYTES = 2**30 - 1
"""Send buffer, as large as the kernel takes: what bounds a queue is its qdisc."""
RECEIVE_BYTES = 2**22
"""Receive buffer of each port: some 1800 full frames, so that no burst is lost while `ovs-vswitchd` serves others."""


def widen(pid: int) -> bool:
    """Widens the packet sockets of a process; whether that which sends has been among them.

    A socket that the process closes meanwhile is none of its sockets any more, and a process that ends has none.

    Raises:
        AnabranchError: the kernel does not hand sockets over.

    """
    sends = False
    # A process that ends meanwhile takes its entry in /proc along.
    with suppress(FileNotFoundError, ProcessLookupError), _handle(pid) as handle:
        for path in Path(f"/proc/{pid}/fd").iterdir():
            copy = _copy(handle, int(path.name)) if _is_socket(path) else None
            if copy is None:
                continue
            with copy:
                if copy.family != socket.AF_PACKET:
                    continue
                copy.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES)
                copy.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, SEND_BYTES)
                # Receiving sockets are bound to a device, the sending one is not.
                sends = sends or not copy.getsockname()[0]
    return sends


@contextmanager
def _handle(pid: int) -> Iterator[int]:
    handle = os.pidfd_open(pid)
    try:
        yield handle
    finally:
        os.close(handle)


def _is_socket(path: Path) -> bool:
    try:
        return str(path.readlink()).startswith("socket:")
    except FileNotFoundError:
        return False


def _copy(handle: int, descriptor: int) -> socket.socket | None:
    """The other process's socket, in this one; nothing if the process has closed it since it was listed."""
    library = ctypes.CDLL(None, use_errno=True)
    copied = library.syscall(SYS_PIDFD_GETFD, handle, descriptor, 0)
    if copied < 0:
        error = OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        if error.errno == errno.EBADF:
            return None
        if error.errno == errno.ESRCH:
            raise error
        kernel = f"Linux 5.6 or newer; here is {platform.release()}"
        raise AnabranchError(f"ovs-vswitchd: its sockets cannot be widened: {error.strerror}; take {kernel}")
    try:
        return socket.socket(fileno=copied)
    except OSError:
        # The number was used again, for a file of another kind.
        os.close(copied)
        return None
