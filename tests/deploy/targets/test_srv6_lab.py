"""Explicit paths in kernels: namespaces forward by segments, and their interfaces count what goes where."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anabranch as ab
from anabranch import _core
from anabranch.deploy.control.topology import Topology
from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.targets.srv6.addresses import read
from anabranch.deploy.targets.srv6.linux import spread_commands
from anabranch.deploy.targets.srv6.segments import SegmentPath
from anabranch.deploy.targets.srv6.segments import read as read_paths
from anabranch.lab.fabric.iproute import batch, make, remove
from support.command import anabranch
from support.needs import brings

FABRIC = (
    '[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\n[routing]\npaths.file = "paths.csv"\n'
)
FORTH = "leaf0>spine0>leaf1,3\nleaf0>spine1>leaf1,1\n"
BACK = "leaf1>spine0>leaf0,1\nleaf1>spine1>leaf0,1\n"
LINKS = [
    ("host0", "leaf0"),
    ("host1", "leaf1"),
    *((leaf, spine) for leaf in ("leaf0", "leaf1") for spine in ("spine0", "spine1")),
]
NODES = sorted({node for link in LINKS for node in link})
HOST1 = "fd00:0:0:2::1"
PORT = 7000
PAYLOAD = bytes(1000)
NOISE = 30
"""Most frames of a link that are not the test's: neighbour discovery and reports of multicast groups."""
PATIENCE_S = 2.0


def name(node: str) -> str:
    return f"x{os.getpid()}-{node}"


def written(folder: Path, table: str) -> Path:
    (folder / "fabric.toml").write_text(FABRIC)
    (folder / "paths.csv").write_text(f"path,weight\n{table}")
    run = anabranch("plan", str(folder / "fabric.toml"), "--target", "srv6", "--folder", str(folder / "out"))
    assert run.returncode == 0, run.stderr
    return folder / "out"


@contextmanager
def namespaces(out: Path) -> Iterator[None]:
    """The fabric as namespaces, with what was written for each node."""
    make([name(node) for node in NODES], "")
    try:
        batch("ip", None, (f"link add {b} netns {name(a)} type veth peer name {a} netns {name(b)}" for a, b in LINKS))
        for node in NODES:
            with inside(name(node)):
                settings = Path("/proc/sys/net/ipv6")
                (settings / "conf/all/forwarding").write_text("0" if node.startswith("host") else "1")
                (settings / "fib_multipath_hash_policy").write_text("1")
        for node in NODES:
            file = out / node / "ip.batch"
            ip = ["ip", "-netns", name(node), "-6", "-batch", str(file)]
            run = subprocess.run(ip, capture_output=True, text=True, check=False, timeout=60)
            assert run.returncode == 0, f"{node}: {run.stderr}\n{file.read_text()}"
        yield
    finally:
        remove([name(node) for node in NODES])


@brings("root")
@contextmanager
def fabric(folder: Path, table: str) -> Iterator[tuple[socket.socket, socket.socket]]:
    """The fabric, with a socket at each of its hosts."""
    with namespaces(written(folder, table)):
        ends = []
        for host in ("host0", "host1"):
            with inside(name(host)):
                end = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            end.bind(("::", PORT))
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_000_000)
            ends.append(end)
        try:
            # The first packets wait for neighbours to be found, on each path and back.
            for mark in (1, 2):
                for _ in range(5):
                    ends[0].setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
                    ends[0].sendto(b"", (HOST1, PORT))
                    select.select([ends[1]], [], [], PATIENCE_S)
            drain(ends[1])
            yield ends[0], ends[1]
        finally:
            for end in ends:
                end.close()


def drain(end: socket.socket) -> int:
    """Number of packets that a socket has and gets until none comes for a while."""
    number = 0
    while select.select([end], [], [], 0.3)[0] and number < 100_000:
        end.recv(2000)
        number += 1
    return number


