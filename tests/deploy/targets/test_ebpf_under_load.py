"""Plans swapped under load, and links that die under it: every packet where a plan in force may send it, and once."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from socket import SOL_SOCKET, socket
from threading import Event, Thread

import pytest

from anabranch.deploy.targets.ebpf import plan_file as ebpf_plan
from anabranch.deploy.targets.ebpf.change import put
from anabranch.deploy.targets.ebpf.observe import devices_now
from anabranch.deploy.targets.ebpf.plan_file import EbpfPlan
from support.own_datapaths import frame, ip, pairs, receiver, sender, with_own_datapaths
from support.waiting import DEADLINE_S, wait

PORTS = ["pe1", "pe2", "pe3"]
PLAN = """\
seed = 7
[switch]
dev = ["in"]
[[group]]
name = "a"
match = { ip_dst = "10.2.0.0/16" }
ports = ["e1", "e2", "e3"]
weights = [4, 3, 2]
"""
# Schemes whose choice depends on the plan alone, and not on those before it.
PLANS = [
    'scheme = "valo"\n' + PLAN,
    'scheme = "valo"\n' + PLAN.replace("[4, 3, 2]", "[1, 1, 7]"),
    'scheme = "valo"\n'
    + PLAN.replace("seed = 7", "seed = 8")
    + PLAN[PLAN.index("[[group]]") :].replace("10.2", "10.3").replace('"a"', '"b"'),
    'scheme = "log-rendezvous"\n' + PLAN.replace("[4, 3, 2]", "[3, 3, 3]"),
]
CONNECTIONS = 64
SO_TIMESTAMPNS = 35
SILENCE_S = 1.0
"""After which packets that have not arrived are taken for lost."""
STAMP = struct.Struct("=QQ")
"""Number of the packet, and when it was given to the kernel, in nanoseconds since 1970."""


@dataclass(frozen=True)
class Arrival:
    """A packet at one of the members' ends."""

    number: int
    connection: int
    sent_ns: int
    arrived_ns: int
    port: str


@contextmanager
def sending(pause_s: float) -> Iterator[list[int]]:
    """Packets of all connections in turn, one after the other, for as long as this lasts; yields how many so far."""
    ended, sent = Event(), [0]
    bare = [frame(1000 + number, payload=bytes(STAMP.size)) for number in range(CONNECTIONS)]

    def run() -> None:
        with sender("pin") as out:
            while not ended.is_set():
                one = bare[sent[0] % CONNECTIONS]
                out.send(one[: -STAMP.size] + STAMP.pack(sent[0], time.time_ns()))
                sent[0] += 1
                time.sleep(pause_s)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield sent
    finally:
        ended.set()
        thread.join()


def await_more(sent: list[int], count: int) -> None:
    """Waits until so many more are sent."""
    enough = sent[0] + count
    wait(lambda: sent[0] >= enough, lambda: f"{sent[0]} sent, not {enough}")


def arrived(waiting: dict[str, socket], sent: list[int]) -> list[Arrival]:
    """Packets that arrive at all of them, until all that was sent has arrived, or nothing more comes."""
    found: list[Arrival] = []
    heard_s = time.monotonic()
    while len(found) < sent[0] and time.monotonic() < heard_s + SILENCE_S:
        if new := waits(waiting):
            found += new
            heard_s = time.monotonic()
    return sorted(found, key=lambda arrival: arrival.number)


def waits(waiting: dict[str, socket]) -> list[Arrival]:
    """Packets that wait at all of them."""
    found = []
    for port, one in waiting.items():
        while True:
            try:
                data, extra, _, address = one.recvmsg(2048, 64)
            except BlockingIOError:
                break
            except OSError:
                continue
            if address[2] == 4 or len(data) < STAMP.size:
                continue
            seconds, nanoseconds = struct.unpack("=qq", extra[0][2])
            number, sent_ns = STAMP.unpack(data[-STAMP.size :])
            source = int.from_bytes(data[34:36], "big")
            found.append(Arrival(number, source - 1000, sent_ns, 10**9 * seconds + nanoseconds, port))
    return found


@contextmanager
def waiting() -> Iterator[dict[str, socket]]:
    """Sockets that have all that arrives at the members' ends, with the time."""
    with ExitStack() as open_ones:
        found = {port: open_ones.enter_context(receiver(port)) for port in PORTS}
        for one in found.values():
            one.setsockopt(SOL_SOCKET, SO_TIMESTAMPNS, 1)
        yield found


def ways() -> dict[int, str]:
    """The member's end at which each connection arrives now."""
    with waiting() as sockets:
        with sender("pin") as out:
            for number in range(CONNECTIONS):
                out.send(frame(1000 + number, payload=STAMP.pack(number, 0)))
        return {arrival.connection: arrival.port for arrival in arrived(sockets, [CONNECTIONS])}


