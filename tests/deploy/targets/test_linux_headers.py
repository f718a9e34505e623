"""What a real kernel hashes of packets with other headers around their 5-tuple, and what is said of it beforehand.

Its hash has a key that nobody knows, so no single path is compared: packets whose hashed fields are the same must take
one path, for each of many hosts, and others another path for some of them.
"""

from __future__ import annotations

import json
import struct
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from anabranch.deploy.targets.linux.explain import Predicted, explain
from anabranch.deploy.targets.plan.captured import captured
from anabranch.deploy.targets.plan.explanation import untyped
from anabranch.split.trace import read_trace
from support.command import anabranch
from support.header_frames import (
    DCCP,
    ESP,
    ICMP,
    IPV4,
    KINDS,
    RECEIVER,
    SCTP,
    TCP,
    UDP,
    UDP_LITE,
    Framed,
    framed,
    ipv4,
    pcap,
)
from support.own_datapaths import drained, ip, receiver, sender
from support.own_namespace import in_own_namespace

PATIENCE_S = 60.0
PORTS = ("e1", "e2", "e3")
GATEWAY = bytes.fromhex("020000000063")
PLAN = """\
[[group]]
name = "four"
match = { ip_dst = "10.1.0.0/16" }
ports = ["e1", "e2", "e3"]
gateways = ["10.9.1.2", "10.9.2.2", "10.9.3.2"]
weights = [4, 3, 2]
recipe = "mpath"

[[group]]
name = "six"
match = { ip_dst = "fd01::/32" }
ports = ["e1", "e2", "e3"]
gateways = ["fd09:1::2", "fd09:2::2", "fd09:3::2"]
weights = [4, 3, 2]
recipe = "mpath"
"""
DROPPED = ("4 tagged", "4 stacked", "4 old tag", "4 three tags", "4 mpls", "6 stacked")
WHOLE4, PIECES4 = {"4 whole", "4 swapped ports", "4 priority"}, {"4 first", "4 later"}
AH4 = {"4 ah", "4 ah, other ports", "4 ah, other SPI"}
INSIDE = {"4 tunnel", "4 tunnel, other inside"}
PIECES6, AH6 = {"6 first", "6 later", "6 atomic"}, {"6 ah", "6 ah, other SPI"}
TOGETHER: dict[int, list[set[str]]] = {
    0: [
        WHOLE4 | PIECES4 | AH4 | INSIDE | {"4 GRE"},
        *({"6 whole"}, {"6 label"}, PIECES6 | {"6 options behind"}, {"6 options"}, AH6),
    ],
    1: [
        *(WHOLE4, PIECES4, {"4 ah", "4 ah, other ports"}, {"4 ah, other SPI"}, INSIDE, {"4 GRE"}),
        {"6 whole", "6 label", "6 options"},
        *(PIECES6, {"6 options behind"}, {"6 ah"}, {"6 ah, other SPI"}),
    ],
    2: [
        *(WHOLE4 | PIECES4 | AH4, {"4 tunnel", "4 GRE"}, {"4 tunnel, other inside"}),
        *({"6 whole", "6 options"} | PIECES6, {"6 label"}, {"6 options behind"}, AH6),
    ],
    3: [
        *(WHOLE4 | PIECES4, AH4, INSIDE, {"4 GRE"}),
        *({"6 whole", "6 label", "6 options"} | PIECES6, {"6 options behind"}, AH6),
    ],
}
"""Kinds whose packets of one connection take one path, by policy: the table of docs/deploy-linux.md."""
UNTOLD = {0: (ICMP,), 1: (DCCP, UDP_LITE, ESP)}
"""Protocols of which a capture lacks something that is hashed of a whole packet, by policy."""


def setting(name: str, value: object) -> None:
    Path("/proc/sys/net", name).write_text(str(value))


