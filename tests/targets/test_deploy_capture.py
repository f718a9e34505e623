"""Where a plan sends the packets of a capture, against where a real Open vSwitch sends the same frames."""

from __future__ import annotations

import json
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import pytest

from anabranch.targets.ovs.daemons import OpenVSwitch
from support.command import anabranch
from support.dummy_switch import BRIDGE, PATIENCE_S, dummy_switch
from support.egress_captures import numbers

TCP, UDP, ICMP, SCTP, AH, FRAGMENT, OPTIONS = 6, 17, 1, 132, 51, 44, 60
PLAN = """
seed = {seed}

[[group]]
name = "everything"
match = {{}}
ports = ["p1", "p2", "p3"]
weights = [4, 3, 2]
recipe = "{recipe}"
"""


@pytest.fixture(scope="module")
def switch() -> Iterator[OpenVSwitch]:
    with dummy_switch() as started:
        yield started


def ethernet(number: int, kind: int, packet: bytes, *tags: int) -> bytes:
    """Frame whose Ethernet source is `number`, padded to the least length."""
    header = bytes.fromhex("020000000001") + number.to_bytes(6, "big")
    for tag in tags:
        header += struct.pack("!HH", tag, 5)
    return (header + struct.pack("!H", kind) + packet).ljust(60, b"\0")


def ipv4(host: int, protocol: int, payload: bytes, flags_offset: int = 0) -> bytes:
    ends = IPv4Address("10.0.0.1").packed + IPv4Address(0x0A010000 + host).packed
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), host, flags_offset, 64, protocol, 0) + ends
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + struct.pack("!H", 0xFFFF - total) + header[12:] + payload


def ipv6(host: int, following: int, payload: bytes) -> bytes:
    ends = IPv6Address("fd00::1").packed + IPv6Address((0xFD01 << 112) + host).packed
    return struct.pack("!IHBB", 0x6000_0000, len(payload), following, 64) + ends + payload


def transport(protocol: int, host: int) -> bytes:
    """A header of `protocol` whose source port is 1000 + `host`, and some bytes."""
    ports = struct.pack("!HH", 1000 + host, 443)
    match protocol:
        case 6:
            return ports + bytes(8) + b"\x50\x02\x04\x00" + bytes(4)
        case 17:
            return ports + struct.pack("!HH", 16, 0) + bytes(8)
        case 1:
            return bytes([8, 0, 0, 0]) + bytes(12)
    return ports + bytes(8) + bytes(4)


def authenticated(protocol: int, host: int) -> bytes:
    return bytes([protocol, 1, 0, 0]) + bytes(8) + transport(protocol, host)


def fragment6(protocol: int, host: int, offset_more: int, payload: bytes) -> bytes:
    return struct.pack("!BBHI", protocol, 0, offset_more, host) + payload


def frames() -> list[tuple[str, bytes]]:
    """Frames of many connections, each with the words that `explain` has for its headers."""
    made: list[tuple[str, int, bytes, tuple[int, ...]]] = []
    for host in range(1, 13):
        for protocol in (TCP, UDP, SCTP):
            there = 64 * host + protocol
            whole = transport(protocol, there)
            made.append(("", 0x0800, ipv4(there, protocol, whole), ()))
            made.append(("", 0x0800, ipv4(there, protocol, whole), (0x8100,)))
            made.append(("first fragments", 0x0800, ipv4(there, protocol, whole + bytes(4), 0x2000), ()))
            made.append(("later fragments", 0x0800, ipv4(there, protocol, b"later   ", 3), ()))
            made.append(("authentication header", 0x0800, ipv4(there, AH, authenticated(protocol, there)), ()))
            made.append(("stacked VLAN tags", 0x0800, ipv4(there, protocol, whole), (0x88A8, 0x8100)))
            label = struct.pack("!I", (100 + host) << 12 | 1 << 8 | 64)
            made.append(("MPLS", 0x8847, label + ipv4(there, protocol, whole), ()))
            first6 = fragment6(protocol, there, 1, whole)
            later6 = fragment6(protocol, there, 3 << 3, b"later   ")
            made.append(("", 0x86DD, ipv6(there, protocol, whole), ()))
            made.append(("first fragments", 0x86DD, ipv6(there, FRAGMENT, first6), ()))
            made.append(("later fragments", 0x86DD, ipv6(there, FRAGMENT, later6), ()))
            options = bytes([protocol, 0, 1, 4, 0, 0, 0, 0])
            made.append(("extension headers", 0x86DD, ipv6(there, OPTIONS, options + whole), ()))
            made.append(("authentication header", 0x86DD, ipv6(there, AH, authenticated(protocol, there)), ()))
        ping = 64 * host + ICMP
        made.append(("later fragments", 0x0800, ipv4(ping, ICMP, b"later   ", 3), ()))
    numbered = enumerate(made, 1)
    return [(words, ethernet(number, kind, packet, *tags)) for number, (words, kind, packet, tags) in numbered]


def pcap(frames: list[bytes]) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack("<IIII", 0, 0, len(one), len(one)) + one for one in frames)