@pytest.mark.parametrize("hook", ["ingress", "xdp"])
def test_no_packet_is_lost_or_goes_where_neither_plan_sends_it(hook: str) -> None:
    @with_own_datapaths
    def run() -> None:
        pairs("in", "e1", "e2", "e3")
        plans = [replace(ebpf_plan.parse(text, "plan.toml"), hook=hook) for text in PLANS]
        devices = devices_now()
        expected = []
        for plan in plans:
            put(plan, devices)
            expected.append(ways())
        assert all(len(found) == CONNECTIONS for found in expected)
        assert len({tuple(sorted(found.items())) for found in expected}) == len(plans)
        swaps = swapped(plans, 120)
        check(swaps[0], swaps[1], swaps[2], expected)

    def swapped(plans: list[EbpfPlan], count: int) -> tuple[list[Arrival], int, list[tuple[int, int, int]]]:
        """Packets that arrived, number sent, and the time of each plan: (begun ns, ended ns, number)."""
        devices = devices_now()
        done = [(0, time.time_ns(), len(plans) - 1)]
        with waiting() as sockets:
            with sending(5e-5) as sent:
                for turn in range(count):
                    # In place for the first three, another program for the last.
                    chosen = 3 if turn % 40 == 39 else turn % 3
                    begun = time.time_ns()
                    changed, _ = put(plans[chosen], devices)
                    done.append((begun, time.time_ns(), chosen))
                    assert changed
                    await_more(sent, 10)
            return arrived(sockets, sent), sent[0], done

    def check(
        arrivals: list[Arrival], sent: int, put: list[tuple[int, int, int]], expected: list[dict[int, str]]
    ) -> None:
        assert sent > 1000
        assert [arrival.number for arrival in arrivals] == list(range(sent))
        # A plan may be in force from when its put began until the next one's ended.
        ends = [ended for _, ended, _ in put[1:]] + [time.time_ns()]
        first = 0
        for arrival in arrivals:
            while ends[first] < arrival.sent_ns:
                first += 1
            allowed, at = set(), first
            while at < len(put) and put[at][0] <= arrival.arrived_ns:
                allowed.add(expected[put[at][2]][arrival.connection])
                at += 1
            assert arrival.port in allowed, arrival

    run()


@with_own_datapaths
def test_a_dead_member_is_masked_and_comes_back(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    command = [sys.executable, "-m", "anabranch", "apply", str(file), "--target", "ebpf", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1) as following:
        assert following.stdout is not None
        try:
            line = following.stdout.readline()
            while "following the links of e1, e2, e3" not in line:
                assert line, "it ended"
                line = following.stdout.readline()
            told: list[str] = []

            def changed(to: str, *said: str) -> tuple[list[Arrival], int, int]:
                """Packets that arrive while a link changes, number sent before the report, and number sent in all."""
                with waiting() as sockets:
                    with sending(0.0002) as sent:
                        await_more(sent, CONNECTIONS)
                        ip("link", "set", "pe2", to)
                        for words in said:
                            while not told or words not in told[-1]:
                                told.append(following.stdout.readline())  # type: ignore[union-attr]
                                assert told[-1], "it ended"
                        known = sent[0] + 1
                        await_more(sent, 2 * CONNECTIONS)
                    return arrived(sockets, sent), known, sent[0]

            before, masked, until = changed("down", " e2 down", "e2 weight=3 down")
            after, _, _ = changed("up", " e2 up", "e2 weight=3")
        finally:
            following.send_signal(signal.SIGTERM)
        following.communicate(timeout=DEADLINE_S)
        assert following.returncode == 0
    # Of what was sent once the plan was in force nothing is lost.
    assert [arrival.number for arrival in before if arrival.number >= masked] == list(range(masked, until))
    assert {arrival.port for arrival in before if arrival.number >= masked} == {"pe1", "pe3"}
    assert {arrival.port for arrival in after[-CONNECTIONS:]} == set(PORTS)
    # It stays when nobody follows it any more.
    assert len(set(ways().values())) == 3


@with_own_datapaths
def test_devices_that_are_made_anew_are_followed(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    command = [sys.executable, "-m", "anabranch", "apply", str(file), "--target", "ebpf", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as following:
        assert following.stdout is not None
        try:
            while "following" not in following.stdout.readline():
                assert following.poll() is None
            whole = ways()
            for name in ("e2", "in"):
                ip("link", "del", name)
                pairs(name)
            until = time.monotonic() + DEADLINE_S
            while set((found := ways()).values()) != set(PORTS) and time.monotonic() < until:
                time.sleep(0.02)
        finally:
            following.send_signal(signal.SIGTERM)
        told = following.communicate(timeout=DEADLINE_S)[0]
        assert following.returncode == 0, told
    assert len(found) == len(whole) == CONNECTIONS
    assert "e2 gone" in told
    assert "+ attached to in ingress" in told


@with_own_datapaths
def test_devices_that_are_missing_at_first_are_followed(tmp_path: Path) -> None:
    pairs("e1", "e3")
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    command = [sys.executable, "-m", "anabranch", "apply", str(file), "--target", "ebpf", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1) as following:
        assert following.stdout is not None
        try:
            told = [""]
            while "following" not in told[-1]:
                told.append(following.stdout.readline())
                assert told[-1], told
            pairs("e2", "in")
            while "+ attached to in ingress" not in told[-1]:
                told.append(following.stdout.readline())
                assert told[-1], told
            until = time.monotonic() + DEADLINE_S
            while set((found := ways()).values()) != set(PORTS) and time.monotonic() < until:
                time.sleep(0.02)
        finally:
            following.send_signal(signal.SIGTERM)
        rest = following.communicate(timeout=DEADLINE_S)[0]
        assert following.returncode == 0, rest
    assert set(found.values()) == set(PORTS)
    first = " ".join("".join(told).split())
    assert "note: group a: masked without a device: e2 (use one of " in first
    assert "note: switch.dev: in: no such device" in first


@with_own_datapaths
def test_who_follows_ends_when_somebody_else_changes_the_plan(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    command = [sys.executable, "-m", "anabranch", "apply", str(file), "--target", "ebpf", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        while "following" not in following.stdout.readline():
            assert following.poll() is None
        put(ebpf_plan.parse(PLAN.replace("[4, 3, 2]", "[1, 1, 1]"), "plan.toml"), devices_now())
        ip("link", "set", "pe2", "down")
        assert following.wait(DEADLINE_S) == 2
        assert "somebody else has changed the datapath; apply the plan again" in following.stderr.read()