def sent(node: str, neighbour: str) -> int:
    shown = subprocess.run(
        ["ip", "-netns", name(node), "-s", "-j", "link", "show", "dev", neighbour],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    packets: int = json.loads(shown.stdout)[0]["stats64"]["tx"]["packets"]
    return packets


def by_link(links: list[tuple[str, str]], send: object) -> list[int]:
    before = [sent(*link) for link in links]
    send()  # type: ignore[operator]
    return [sent(*link) - count for link, count in zip(links, before, strict=True)]


def send_marked(source: socket.socket, mark: int, packets: int) -> None:
    source.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
    for _ in range(packets):
        source.sendto(PAYLOAD, (HOST1, PORT))


def send_flows(flows: int) -> None:
    """A packet from each of many source ports of host 0."""
    with inside(name("host0")):
        for _ in range(flows):
            with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as source:
                source.sendto(PAYLOAD, (HOST1, PORT))


UP_AND_DOWN = [("leaf0", "spine0"), ("spine0", "leaf1"), ("leaf0", "spine1"), ("spine1", "leaf1")]


def test_a_mark_names_a_path_and_flows_follow_the_weights(tmp_path: Path) -> None:
    with fabric(tmp_path, FORTH + BACK) as (source, sink):
        for mark, expected in ((1, [500, 500, 0, 0]), (2, [0, 0, 500, 500])):
            counted = by_link(UP_AND_DOWN, lambda mark=mark: send_marked(source, mark, 500))
            assert drain(sink) == 500
            assert all(low <= count <= low + NOISE for low, count in zip(expected, counted, strict=True)), counted
        counted = by_link(UP_AND_DOWN, lambda: send_flows(2000))
        assert drain(sink) == 2000
        # Binomial with mean 1,500 and standard deviation 19.4, five of which are a chance of one in a million.
        assert abs(counted[0] - 1500) <= 97 + NOISE, counted
        assert abs(counted[0] + counted[2] - 2000) <= 2 * NOISE


def test_a_path_of_two_hosts_comes_before_that_of_their_leaves(tmp_path: Path) -> None:
    own = "host0>leaf0>spine1>leaf1>host1,1\n"
    with fabric(tmp_path, "leaf0>spine0>leaf1,1\n" + BACK + own) as (_, sink):
        counted = by_link(UP_AND_DOWN, lambda: send_flows(300))
        assert drain(sink) == 300
        assert counted[2] >= 300
        assert counted[0] <= NOISE


def answers(source: socket.socket, sink: socket.socket, mark: int) -> bool:
    """Whether a probe along a path, and its answer along the path of the same mark back, arrive."""
    for end in (source, sink):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
    source.sendto(b"probe", (HOST1, PORT))
    if not select.select([sink], [], [], PATIENCE_S)[0]:
        return False
    _, back = sink.recvfrom(2000)
    sink.sendto(b"answer", back)
    if not select.select([source], [], [], PATIENCE_S)[0]:
        return False
    return source.recv(2000) == b"answer"


def test_probes_alone_lead_off_a_dead_link(tmp_path: Path) -> None:
    with fabric(tmp_path, FORTH + BACK) as (source, sink):
        assert [answers(source, sink, mark) for mark in (1, 2)] == [True, True]
        batch("ip", name("leaf1"), ["link set dev spine0 down"])
        # No daemon runs, and nobody tells the host: three of four flows are lost.
        send_flows(400)
        assert 40 <= drain(sink) <= 160
        alive = [mark for mark in (1, 2) if answers(source, sink, mark)]
        assert alive == [2]
        file = tmp_path / "fabric.toml"
        topology = Topology(_core.Fabric(file.read_text(), str(file)))
        addresses = read(file.read_text(), str(file), topology)
        paths: dict[tuple[str, str], list[SegmentPath]] = {}
        for path in read_paths(str(file), "paths.csv", addresses):
            if path.mark in alive:
                paths.setdefault((path.source, path.destination), []).append(path)
        batch("ip", name("host0"), spread_commands("host0", addresses, paths))
        counted = by_link(UP_AND_DOWN, lambda: send_flows(400))
        assert drain(sink) == 400
        assert counted[0] <= NOISE
        assert counted[2] >= 400
    # The simulator obeys the same table: with probes all flows end, without them those on the dead path do not.
    scenario = FABRIC.replace("[routing]\n", '[routing]\nbalance = "explicit"\n') + (
        '[[traffic]]\nkind = "once"\npattern = { pairs = [[0, 1], [0, 1], [0, 1], [0, 1]] }\nsizes = "2 MB"\n'
        '[[change]]\nat = "100 us"\nlink = "spine0-leaf1"\nset = "down"\n[stop]\nat = "2 s"\n'
    )
    (tmp_path / "s.toml").write_text(scenario)
    unfinished = [
        ab.run(tmp_path / "s.toml", {"routing.scheme.probe": probe}).flows["fct_ns"].is_null().sum()
        for probe in ("100 us", "0 ns")
    ]
    assert unfinished[0] == 0
    assert unfinished[1] >= 3
