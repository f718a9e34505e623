"""Runs a test with a network and a BPF file system of its own, which end with it, and with devices to send by."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import socket
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path

import pytest

from anabranch._core import probe_kernel
from support.needs import brings, declares
from support.own_namespace import in_own_namespace

CLONE_NEWNS = 0x20000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
ETH_P_ALL = 3
IPV4, IPV6 = 0x0800, 0x86DD
UDP = 17
ADDRESSES = bytes.fromhex("02000000000102000000000a")
"""Addresses of the frames here: of the receiver and of the sender."""
PATIENCE_S = 60.0
"""Deadline of frames that are under way: no measure of speed, only of never."""


@declares("root", "bpf")
def with_own_datapaths(test: Callable[..., None]) -> Callable[..., None]:
    """The test in a thread of its own network and mounts; skipped where the kernel has no datapaths."""

    @functools.wraps(test)
    def run(*arguments: object, **named: object) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS):
            pytest.skip(f"no mounts of its own: {os.strerror(ctypes.get_errno())} (root needed)")
        assert libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0
        if not Path("/sys/fs/bpf").is_dir() or libc.mount(b"bpf", b"/sys/fs/bpf", b"bpf", 0, None):
            pytest.skip(f"no BPF file system: {os.strerror(ctypes.get_errno())}")
        # Names of namespaces, too: other tests may take the same at the same time.
        names = Path("/run/netns")
        names.mkdir(exist_ok=True)
        assert libc.mount(b"none", bytes(names), b"tmpfs", 0, None) == 0
        for feature, there, note in probe_kernel():
            if not there:
                pytest.skip(f"{feature}: {note}")
        test(*arguments, **named)

    return brings("root", "bpf")(in_own_namespace(run))


def ip(*arguments: str) -> str:
    """Runs `ip`; what it printed."""
    run = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def pairs(*names: str) -> None:
    """Veth pairs `NAME` and `pNAME`, up, that say nothing of their own accord."""
    for name in names:
        ip("link", "add", name, "type", "veth", "peer", f"p{name}")
        for end in (name, f"p{name}"):
            quiet = Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6")
            if quiet.exists():
                quiet.write_text("1")
            ip("link", "set", end, "up")
        # What XDP redirects to a veth is taken by its peer only if that polls, as it does for GRO (`veth_xdp_xmit`).
        subprocess.run(["ethtool", "-K", f"p{name}", "gro", "on"], check=True, capture_output=True)


def frame(source_port: int, destination: str = "10.2.0.9", payload: bytes = b"", dscp: int = 0) -> bytes:
    """An Ethernet frame with a UDP datagram; the port tells connections apart. IPv6 frames have no `dscp`."""
    to = ip_address(destination)
    datagram = struct.pack("!HHHH", source_port, 4791, 8 + len(payload), 0) + payload
    if to.version == 4:
        header = struct.pack("!BBHHHBBH", 0x45, dscp << 2, 20 + len(datagram), 0, 0, 64, UDP, 0)
        header += ip_address("10.1.0.1").packed + to.packed
        folded = sum(struct.unpack("!10H", header))
        folded = (folded & 0xFFFF) + (folded >> 16)
        header = header[:10] + struct.pack("!H", 0xFFFF - ((folded & 0xFFFF) + (folded >> 16))) + header[12:]
    else:
        header = struct.pack("!IHBB", 6 << 28, len(datagram), UDP, 64) + ip_address("fd00:1::1").packed + to.packed
    return ADDRESSES + struct.pack("!H", IPV4 if to.version == 4 else IPV6) + header + datagram


def sender(device: str) -> socket.socket:
    """A socket that sends frames by a device, to be closed."""
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    found.bind((device, 0))
    return found


def receiver(device: str) -> socket.socket:
    """A socket that has all frames that arrive at a device from now on, to be closed."""
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    # Beyond the limit that root need not keep (SO_RCVBUFFORCE).
    found.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)
    found.bind((device, ETH_P_ALL))
    found.setblocking(False)
    return found


def drained(one: socket.socket) -> list[bytes]:
    """The frames that wait, those that came in."""
    found: list[bytes] = []
    while True:
        try:
            data, address = one.recvfrom(1 << 16)
        except BlockingIOError:
            return found
        except OSError as error:
            # A device that is down says so once.
            if error.errno != errno.ENETDOWN:
                raise
            continue
        if address[2] != socket.PACKET_OUTGOING:
            found.append(data)


def frames(send: Sequence[bytes], by: str, at: Sequence[str]) -> dict[str, list[bytes]]:
    """Sends frames by a device; which arrived at each of others, without what the kernel says of its own accord.

    As many are waited for as were sent: on a busy machine the kernel passes them on in its own time (`ksoftirqd`).
    """
    with ExitStack() as open_ones:
        waiting = {name: open_ones.enter_context(receiver(name)) for name in at}
        with sender(by) as out:
            for one in send:
                out.send(one)
        found: dict[str, list[bytes]] = {name: [] for name in at}
        deadline = time.monotonic() + PATIENCE_S
        while sum(map(len, found.values())) < len(send) and time.monotonic() < deadline:
            for name, ear in waiting.items():
                found[name] += [data for data in drained(ear) if data[6:12] == ADDRESSES[6:]]
            time.sleep(0.001)
        return found


def arrivals(send: Sequence[bytes], by: str, at: Sequence[str]) -> Counter[str]:
    """Sends frames by a device; how many arrived at each of others."""
    return Counter({name: len(arrived) for name, arrived in frames(send, by, at).items()})


def strays(send: Sequence[bytes], by: str, at: Sequence[str]) -> int:
    """Sends frames that nothing is to redirect by one end of a pair; how many arrived at others than the other end."""
    end = by.removeprefix("p") if by.startswith("p") else f"p{by}"
    found = frames(send, by, [end, *at])
    return sum(len(found[name]) for name in at)
