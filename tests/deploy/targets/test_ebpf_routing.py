"""Packets that a datapath routes, against what the kernel's own forwarding makes of the same packets."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import IO

import pytest

from anabranch.deploy.targets.ebpf.observe import observe
from anabranch.deploy.targets.ebpf.plan_file import FORM
from anabranch.deploy.targets.ebpf.restore import restore
from support import router
from support.command import Run, anabranch
from support.header_frames import KINDS, framed
from support.own_datapaths import PATIENCE_S, ip, with_own_datapaths
from support.router import SENTINEL, Left, ethernet, gateway, neighbour, udp, v4, v6

PLAN = """\
seed = 7

[switch]
dev = ["in"]

[[group]]
name = "v4"
match = { ip_dst = ["10.1.0.0/16"] }
output = "route"
ports = ["e2", "e3"]
gateways = ["10.9.2.2", "10.9.3.2"]
weights = [3, 1]

[[group]]
name = "v6"
match = { ip_dst = ["fd01::/32"] }
output = "route"
ports = ["e2", "e3"]
gateways = ["fd09:2::2", "fd09:3::2"]
weights = [3, 1]
"""


def on_kernel(verb: str, plan: Path, *options: str) -> Run:
    return anabranch(verb, str(plan), "--target", "ebpf", *options)


def said(run: Run) -> str:
    """What it printed, in one line."""
    return " ".join(run.stdout.split())


def applied(folder: Path, text: str = PLAN) -> Path:
    plan = folder / "plan.toml"
    plan.write_text(text)
    run = on_kernel("apply", plan)
    assert run.returncode == 0, run.stdout + run.stderr
    return plan


def odd_packets(to: bytes) -> dict[str, bytes]:
    """Frames that a router must not simply pass on, by what is odd."""
    big = bytes(1600)
    return {
        "4 TTL 1": ethernet(v4("10.1.0.9", udp(), ttl=1), to),
        "4 TTL 0": ethernet(v4("10.1.0.9", udp(), ttl=0), to),
        "4 options": ethernet(v4("10.1.0.9", udp(), options=b"\x01\x01\x01\x00"), to),
        "4 options that say nothing": ethernet(v4("10.1.0.9", udp(), options=bytes(4)), to),
        "4 record route": ethernet(v4("10.1.0.9", udp(), options=b"\x07\x07\x04" + bytes(5)), to),
        "4 wrong checksum": ethernet(v4("10.1.0.9", udp(), sound=False), to),
        "4 cut": ethernet(v4("10.1.0.9", udp(bytes(40)), length=400), to),
        "4 length below a header": ethernet(v4("10.1.0.9", udp(), length=19), to),
        "4 from loopback": ethernet(v4("10.1.0.9", udp(), source="127.0.0.1"), to),
        "4 from nowhere": ethernet(v4("10.1.0.9", udp(), source="0.0.0.0"), to),
        "4 from many": ethernet(v4("10.1.0.9", udp(), source="224.0.0.5"), to),
        "4 too large": ethernet(v4("10.1.0.9", udp(big)), to),
        "4 too large, may be cut": ethernet(v4("10.1.0.9", udp(big), flags=0), to),
        "4 to the machine": ethernet(v4("10.1.0.99", udp()), to),
        "4 prohibited": ethernet(v4("10.1.9.9", udp()), to),
        "4 swallowed": ethernet(v4("10.1.8.9", udp()), to),
        "4 to another station": ethernet(v4("10.1.0.9", udp()), bytes.fromhex("02000000cc01")),
        "4 in a tag": to + router.HOST + b"\x81\x00\x00\x05\x08\x00" + v4("10.1.0.9", udp()),
        "6 hop limit 1": ethernet(v6("fd01::9", udp(), hops=1), to, 0x86DD),
        "6 hop-by-hop": ethernet(v6("fd01::9", b"\x11\0\x01\x04\0\0\0\0" + udp(), following=0), to, 0x86DD),
        "6 cut": ethernet(v6("fd01::9", udp(bytes(40)), length=400), to, 0x86DD),
        "6 from a link": ethernet(v6("fd01::9", udp(), source="fe80::5"), to, 0x86DD),
        "6 from many": ethernet(v6("fd01::9", udp(), source="ff02::5"), to, 0x86DD),
        "6 too large": ethernet(v6("fd01::9", udp(big)), to, 0x86DD),
        "6 to the machine": ethernet(v6("fd01::99", udp()), to, 0x86DD),
    }


def plain_packets(to: bytes) -> dict[str, bytes]:
    """Frames of other headers that a router passes on, by kind."""
    kinds = [kind for kind in KINDS if not any(word in kind for word in ("tag", "stacked", "priority", "mpls"))]
    frames = {f"{one.kind} {one.number}": to + router.HOST + one.frame[12:] for one in framed(kinds, [1, 2])}
    frames["4 TTL 2"] = ethernet(v4("10.1.0.9", udp(), ttl=2), to)
    frames["6 hop limit 2"] = ethernet(v6("fd01::9", udp(), hops=2), to, 0x86DD)
    frames["4 as large as the link"] = ethernet(v4("10.1.0.9", udp(bytes(1472))), to)
    return frames


def content(left: list[Left]) -> list[bytes]:
    """What left, whichever way, without the bytes that pad a short frame."""
    return sorted(one.packet.rstrip(b"\0") for one in left)


@with_own_datapaths
def test_a_routed_packet_is_what_the_kernel_makes_of_it_and_the_rest_is_the_kernels(tmp_path: Path) -> None:
    router.set_up()
    for device in router.WAYS:
        ip("link", "set", device, "mtu", "1500")
    ip("link", "set", "in", "mtu", "2000")
    ip("link", "set", "pin", "mtu", "2000")
    ip("addr", "add", "10.1.0.99/32", "dev", "lo")
    ip("addr", "add", "fd01::99/128", "dev", "lo", "nodad")
    ip("route", "add", "prohibit", "10.1.9.0/24")
    ip("route", "add", "blackhole", "10.1.8.0/24")
    to = router.device_address("in")
    sentinel = ethernet(v4("10.1.0.9", udp(SENTINEL)), to)
    odd, plain = odd_packets(to), plain_packets(to)
    frames = list((odd | plain).values())
    kernels = router.sent(frames, sentinel)
    # The kernel's own route is by e1, the plan's ways are the others.
    applied(tmp_path)
    ours = router.sent(frames, sentinel)
    for name, before, after in zip(odd | plain, kernels, ours, strict=True):
        assert content(before) == content(after), name
        if name in odd:
            assert before == after, name
            continue
        (one,) = after
        assert one.by in ("e2", "e3"), name
        assert (one.to, one.source) == (neighbour(one.by), router.device_address(one.by)), name


@with_own_datapaths
def test_new_weights_move_the_fewest_and_counters_have_what_was_routed(tmp_path: Path) -> None:
    router.set_up()
    to = router.device_address("in")
    frames = [ethernet(v4(f"10.1.{n // 250}.{1 + n % 250}", udp(source_port=1000 + n)), to) for n in range(800)]
    frames += [ethernet(v6(f"fd01::{1 + n:x}", udp(source_port=1000 + n)), to, 0x86DD) for n in range(800)]
    sentinel = ethernet(v4("10.1.0.9", udp(SENTINEL)), to)

    def ways() -> list[str]:
        return [one.by for (one,) in router.sent(frames, sentinel)]

    plan = applied(tmp_path)
    first = ways()
    assert Counter(first)["e2"] == pytest.approx(1200, abs=5 * (1600 * 0.75 * 0.25) ** 0.5)
    assert ways() == first
    shown = on_kernel("verify", plan, "--seconds", "0.01").stdout
    assert "no packet came" in shown
    plan = applied(tmp_path, PLAN.replace("weights = [3, 1]", "weights = [1, 1]"))
    then = ways()
    # A quarter of all goes from e2 to e3, and nothing the other way.
    assert ("e3", "e2") not in Counter(zip(first, then, strict=True))
    assert Counter(then)["e2"] == pytest.approx(800, abs=5 * 20)
    assert on_kernel("diff", plan).returncode == 0
    assert on_kernel("remove", plan).returncode == 0
    assert set(ways()) == {"e1"}


@with_own_datapaths
def test_every_scheme_that_redirects_routes(tmp_path: Path) -> None:
    router.set_up()
    to = router.device_address("in")
    sentinel = ethernet(v4("10.1.0.9", udp(SENTINEL)), to)
    frames = [ethernet(v4("10.1.0.9", udp(source_port=1000 + n)), to) for n in range(60)]
    for scheme in ("valo", "log-rendezvous", "scoring", "letflow", "weighted-presto", "weighted-spray", "dbb", "spray"):
        # Sentinels take turns too: of three turns, packets and sentinels have all.
        weights = "" if scheme in ("letflow", "spray") else "weights = [2, 1]\n"
        applied(tmp_path, f'scheme = "{scheme}"\n' + PLAN.replace("weights = [3, 1]\n", weights))
        left = [one for (one,) in router.sent(frames, sentinel)]
        assert {one.by for one in left} == {"e2", "e3"}, scheme
        assert all(one.to == neighbour(one.by) for one in left), scheme


@with_own_datapaths
def test_ipv4_goes_to_a_neighbour_of_ipv6(tmp_path: Path) -> None:
    router.set_up()
    to = router.device_address("in")
    text = PLAN.replace('["10.9.2.2", "10.9.3.2"]', '["fd09:2::2", "fd09:3::2"]')
    applied(tmp_path, text)
    sentinel = ethernet(v4("10.1.0.9", udp(SENTINEL)), to)
    ((one,),) = router.sent([ethernet(v4("10.1.0.9", udp()), to)], sentinel)
    assert (one.by in ("e2", "e3"), one.to) == (True, neighbour(one.by))


@with_own_datapaths
def test_a_packet_waits_until_its_gateway_has_answered(tmp_path: Path) -> None:
    router.set_up()
    to = router.device_address("in")
    applied(tmp_path, PLAN.replace("weights = [3, 1]", "weights = [1, 0]"))
    ip("neigh", "del", gateway("e2"), "dev", "e2")
    packet = v4("10.1.0.9", udp(b"a packet that waits for its neighbour"))
    before, after = router.resolved(ethernet(packet, to), "e2")
    # An ARP request for the gateway, and then the packet, which has come a hop further.
    assert {one[12:14] for one in before} == {b"\x08\x06"}
    (passed,) = [one for one in after if one[12:14] == b"\x08\0"]
    assert (passed[:6], passed[14 + 8], passed[14 + 12 :]) == (neighbour("e2"), 63, packet[12:])


@with_own_datapaths
def test_a_silent_gateway_is_masked_and_named(tmp_path: Path) -> None:
    router.set_up()
    to = router.device_address("in")
    ip("neigh", "del", gateway("e2"), "dev", "e2")
    # The kernel asks, and nobody answers.
    ip("neigh", "replace", gateway("e2"), "dev", "e2", "nud", "failed")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    run = on_kernel("apply", plan)
    assert run.returncode == 0, run.stderr
    assert "group v4: masked without an answer: 10.9.2.2 on e2; in force are e3 100 %" in said(run)
    sentinel = ethernet(v4("10.1.0.9", udp(SENTINEL)), to)
    frames = [ethernet(v4("10.1.0.9", udp(source_port=1000 + n)), to) for n in range(50)]
    assert {one.by for (one,) in router.sent(frames, sentinel)} == {"e3"}
    for way in ("e2", "e3"):
        ip("link", "set", way, "down")
    run = on_kernel("apply", plan)
    assert "none lives that should carry some: its packets are left to the kernel's own routes" in said(run)
    assert {one.by for (one,) in router.sent(frames, sentinel)} == {"e1"}
    explained = anabranch("explain", "10.0.0.1,10.1.0.9,udp,1000,443", "--plan", str(plan), "--target", "ebpf")
    assert "none, left to the kernel: every path is masked" in said(explained)


@with_own_datapaths
def test_a_gateway_that_falls_silent_is_followed_and_comes_back(tmp_path: Path) -> None:
    router.set_up()
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    command = [sys.executable, "-m", "anabranch", "apply", str(plan), "--target", "ebpf", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1) as following:
        assert following.stdout is not None
        try:
            _await(following.stdout, "following the links of e2, e3")
            ip("neigh", "replace", gateway("e2"), "dev", "e2", "nud", "failed")
            _await(following.stdout, "10.9.2.2 on e2 does not answer")
            _await(following.stdout, "~+ group v4 10.1.0.0/16 -> route seed=7: e2 via 10.9.2.2 weight=3 down")
            ip("neigh", "replace", gateway("e2"), "lladdr", neighbour("e2").hex(":"), "dev", "e2", "nud", "permanent")
            _await(following.stdout, "10.9.2.2 on e2 answers")
            _await(following.stdout, "~+ group v4 10.1.0.0/16 -> route seed=7: e2 via 10.9.2.2 weight=3, e3")
        finally:
            following.send_signal(signal.SIGTERM)
        following.communicate(timeout=PATIENCE_S)
        assert following.returncode == 0


@with_own_datapaths
def test_what_the_kernel_forwards_no_more_is_named_while_it_is_followed(tmp_path: Path) -> None:
    router.set_up()
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    forwarding = Path("/proc/sys/net/ipv4/conf/in/forwarding")
    command = [sys.executable, "-m", "anabranch", "apply", str(plan), "--target", "ebpf", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1) as following:
        assert following.stdout is not None
        try:
            _await(following.stdout, "following the links of e2, e3")
            way = ("10.1.0.0/16", "via", gateway("e1"), "dev", "e1")
            ip("route", "del", *way)
            _await(following.stdout, "group v4: 10.1.0.0/16: the kernel has no route there")
            ip("route", "add", *way)
            _await(following.stdout, "no more: group v4: 10.1.0.0/16: the kernel has no route there")
            forwarding.write_text("0")
            _await(following.stdout, "in: the kernel forwards no IPv4 from there (net.ipv4.conf.in.forwarding)")
            forwarding.write_text("1")
            _await(following.stdout, "no more: in: the kernel forwards no IPv4 from there")
        finally:
            following.send_signal(signal.SIGTERM)
        following.communicate(timeout=PATIENCE_S)
        assert following.returncode == 0


def _await(lines: IO[str], words: str) -> None:
    """Reads up to the line that has these words."""
    for line in lines:
        if words in line:
            return
    pytest.fail(f"it ended without {words!r}")


@with_own_datapaths
def test_a_routing_datapath_can_be_put_back_as_it_was(tmp_path: Path) -> None:
    router.set_up()
    plan = FORM.read(str(applied(tmp_path)))
    with observe(plan, writes=False) as observed:
        assert observed.state is not None
        restored = restore(observed)
        assert restored is not None
        assert restored.kernel_groups == list(observed.state.groups)
        assert [str(one) for one in restored.kernel_groups[0].gateways] == ["10.9.2.2", "10.9.3.2"]


@with_own_datapaths
def test_what_the_kernel_would_not_forward_is_said_before(tmp_path: Path) -> None:
    router.set_up()
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace('"10.1.0.0/16"', '"10.7.0.0/16"'))
    run = on_kernel("apply", plan)
    assert run.returncode == 0, run.stderr
    assert "group v4: 10.7.0.0/16: the kernel has no route there" in said(run)
    Path("/proc/sys/net/ipv4/conf/in/forwarding").write_text("0")
    run = on_kernel("diff", plan)
    assert run.returncode == 2
    assert "the kernel forwards no IPv4 from there (net.ipv4.conf.in.forwarding)" in " ".join(run.stderr.split())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('gateways = ["10.9.2.2", "10.9.3.2"]\n', "", "give one per port, 2 of them"),
        ('["10.9.2.2", "10.9.3.2"]', '["10.9.2.2"]', "give one per port, 2 of them"),
        ('["10.9.2.2", "10.9.3.2"]', '["10.9.2.2", "x"]', "not an address"),
        ('["fd09:2::2", "fd09:3::2"]', '["10.9.2.2", "10.9.3.2"]', "fd01::/32 has IPv6 packets"),
        ('dev = ["in"]', 'dev = ["in"]\nhook = "xdp"', "the hook xdp does not route"),
        ('dev = ["in"]', 'dev = ["in"]\nhook = "egress"', "the hook egress does not route"),
        ('output = "route"', 'output = "redirect"', "output redirect routes nothing"),
    ],
)
def test_a_plan_that_cannot_route_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    plan = tmp_path / "plan.toml"
    assert old in PLAN
    plan.write_text(PLAN.replace(old, new, 1))
    run = on_kernel("diff", plan)
    assert run.returncode == 2
    assert words in " ".join(run.stderr.split())
