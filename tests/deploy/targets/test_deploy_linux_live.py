"""Plans in a real kernel under traffic, with gateways that do not answer, and beside the routes of others."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path

from anabranch.deploy.netlink.nexthop import Route, Rule
from anabranch.deploy.targets.linux import plan_file
from anabranch.deploy.targets.linux.precedence import precedence
from support.linux_links import PLAN, busied, ip, links, on_linux, written
from support.own_namespace import in_own_namespace

TWO = PLAN.replace(', "e3"]', "]").replace(', ""]', "]")
ADDRESS = ip_address("10.2.0.9")
PORTS = range(2000, 2400)
GROUP = 0xAB000000
PATIENCE_S = 30.0
ETH_P_ALL = 3


def weighted(folder: Path, weights: str, more: str = "") -> Path:
    return written(folder, TWO.replace("[4, 3, 2]", weights) + "buckets = 32\n" + more)


@contextmanager
def routers(count: int) -> Iterator[int]:
    """The other ends of the links in a namespace of their own, each with the address of a gateway."""
    with subprocess.Popen(["unshare", "--net", "sleep", "600"]) as process:
        try:
            deadline = time.monotonic() + PATIENCE_S
            mine = Path("/proc/thread-self/ns/net").readlink()
            while Path(f"/proc/{process.pid}/ns/net").readlink() == mine:
                assert time.monotonic() < deadline
                time.sleep(0.001)
            for number in range(1, count + 1):
                ip("link", "set", f"p{number}", "netns", str(process.pid))
                for words in (f"link set p{number} up", f"addr add 10.9.{number}.2/24 dev p{number}"):
                    there(process.pid, words)
            yield process.pid
        finally:
            process.kill()


def there(pid: int, words: str) -> None:
    subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", "ip", *words.split()], check=True)


class Traffic:
    """Connections that never rest, and the link by which each of their packets came."""

    def __init__(self) -> None:
        self.links: dict[int, list[int]] = defaultdict(list)
        """Links by destination port, each only where it is not the one before."""
        self.rounds = 0
        self._ended = threading.Event()

    @contextmanager
    def running(self, plan: Path) -> Iterator[Traffic]:
        """Traffic by a plan, until the block ends."""
        assert on_linux("apply", plan).returncode == 0
        receivers = {number: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) for number in (1, 2)}
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for number, receiver in receivers.items():
            receiver.bind((f"e{number}", ETH_P_ALL))
            receiver.setblocking(False)

        def send() -> None:
            while not self._ended.is_set():
                for port in PORTS:
                    sender.sendto(b"", (str(ADDRESS), port))
                    for number, receiver in receivers.items():
                        self._receive(number, receiver)
                self.rounds += 1

        # The sockets are of this thread's namespace, whichever thread sends.
        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        try:
            self.passes(2)
            yield self
        finally:
            self._ended.set()
            thread.join(PATIENCE_S)
            for one in (sender, *receivers.values()):
                one.close()

    def passes(self, rounds: int) -> None:
        """Returns when every connection has sent so often from now on."""
        until, deadline = self.rounds + rounds, time.monotonic() + PATIENCE_S
        while self.rounds < until:
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def _receive(self, number: int, receiver: socket.socket) -> None:
        while True:
            try:
                packet = receiver.recv(64)
            except BlockingIOError:
                return
            # Neighbour discovery and ARP go by the links too.
            if packet[9] != socket.IPPROTO_UDP or packet[16:20] != ADDRESS.packed:
                continue
            port = int.from_bytes(packet[22:24], "big")
            if self.links[port][-1:] != [number]:
                self.links[port].append(number)


@in_own_namespace
def test_busy_buckets_move_within_the_time_of_the_plan_and_each_connection_once(tmp_path: Path) -> None:
    links(2)
    timers = 'idle_timer = "30 s"\nunbalanced_timer = "2 s"\n'
    plan = weighted(tmp_path, "[1, 1]", timers)
    with routers(2), Traffic().running(plan) as traffic:
        for weights, moved in (("[3, 1]", 8), ("[9, 1]", 5)):
            traffic.links.clear()
            traffic.passes(2)
            before = {port: path[-1] for port, path in traffic.links.items()}
            assert len(before) == len(PORTS)
            plan = weighted(tmp_path, weights, timers)
            noted = on_linux("apply", plan).stdout
            assert f"group to-leaf2: {moved} of 32 buckets still have their old path" in noted
            latest = re.search(
                r"(\S+) s longer at most \(2 s of imbalance, unbalanced_timer\)", " ".join(noted.split())
            )
            assert latest
            assert 0 < float(latest[1]) <= 2
            assert on_linux("verify", plan).returncode == 1
            waited = on_linux("apply", plan, "--wait")
            assert (waited.returncode, "still have" in waited.stdout) == (0, False), waited
            traffic.passes(2)
            assert on_linux("verify", plan).returncode == 0
            after = {port: path[-1] for port, path in traffic.links.items()}
            # From the second path to the first only, and never back: a connection is out of order once at most.
            assert {(before[port], after[port]) for port in PORTS} <= {(1, 1), (2, 2), (2, 1)}
            assert max(len(path) for path in traffic.links.values()) == 2
            changed = sum(before[port] != after[port] for port in PORTS)
            assert 0 < changed < 3 * len(PORTS) * moved / 32


@in_own_namespace
def test_verifying_leaves_the_buckets_as_they_are(tmp_path: Path) -> None:
    links(2)
    plan = weighted(tmp_path, "[1, 1]", 'idle_timer = "3 s"\nunbalanced_timer = "0 s"\n')
    assert on_linux("apply", plan).returncode == 0
    busied()
    plan = weighted(tmp_path, "[3, 1]", 'idle_timer = "3 s"\nunbalanced_timer = "0 s"\n')
    assert "8 of 32 buckets still have" in on_linux("apply", plan).stdout
    # More often than a bucket needs rest: a look-up at each would keep all of them where they are.
    deadline = time.monotonic() + PATIENCE_S
    while on_linux("verify", plan).returncode:
        assert time.monotonic() < deadline
    assert ip("nexthop", "bucket", "show", "id", str(GROUP)).count(f"nhid {GROUP + 0x8000} ") == 24


def failed(number: int) -> None:
    """Has the kernel find out that a gateway is silent, as packets to it do."""
    Path(f"/proc/sys/net/ipv4/neigh/e{number}/retrans_time_ms").write_text("20")
    deadline = time.monotonic() + PATIENCE_S
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        while f"10.9.{number}.2 dev e{number} FAILED" not in ip("neigh"):
            assert time.monotonic() < deadline
            for port in PORTS:
                sender.sendto(b"", ("10.2.0.9", port))
            time.sleep(0.01)


@in_own_namespace
def test_a_silent_gateway_is_left_out_and_comes_back(tmp_path: Path) -> None:
    links(2)
    plan = written(tmp_path, TWO.replace("[4, 3, 2]", "[1, 1]") + 'recipe = "mpath"\n')
    with routers(2) as pid:
        there(pid, "addr del 10.9.2.2/24 dev p2")
        assert "does not answer" not in on_linux("apply", plan).stdout
        failed(2)
        note = "left out, for the gateway does not answer: 10.9.2.2 on e2; anabranch apply brings it back once it does"
        for verb, status in (("diff", 1), ("verify", 1), ("apply", 0), ("diff", 0), ("verify", 0)):
            run = on_linux(verb, plan)
            assert (run.returncode, note in " ".join(run.stdout.split())) == (status, True), (verb, run)
        assert f"group {GROUP + 0x8000} " in ip("nexthop")
        # Nobody sends to it now: it is asked again by the verbs themselves.
        there(pid, "addr add 10.9.2.2/24 dev p2")
        back = on_linux("diff", plan)
        assert (back.returncode, "does not answer" in back.stdout) == (1, False)
        assert on_linux("apply", plan).returncode == 0
        assert on_linux("diff", plan).returncode == 0
        for number in (1, 2):
            there(pid, f"addr del 10.9.{number}.2/24 dev p{number}")
            ip("neigh", "flush", "dev", f"e{number}")
            failed(number)
        none = on_linux("apply", plan)
        assert (none.returncode, "nothing to do" in none.stdout) == (0, True)
        assert "no gateway answers: 10.9.1.2 on e1, 10.9.2.2 on e2; they stay" in " ".join(none.stdout.split())


@in_own_namespace
def test_routes_and_rules_beside_a_plan_are_named(tmp_path: Path) -> None:
    links()
    ip("route", "add", "10.2.0.0/16", "via", "10.9.1.2", "dev", "e1", "metric", "20", "proto", "bgp")
    ip("route", "add", "10.2.7.0/24", "dev", "e2", "proto", "static")

    def said(verb: str, more: str, status: int) -> str:
        run = on_linux(verb, written(tmp_path, PLAN + more))
        assert run.returncode == status, run
        return " ".join(run.stdout.split())

    over = "10.2.0.0/16: comes before the route of bgp with metric 20: what becomes of that one has no effect"
    longer = "10.2.0.0/16: longer prefixes take their part of it: 10.2.7.0/24 of static"
    for verb, status in (("diff", 1), ("apply", 0), ("diff", 0), ("verify", 0)):
        text = said(verb, "", status)
        assert over in text
        assert longer in text
    under = "10.2.0.0/16: the route of bgp with metric 20 comes before metric 30"
    assert f"{under}; give the plan a lower metric" in said("apply", "metric = 30\n", 0)
    assert f"cannot tell: {under}" in said("verify", "metric = 30\n", 3)
    unreached = "no rule leads to table 10, so no packet comes to it; ip rule add to 10.2.0.0/16 lookup 10 makes one"
    assert unreached in said("apply", 'table = 10\nrecipe = "mpath"\n', 0)
    assert f"cannot tell: {unreached}" in said("verify", 'table = 10\nrecipe = "mpath"\n', 3)
    for prefix in ("10.2.0.0/16", "10.3.0.0/24"):
        ip("rule", "add", "to", prefix, "lookup", "10")
    assert "no rule" not in said("verify", "table = 10\n", 1)
    assert "no rule" not in said("apply", "table = 10\n", 0)
    assert said("verify", "table = 10\n", 0)


def test_a_table_of_ipv6_wants_a_rule_of_ipv6() -> None:
    text = '[[group]]\nname = "six"\nmatch = { ip_dst = "fd00:2::/32" }\nports = ["e1"]\ntable = 10\n'
    (planned,) = plan_file.parse(text, "plan.toml").groups
    rules = [Rule(4, 100, 10), Rule(6, 32766, 254)]
    assert precedence(planned, [], rules).bypassed == (
        "no rule leads to table 10, so no packet comes to it; ip -6 rule add to fd00:2::/32 lookup 10 makes one"
    )
    assert precedence(planned, [], [*rules, Rule(6, 7, 10)]).bypassed is None
    other = Route(ip_network("fd00:2:3::/48"), 254, 0, 0, 186)
    assert precedence(planned, [other], [*rules, Rule(6, 7, 10)]).notes == ()


class Following:
    """`anabranch apply --follow`, and what it says."""

    def __init__(self, plan: Path) -> None:
        command = [sys.executable, "-m", "anabranch", "apply", str(plan), "--target", "linux", "--follow"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._said = ""

    def __enter__(self) -> Following:
        self.says("; the plan stays when this ends")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=PATIENCE_S)
        assert self._process.returncode == 0

    def says(self, *words: str) -> None:
        """Returns when it has said each of these since the last call, in this order."""
        assert self._process.stdout is not None
        for one in words:
            while one not in self._said:
                ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE_S)
                more = os.read(self._process.stdout.fileno(), 65536) if ready else b""
                assert more, (one, self._said)
                self._said += more.decode()
            self._said = self._said.partition(one)[2]


def members() -> int:
    """Number of members of the group."""
    group = re.search(rf"id {GROUP} group (\S+)", ip("nexthop"))
    return group[1].count("/") + 1 if group else 0


@in_own_namespace
def test_a_follower_brings_a_path_back_with_its_link_and_moves_no_other_connection(tmp_path: Path) -> None:
    links(2)
    plan = weighted(tmp_path, "[1, 1]", 'idle_timer = "30 s"\nunbalanced_timer = "1 s"\n')
    with routers(2) as pid, Traffic().running(plan) as traffic, Following(plan) as following:
        before = {port: path[-1] for port, path in traffic.links.items()}
        assert set(before.values()) == {1, 2}
        there(pid, "link set p2 down")
        following.says(" e2 down")
        traffic.passes(2)
        assert {path[-1] for path in traffic.links.values()} == {1}
        there(pid, "link set p2 up")
        following.says(" e2 up", "+ nexthop 0xab008001 10.9.2.2 on e2")
        assert members() == 2
        assert on_linux("apply", plan, "--wait").returncode == 0
        traffic.passes(2)
        for port, path in traffic.links.items():
            # What was on the first path and still is has never left it.
            assert path in ([1], [1, 2], [2, 1], [2, 1, 2])
            assert before[port] == path[0]
        after = Counter(path[-1] for path in traffic.links.values())
        assert set(after) == {1, 2}
        assert on_linux("verify", plan).returncode == 0


@contextmanager
def churn() -> Iterator[None]:
    """Routes of others that come and go all the time."""
    script = "while ip route replace 10.99.0.0/24 dev e1 proto bgp && ip route del 10.99.0.0/24; do sleep 0.05; done"
    with subprocess.Popen(["sh", "-c", script]) as process:
        try:
            yield
        finally:
            process.kill()


@in_own_namespace
def test_a_follower_mends_what_others_undo_and_waits_for_what_cannot_be(tmp_path: Path) -> None:
    links(2)
    plan = written(tmp_path, TWO.replace("[4, 3, 2]", "[1, 1]") + 'recipe = "mpath"\n')
    with routers(2) as pid:
        with Following(plan) as following:
            ip("route", "del", "10.3.0.0/24")
            following.says("+ route 10.3.0.0/24 table 254")
            ip("nexthop", "del", "id", str(GROUP))
            following.says("+ group 0xab000000", "+ route 10.2.0.0/16", "+ route 10.3.0.0/24")
            there(pid, "addr del 10.9.2.2/24 dev p2")
            failed(2)
            following.says("10.9.2.2 on e2 does not answer", "- nexthop 0xab008001 10.9.2.2 on e2")
            assert members() == 1
            # Announcements of somebody else's routes all the time do not keep it from asking again.
            with churn():
                there(pid, "addr add 10.9.2.2/24 dev p2")
                following.says("10.9.2.2 on e2 answers", "+ nexthop 0xab008001 10.9.2.2 on e2")
            for number in (1, 2):
                there(pid, f"link set p{number} down")
            following.says("none is up; bring one up first")
            there(pid, "link set p1 up")
            following.says("+ route 10.2.0.0/16")
            there(pid, "link set p2 up")
            following.says("+ nexthop")
        assert on_linux("diff", plan).returncode == 0
