"""One bottleneck in three network namespaces of this machine: client, router, server.

The router's port to the server is a token bucket (`tc tbf`) with a queue of so many bytes. Acknowledgements come back
through a pair of TUN devices that hold each for so long: the round trip without queueing. (`tc netem` would do, but
small kernels lack it.) Nothing leaves the machine; every name goes away at the end.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import struct
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
# RFC 5737: nobody's addresses.
CLIENT, ROUTER_TO_CLIENT = "192.0.2.1", "192.0.2.2"
SERVER, ROUTER_TO_SERVER = "198.51.100.1", "198.51.100.2"
# Bytes of Ethernet's header, which tbf counts, around an IP packet of 1500 bytes.
FRAME_BYTES = 1514


class MissingError(Exception):
    """A privilege or a program that is not there; the message says which."""


@dataclass(frozen=True)
class Bottleneck:
    """Rate, delay without queueing, and room for waiting bytes of frames."""

    rate_bps: int
    delay_us: int
    buffer_bytes: int


def ip(*arguments: str) -> None:
    """iproute2, loudly."""
    run = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=60)
    if run.returncode:
        raise MissingError(f"ip {' '.join(arguments)}: {run.stderr.strip()}")


def inside(namespace: str, *command: str) -> None:
    """A command in a namespace."""
    ip("netns", "exec", namespace, *command)


def tun(name: str, namespace: str) -> int:
    """A TUN device, moved to a namespace while its file stays here."""
    try:
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    except OSError as error:
        raise MissingError(f"/dev/net/tun: {error.strerror}") from error
    ip("link", "set", name, "netns", namespace)
    ip("-n", namespace, "link", "set", name, "up")
    return file


def hold(source: int, sink: int, delay_us: int, stop: threading.Event) -> None:
    """Passes packets on after a delay, in order."""
    waiting: deque[tuple[int, bytes]] = deque()
    while not stop.is_set():
        now = time.monotonic_ns()
        while waiting and waiting[0][0] <= now:
            os.write(sink, waiting.popleft()[1])
        wait_s = (waiting[0][0] - now) / 1e9 if waiting else 0.05
        if select.select([source], [], [], max(0.0, wait_s))[0]:
            due = time.monotonic_ns() + delay_us * 1000
            try:
                while True:
                    waiting.append((due, os.read(source, 65536)))
            except BlockingIOError:
                pass


@contextmanager
def namespaces(bottleneck: Bottleneck) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Commands that enter client, router and server.

    Raises:
        MissingError: Not root, or no `ip`, `tc`, TUN or tbf.
    """
    if os.geteuid() != 0:
        raise MissingError("network namespaces need root")
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            raise MissingError(f"{program} is missing: apt install iproute2")
    client, router, server = (f"anabranch-{part}{os.getpid()}" for part in ("c", "r", "s"))
    stop = threading.Event()
    files: list[int] = []
    thread: threading.Thread | None = None
    try:
        for name in (client, router, server):
            ip("netns", "add", name)
            for setting in ("conf/all/rp_filter", "conf/default/rp_filter"):
                inside(name, "sh", "-c", f"echo 0 > /proc/sys/net/ipv4/{setting}")
            ip("-n", name, "link", "set", "lo", "up")
        inside(router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        # No segment larger than a frame: tbf would split it, or drop all of it.
        one = ("gso_max_segs", "1")
        ip("-n", client, "link", "add", "end0", *one, "type", "veth", "peer", "name", "in0", "netns", router)
        ip("-n", router, "link", "add", "out0", *one, "type", "veth", "peer", "name", "end0", "netns", server)
        for name, device, address in (
            (client, "end0", CLIENT),
            (router, "in0", ROUTER_TO_CLIENT),
            (router, "out0", ROUTER_TO_SERVER),
            (server, "end0", SERVER),
        ):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
        ip("-n", client, "route", "add", "198.51.100.0/24", "via", ROUTER_TO_CLIENT)
        files = [tun(f"anab-s{os.getpid()}"[:15], server), tun(f"anab-c{os.getpid()}"[:15], client)]
        ip("-n", server, "route", "add", "192.0.2.0/24", "dev", f"anab-s{os.getpid()}"[:15])
        limits = ["rate", f"{bottleneck.rate_bps}bit", "burst", str(2 * FRAME_BYTES), "limit"]
        inside(router, "tc", "qdisc", "add", "dev", "out0", "root", "tbf", *limits, str(bottleneck.buffer_bytes))
        thread = threading.Thread(target=hold, args=(*files, bottleneck.delay_us, stop), daemon=True)
        thread.start()
        enter = ["ip", "netns", "exec"]
        yield [*enter, client], [*enter, router], [*enter, server]
    finally:
        stop.set()
        if thread:
            thread.join(10)
        for file in files:
            os.close(file)
        for name in (client, router, server):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=60)
