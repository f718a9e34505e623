"""What a service reports to systemd, by the protocol of sd_notify(3): that it is ready, and that it is alive.

Without a service manager (`NOTIFY_SOCKET` is not set) nothing is reported.
"""

from __future__ import annotations

import asyncio
import os
import socket

LIMIT_S = 1.0


def report_ready() -> None:
    """Reports that what the service is for is under way."""
    _report(b"READY=1")


async def report_alive() -> None:
    """Reports twice in the unit's `WatchdogSec` that events are handled, until it is cancelled."""
    interval_us = int(os.environ.get("WATCHDOG_USEC", "0"))
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()) or not interval_us:
        return
    while True:
        _report(b"WATCHDOG=1")
        await asyncio.sleep(interval_us / 2e6)


def _report(message: bytes) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    # Another address than a path or an abstract name is of a manager of virtual machines.
    if address[:1] not in {"/", "@"}:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        # A manager that does not read is no reason to stand still.
        manager.settimeout(LIMIT_S)
        manager.connect(address.replace("@", "\0", 1) if address[0] == "@" else address)
        manager.sendall(message)