def sent(switch: OpenVSwitch, folder: Path, frames: list[bytes], missing: int) -> dict[int, int]:
    """The port by which each frame from p4 left, all but `missing` of them."""
    captures = {port: folder / f"p{port}.pcap" for port in (1, 2, 3)}
    for port, file in captures.items():
        switch.vsctl("set", "interface", f"p{port}", f"options:tx_pcap={file}")
    try:
        for frame in frames:
            switch.appctl("netdev-dummy/receive", "p4", frame.hex())
        deadline, left = time.monotonic() + PATIENCE_S, dict[int, int]()
        while len(left) < len(frames) - missing and time.monotonic() < deadline:
            time.sleep(0.05)
            left = {number: port for port, file in captures.items() for number in numbers(file.read_bytes())}
    finally:
        for port in captures:
            switch.vsctl("clear", "interface", f"p{port}", "options")
    return left


def explained(plan: Path, capture: Path) -> list[dict[str, Any]]:
    run = anabranch("explain", "--file", str(capture), "--plan", str(plan), "--json", "-")
    found: list[dict[str, Any]] = json.loads(run.stdout)["connections"]
    assert run.returncode == (0 if all(one["known"] for one in found) else 3), run.stderr
    return found


@pytest.mark.parametrize("recipe", ["hash-gravity", "dp_hash", "default", "multipath"])
def test_fragments_authentication_tags_and_labels_go_where_it_is_said(
    switch: OpenVSwitch, tmp_path: Path, recipe: str
) -> None:
    plan, capture = tmp_path / "plan.toml", tmp_path / "frames.pcap"
    plan.write_text(PLAN.format(recipe=recipe, seed=3))
    assert anabranch("apply", str(plan), "--openflow", switch.openflow(BRIDGE)).returncode == 0
    made = frames()
    outside = [words in ("stacked VLAN tags", "MPLS") for words, _ in made]
    left = sent(switch, tmp_path, [frame for _, frame in made], sum(outside))
    # One capture for each kind of headers and version, so that the order of connections is that of the frames.
    wrong = defaultdict(list)
    answers = Counter[str]()
    for kind in sorted({(words, frame[12:14]) for words, frame in made}):
        chosen = [(number, frame) for number, (words, frame) in enumerate(made, 1) if (words, frame[12:14]) == kind]
        capture.write_bytes(pcap([frame for _, frame in chosen]))
        found = explained(plan, capture)
        assert len(found) == len(chosen), kind
        for (number, _), one in zip(chosen, found, strict=True):
            answers[one["outcome"]] += 1
            real = left.get(number)
            if one["known"] and one["outcome"] != ("others decide" if real is None else f"p{real}"):
                wrong[kind].append((one["connection"], one["outcome"], real))
            # dp_hash alone reads there, of TCP and UDP, what neither a 5-tuple nor the words tell.
            is_unknown = recipe == "dp_hash" and kind[0] == "extension headers" and ",sctp," not in one["connection"]
            assert one["known"] != is_unknown, one["connection"]
            assert one["connection"].endswith(f" ({kind[0]})") == bool(kind[0])
    assert not wrong, dict(wrong)
    unknown = "not known without the number of the first extension header"
    assert answers.keys() - {unknown} == {"p1", "p2", "p3", "others decide"}
    assert answers["others decide"] == sum(outside)


def test_plan_counts_what_no_rule_takes_and_split_what_there_is(tmp_path: Path) -> None:
    capture = tmp_path / "frames.pcap"
    made = frames()
    capture.write_bytes(pcap([frame for _, frame in made]))
    kinds = Counter(words for words, _ in made)
    outside = kinds["stacked VLAN tags"] + kinds["MPLS"]
    run = anabranch("plan", "--weights", "4,3,2", "--trace", str(capture), "--json", "-")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    recipes = {one["name"]: one["on_trace"] for target in found["targets"] for one in target["recipes"]}
    # Tagged once, a packet is of the connection that has none.
    total = found["trace"]["connections"]
    assert total == len(made) - sum(bytes.fromhex("81000005") in frame[:16] for _, frame in made)
    unknown = sum(words == "extension headers" for words, _ in made) * 2 // 3
    for name, missing in {"hash-gravity": 0, "multipath": 0, "dp_hash": unknown}.items():
        assert recipes[name]["outside_connections"] == outside, name
        assert recipes[name]["unknown_connections"] == missing, name
        assert sum(recipes[name]["connections"]) == total - outside - missing, name
    with_headers = sum(kinds.values()) - kinds[""]
    assert recipes["min-move:slots=4096"]["unknown_connections"] == with_headers
    shown = anabranch("plan", "--weights", "4,3,2", "--trace", str(capture)).stdout
    assert f"without {outside} of these connections: stacked VLAN tags or MPLS" in shown
    line = "".join(anabranch("split", str(capture), "--weights", "4,3,2").stdout.splitlines()[:4])
    for said in (
        f"{kinds['later fragments']} later fragments",
        f"{kinds['authentication header']} authenticated",
        f"{kinds['stacked VLAN tags']} stacked tags",
        f"{kinds['MPLS']} mpls",
    ):
        assert said in line, line