def router(folder: Path) -> Path:
    """Makes this namespace a router from `pin` to the far ends of three devices, by an applied plan; its file."""
    if not Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6")
    ip("link", "set", "lo", "up")
    for name, value in (
        *(("ipv4/ip_forward", 1), ("ipv6/conf/all/forwarding", 1), ("ipv6/conf/default/accept_dad", 0)),
        *(("ipv4/conf/all/rp_filter", 0), ("ipv4/conf/default/rp_filter", 0)),
    ):
        setting(name, value)
    for name in ("in", *PORTS):
        ip("link", "add", name, "type", "veth", "peer", "name", f"p{name}")
        setting(f"ipv6/conf/p{name}/disable_ipv6", 1)
        for end in (name, f"p{name}"):
            ip("link", "set", end, "up")
    ip("link", "set", "in", "address", RECEIVER.hex(":"))
    for number, name in enumerate(PORTS, 1):
        for network, bits in ((f"10.9.{number}.", 24), (f"fd09:{number}::", 64)):
            ip("addr", "add", f"{network}1/{bits}", "dev", name)
            ip("neigh", "add", f"{network}2", "lladdr", GATEWAY.hex(":"), "dev", name)
    plan = folder / "plan.toml"
    plan.write_text(PLAN)
    applied = anabranch("apply", str(plan), "--target", "linux")
    assert applied.returncode == 0, applied.stderr
    return plan


def policy(number: int) -> None:
    for version in (4, 6):
        setting(f"ipv{version}/fib_multipath_hash_policy", number)


def routed(frames: Sequence[bytes], arriving: int) -> dict[int, str]:
    """The device by which each packet left, by its last bytes; those that are dropped are to be sent first."""
    left: dict[int, str] = {}
    with ExitStack() as stack:
        ears = {port: stack.enter_context(receiver(f"p{port}")) for port in PORTS}
        with sender("pin") as out:
            for frame in frames:
                out.send(frame)
        deadline = time.monotonic() + PATIENCE_S
        while len(left) < arriving and time.monotonic() < deadline:
            time.sleep(0.001)
            for port, ear in ears.items():
                left |= {int.from_bytes(data[-4:], "big"): port for data in drained(ear) if data[:6] == GATEWAY}
    assert len(left) == arriving
    return left


def told(plan: Path, capture: Path, frames: Sequence[Framed]) -> list[Predicted]:
    capture.write_bytes(pcap(one.frame for one in frames))
    trace = read_trace(capture, direction="each-headers")
    tuples = captured(trace)
    tuples[["source_port", "destination_port"]] = untyped(trace.tuples)[["source_port", "destination_port"]]
    found = explain(str(plan), tuples)
    assert len(found) == len(frames)
    return found


def partition(paths: Mapping[str, tuple[object, ...]]) -> set[frozenset[str]]:
    """Kinds by what they have in common."""
    found = defaultdict(set)
    for kind, one in paths.items():
        found[one].add(kind)
    return {frozenset(kinds) for kinds in found.values()}


@in_own_namespace
def test_what_has_the_same_hashed_fields_takes_one_path_and_other_fields_another(tmp_path: Path) -> None:
    plan = router(tmp_path)
    protocols, hosts = (TCP, UDP, SCTP, DCCP, UDP_LITE, ESP, ICMP), range(1, 25)
    frames = framed([*DROPPED, *(kind for kind in KINDS if kind not in DROPPED)], hosts, protocols)
    arriving = sum(one.kind not in DROPPED for one in frames)
    by_kind = {kind: [one for one in frames if one.kind == kind] for kind in KINDS}
    for number, together in TOGETHER.items():
        policy(number)
        left = routed([one.frame for one in frames], arriving)
        said = {kind: told(plan, tmp_path / "kind.pcap", some) for kind, some in by_kind.items()}
        one_way = defaultdict(set)
        for kind, some in by_kind.items():
            for frame, one in zip(some, said[kind], strict=True):
                real = left.get(frame.number)
                # A capture has no word for one tag: such a packet is answered as one that a VLAN's device has taken.
                assert (one.outcome == "others decide") == (real is None and kind != "4 tagged"), (number, one)
                assert one.known == (one.outcome == "others decide")
                if one.hashed is not None and real is not None:
                    one_way[one.hashed].add(real)
        assert all(len(ways) == 1 for ways in one_way.values()), number
        for index, protocol in enumerate(protocols):
            mine = slice(index, None, len(protocols))
            forwarded = {kind: some[mine] for kind, some in by_kind.items() if kind not in DROPPED}
            paths = {kind: tuple(left[one.number] for one in some) for kind, some in forwarded.items()}
            wanted = together
            if protocol == ICMP and number == 1:
                # It has no ports that fragments could lack.
                whole, pieces, *ah4, six, pieces6, behind, ah6, other = together
                wanted = [whole | pieces, *ah4, six | pieces6, behind, ah6, other]
            assert partition(paths) == {frozenset(kinds) for kinds in wanted}, (number, protocol)
            # And what is said tells the same kinds apart, where a capture has all of the fields.
            fields = {kind: tuple(one.hashed for one in said[kind][mine]) for kind in forwarded}
            full = {kind: tuple(texts) for kind, texts in fields.items() if None not in texts}
            assert partition(full) == {found for kinds in wanted if (found := frozenset(kinds & full.keys()))}
            assert ("4 whole" in full) == (protocol not in UNTOLD.get(number, ())), (number, protocol)


