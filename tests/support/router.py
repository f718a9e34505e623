"""A router of one network namespace: frames into a device, and all that leaves, beside the kernel's own forwarding."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from support.own_datapaths import PATIENCE_S, drained, ip, pairs, receiver, sender

WAYS = ("e1", "e2", "e3")
HOST = bytes.fromhex("02000000aa01")
"""Address of the host that sends; those of the gateways end in the number of their way."""
SENTINEL = b"all that came before has been handled"
ICMPV6, DISCOVERY = 58, range(133, 138)
"""Messages by which neighbours and routers find each other (RFC 4861)."""
OWN = (ip_address("10.0.0.254").packed, ip_address("10.1.0.99").packed)
"""IPv4 addresses that the router itself sends from."""


def gateway(way: str, version: int = 4) -> str:
    """Address of the neighbour behind a way."""
    return f"10.9.{way[1:]}.2" if version == 4 else f"fd09:{way[1:]}::2"


def neighbour(way: str) -> bytes:
    """Its Ethernet address."""
    return bytes.fromhex("02000000bb") + bytes([int(way[1:])])


def set_up() -> None:
    """Devices `in`, `e1`, ..., with peers `pin`, ...; the kernel routes all that is behind them by `e1`."""
    pairs("in", *WAYS)
    for name in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
        _setting(name, "1")
    for name in ("net.ipv4.icmp_ratelimit", "net.ipv6.icmp.ratelimit", "net.ipv4.conf.all.rp_filter"):
        _setting(name, "0")
    ip("link", "set", "lo", "up")
    for way in ("in", *WAYS):
        # Link-local addresses are valid a second later, and then the kernel sends errors towards a link from them.
        _setting(f"net.ipv6.conf.{way}.addr_gen_mode", "1")
        _setting(f"net.ipv6.conf.{way}.disable_ipv6", "0")
        _setting(f"net.ipv4.conf.{way}.rp_filter", "0")
        _setting(f"net.ipv4.conf.{way}.send_redirects", "0")
    _addresses("in", "10.0.0.254/24", "fd00::fe/64")
    for address in ("10.0.0.1", "fd00::1", "fe80::5"):
        ip("neigh", "replace", address, "lladdr", HOST.hex(":"), "dev", "in", "nud", "permanent")
    for way in WAYS:
        _addresses(way, f"10.9.{way[1:]}.1/24", f"fd09:{way[1:]}::1/64")
        for version in (4, 6):
            address = gateway(way, version)
            ip("neigh", "replace", address, "lladdr", neighbour(way).hex(":"), "dev", way, "nud", "permanent")
    ip("route", "add", "10.1.0.0/16", "via", gateway("e1"), "dev", "e1")
    ip("route", "add", "fd01::/32", "via", gateway("e1", 6), "dev", "e1")


def device_address(device: str) -> bytes:
    """Ethernet address of a device."""
    with sender(device) as one:
        address: bytes = one.getsockname()[4]
        return address


@dataclass(frozen=True)
class Left:
    """A frame that the router sent."""

    by: str
    """Device."""
    to: bytes
    """Ethernet address that it was sent to, and from."""
    source: bytes
    packet: bytes
    """The rest, from the EtherType on. What the router says itself has neither number nor checksum: each differs."""


def resolved(frame: bytes, way: str) -> tuple[list[bytes], list[bytes]]:
    """Sends a frame whose gateway is not known, and answers when the router asks for it.

    Returns:
        What the router sends by the way before the answer, and after it.

    """
    before: list[bytes] = []
    after: list[bytes] = []
    answer = device_address(way) + neighbour(way) + struct.pack("!HHHBBH", 0x0806, 1, 0x0800, 6, 4, 2)
    answer += neighbour(way) + ip_address(gateway(way)).packed
    answer += device_address(way) + ip_address(gateway(way)[:-1] + "1").packed
    with receiver(f"p{way}") as ear, sender("pin") as out, sender(f"p{way}") as peer:
        out.send(frame)
        deadline = time.monotonic() + PATIENCE_S
        while not any(one[12:14] == b"\x08\x06" for one in before) and time.monotonic() < deadline:
            before += drained(ear)
            time.sleep(0.0005)
        peer.send(answer)
        while not any(one[12:14] == b"\x08\0" for one in after) and time.monotonic() < deadline:
            after += drained(ear)
            time.sleep(0.0005)
    return before, after


def sent(frames: Sequence[bytes], sentinel: bytes) -> list[list[Left]]:
    """What leaves for each frame. `sentinel` is sent behind each, and ends with `SENTINEL`; it is left out."""
    everything: list[list[Left]] = []
    with ExitStack() as stack:
        ears = {way: stack.enter_context(receiver(f"p{way}")) for way in ("in", *WAYS)}
        out = stack.enter_context(sender("pin"))
        for frame in frames:
            out.send(frame)
            out.send(sentinel)
            everything.append(_until_sentinel(ears))
    return everything


def _until_sentinel(ears: dict[str, socket.socket]) -> list[Left]:
    left: list[Left] = []
    deadline = time.monotonic() + PATIENCE_S
    while True:
        # What left before the sentinel may have come to an ear that was drained before that of the sentinel.
        sentinel_left = any(one.packet.rstrip(b"\0").endswith(SENTINEL) for one in left)
        for way, ear in ears.items():
            left += [Left(way, one[:6], one[6:12], _unnumbered(one[12:])) for one in drained(ear)]
        if sentinel_left:
            return [one for one in left if not one.packet.rstrip(b"\0").endswith(SENTINEL) and not _is_own(one)]
        assert time.monotonic() < deadline, left
        time.sleep(0.0005)


def _unnumbered(packet: bytes) -> bytes:
    if packet[:2] == b"\x08\x00" and packet[14:18] in OWN:
        return packet[:6] + bytes(2) + packet[8:12] + bytes(2) + packet[14:]
    return packet


def _is_own(one: Left) -> bool:
    """Whether the kernel says it of its own accord: neighbour and router discovery."""
    if one.packet[:2] == b"\x08\x06":
        return True
    if one.packet[:2] != b"\x86\xdd":
        return False
    discovery = one.packet[8] == ICMPV6 and one.packet[42] in DISCOVERY
    return discovery or one.packet[10:12] in (b"\xfe\x80", b"\0\0")


def ethernet(packet: bytes, to: bytes, ether_type: int = 0x0800) -> bytes:
    """A frame of the host."""
    return to + HOST + struct.pack("!H", ether_type) + packet


def v4(
    destination: str,
    payload: bytes,
    *,
    protocol: int = 17,
    source: str = "10.0.0.1",
    ttl: int = 64,
    flags: int = 0x4000,
    options: bytes = b"",
    length: int | None = None,
    sound: bool = True,
) -> bytes:
    """An IPv4 packet."""
    words = 5 + len(options) // 4
    bytes_ = 4 * words + len(payload) if length is None else length
    header = struct.pack("!BBHHHBBH", 0x40 + words, 0, bytes_, 7, flags, ttl, protocol, 0)
    header += ip_address(source).packed + ip_address(destination).packed + options
    total = sum(struct.unpack(f"!{2 * words}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + struct.pack("!H", 0xFFFF - total if sound else 0x1234) + header[12:] + payload


def v6(
    destination: str,
    payload: bytes,
    *,
    following: int = 17,
    source: str = "fd00::1",
    hops: int = 64,
    length: int | None = None,
) -> bytes:
    """An IPv6 packet."""
    bytes_ = len(payload) if length is None else length
    ends = ip_address(source).packed + ip_address(destination).packed
    return struct.pack("!IHBB", 6 << 28, bytes_, following, hops) + ends + payload


def udp(payload: bytes = b"", source_port: int = 1000) -> bytes:
    """A datagram without a checksum."""
    return struct.pack("!HHHH", source_port, 443, 8 + len(payload), 0) + payload


def _addresses(device: str, *addresses: str) -> None:
    for address in addresses:
        ip("addr", "add", address, "dev", device, *(["nodad"] if ":" in address else []))


def _setting(name: str, value: str) -> None:
    Path("/proc/sys", *name.split(".")).write_text(value)