@in_own_namespace
def test_a_message_about_a_packet_goes_by_the_addresses_of_that_packet_under_policy_0(tmp_path: Path) -> None:
    router(tmp_path)
    hosts = range(1, 25)
    frames = framed(["4 whole"], hosts, [UDP])
    answers = []
    for number, host in enumerate(hosts, len(frames) + 1):
        there = 256 * host + UDP
        # The packet that could not be delivered came from that host.
        about = ipv4(there, UDP, struct.pack("!HHHH", 443, 1000 + there, 8, 0))
        about = about[:12] + about[16:20] + about[12:16] + about[20:]
        message = ipv4(there, ICMP, bytes([3, 1]) + bytes(6) + about + number.to_bytes(4, "big"), source="10.0.0.7")
        answers.append(RECEIVER + number.to_bytes(6, "big") + struct.pack("!H", IPV4) + message)
    alike = []
    for number in (0, 1):
        policy(number)
        left = routed([*(one.frame for one in frames), *answers], 2 * len(hosts))
        alike.append([left[one.number] for one in frames] == [left[len(hosts) + one.number] for one in frames])
    assert alike == [True, False]


@in_own_namespace
def test_the_command_line_says_what_is_hashed_and_that_no_path_is_known(tmp_path: Path) -> None:
    plan, capture = router(tmp_path), tmp_path / "kind.pcap"
    policy(1)
    capture.write_bytes(pcap(one.frame for one in framed(["4 first", "4 ah", "6 whole"], [1], [TCP])))
    run = anabranch("explain", "--file", str(capture), "--plan", str(plan), "--target", "linux", "--json", "-")
    assert run.returncode == 3
    first, hidden, six = json.loads(run.stdout)["connections"]
    assert (first["group"], first["hashed"]) == ("four", "10.0.0.1 10.1.1.6, protocol 6, no ports")
    assert (hidden["hashed"], six["hashed"]) == (None, "fd00::1 fd01::106, protocol 6, ports 443 1262")
    assert dict(hidden["steps"])["hashed"].startswith("10.0.0.1 10.1.1.6, protocol 51, SPI not in a capture (")
    typed = "10.0.0.1,10.1.1.6,icmp,8,0", "10.0.0.1,10.1.1.6,136,5,6", "10.0.0.1,10.1.1.6,136"
    said = anabranch("explain", *typed, "--plan", str(plan), "--target", "linux", "--json", "-").stdout
    fields = [one["hashed"] for one in json.loads(said)["connections"]]
    assert fields == ["10.0.0.1 10.1.1.6, protocol 1, no ports", "10.0.0.1 10.1.1.6, protocol 136, ports 5 6", None]
    elsewhere = anabranch("explain", "10.0.0.1,10.2.0.1,tcp,1,2", "--plan", str(plan), "--target", "linux")
    assert (elsewhere.returncode, "others decide" in elsewhere.stdout) == (0, True)
