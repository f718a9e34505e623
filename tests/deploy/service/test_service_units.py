"""Units that `anabranch install` writes, run by systemd as the first process of a machine, with their rights alone."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

import pytest

from support.needs import declares
from support.systemd_machine import Machine, machine
from support.waiting import wait

ODD = 'pl%n $HOME "a"'
"""A folder whose name means something else to systemd."""
LINKS = """
for number in 1 2 3 4 5; do
    ip link add e$number type veth peer p$number
    ip link set e$number up
    ip link set p$number up
    ip addr add 10.9.$number.1/24 dev e$number
done
"""
NUMBERS = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}
"""Capabilities by their bits in linux/capability.h."""
ROUTES = """\
[[group]]
name = "to-leaf2"
match = { ip_dst = "10.2.0.0/16" }
ports = ["e1", "e2"]
gateways = ["10.9.1.2", "10.9.2.2"]
weights = [4, 3]
"""
DATAPATH = """\
[switch]
dev = ["NAME"]
[[group]]
name = "a"
match = { ip_dst = "10.2.0.0/16" }
ports = ["e3", "e4"]
weights = [3, 1]
"""
FABRIC = """\
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 1
link = { rate = "10 Gbps" }
[policy]
weights = "capacity"
[listen]
http = "127.0.0.1:9653"
openflow = "tcp:127.0.0.1:6653"
[switch.leaf0]
LEAF
ports = { host0 = "e4", spine0 = "e5" }
[switch.leaf1]
datapath_id = "0000000000000001"
ports = { host1 = "h", spine0 = "s" }
[switch.spine0]
datapath_id = "0000000000000002"
ports = { leaf0 = "l0", leaf1 = "l1" }
[leaf.leaf1]
prefixes = ["10.1.1.0/24"]
[host.host0]
addresses = ["10.1.0.1"]
"""
SLICES = {
    "format": 1,
    "leaves": {"leaf0": {"prefixes": ["10.9.1.0/24"], "labels": {"10.2.0.0/24": [1, 2]}}},
}


@pytest.fixture(scope="module")
@declares("root", "bpf")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """One machine for all of these tests, each of which has units of its own."""
    with machine(tmp_path_factory.mktemp("machine"), LINKS) as started:
        yield started


def rights(booted: Machine, name: str) -> set[str]:
    """Capabilities that the program of a unit has."""
    process = booted.show(name, "MainPID")
    status = booted.run("cat", f"/proc/{process}/status")
    assert re.search(r"^NoNewPrivs:\t1$", status, re.M)
    assert re.search(r"^Seccomp:\t2$", status, re.M)
    sets = {name: int(value, 16) for name, value in re.findall(r"^Cap(Prm|Eff|Bnd):\t(\w+)$", status, re.M)}
    assert len(set(sets.values())) == 1, "what it may have and what it has are the same"
    return {name for name, bit in NUMBERS.items() if sets["Bnd"] >> bit & 1} | (
        {"others"} if sets["Bnd"] & ~sum(1 << bit for bit in NUMBERS.values()) else set()
    )


def user(booted: Machine, name: str) -> int:
    """User that the program of a unit runs as."""
    return int(booted.run("stat", "--format", "%u", f"/proc/{booted.show(name, 'MainPID')}"))


def judged(booted: Machine, name: str) -> None:
    """Has systemd's own judges look at a unit as it was written."""
    file = f"/etc/systemd/system/{name}.service"
    assert booted.run("systemd-analyze", "verify", file) == ""
    # The scale of systemd-analyze(1) is 0 (nothing is open) to 10; a threshold of 30 is 3.0.
    booted.run("systemd-analyze", "security", "--offline=true", "--threshold=30", file)


def fails_without(booted: Machine, arguments: list[str], capability: str, kept: set[str]) -> str:
    """Runs a command without one of the capabilities that its unit has; its error."""
    rest = [f"+{name.removeprefix('CAP_').lower()}" for name in sorted(kept - {capability})]
    bounds = ["setpriv", f"--bounding-set={','.join(['-all', *rest])}", "--inh-caps=-all"]
    ended = booted.tried(*bounds, sys.executable, "-m", "anabranch", *arguments)
    assert ended.returncode == 75, ended.stderr
    return ended.stderr


@pytest.fixture(autouse=True)
def alone(booted: Machine) -> Iterator[None]:
    """Has units that a test has left behind end."""
    yield
    booted.run("systemctl", "stop", "anabranch-*", "without-*")


def test_a_follower_of_routes_has_one_right(booted: Machine) -> None:
    folder = booted.folder / ODD
    folder.mkdir()
    plan = folder / "plan.toml"
    plan.write_text(ROUTES)
    command = ["apply", str(plan), "--target", "linux", "--follow"]
    name = booted.installed(*command)
    judged(booted, name)
    booted.enabled(name)
    # It is ready: the plan is in force.
    assert "10.9.1.2 dev e1 weight 4" in booted.run("ip", "route", "show", "10.2.0.0/16")
    assert rights(booted, name) == {"CAP_NET_ADMIN"}
    assert user(booted, name) > 60_000, "a user that systemd has made"
    booted.run("ip", "link", "set", "e1", "down")
    wait(lambda: "10.9.1.2" not in booted.run("ip", "route", "show", "10.2.0.0/16"), lambda: booted.log(name))
    booted.run("ip", "link", "set", "e1", "up")
    booted.run("systemctl", "stop", name)
    assert "not permitted" in fails_without(booted, command, "CAP_NET_ADMIN", {"CAP_NET_ADMIN"})


def test_a_follower_of_a_datapath_has_three_rights_and_waits_for_its_device(booted: Machine) -> None:
    plan = booted.folder / "datapath.toml"
    plan.write_text(DATAPATH.replace("NAME", "late"))
    state = booted.folder / "state" / "tables.json"
    state.parent.mkdir()
    command = ["apply", str(plan), "--target", "ebpf", "--follow", "--state", str(state)]
    name = booted.installed(*command)
    judged(booted, name)
    booted.enabled(name)
    assert "late: no such device" in booted.log(name)
    assert [*json.loads(state.read_text())["tables"]] == ["a"]
    booted.run("ip", "link", "add", "late", "up", "type", "veth", "peer", "plate")
    wait(lambda: "+ attached to late ingress" in booted.log(name), lambda: booted.log(name))
    three = {"CAP_BPF", "CAP_NET_ADMIN", "CAP_PERFMON"}
    assert rights(booted, name) == three
    assert user(booted, name) == 0, "the file system's folder is root's"
    booted.run("systemctl", "stop", name)
    # It stays in force; the next are to make another.
    booted.run("rm", "-r", "/sys/fs/bpf/anabranch")
    for capability in sorted(three):
        assert "CAP_PERFMON" in fails_without(booted, command, capability, three)


@pytest.mark.parametrize(
    ("leaf", "capabilities"),
    [
        ('datapath = "linux"\ngateways.spine0 = "10.9.5.2"', {"CAP_NET_ADMIN", "CAP_NET_RAW"}),
        (
            'datapath = "ebpf"\nnamespace = "fabric"',
            {"CAP_BPF", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_PERFMON", "CAP_SYS_ADMIN"},
        ),
        ('openflow = "unix:/run/openvswitch/leaf0.mgmt"', set()),
    ],
)
def test_a_controller(booted: Machine, leaf: str, capabilities: set[str]) -> None:
    kind = leaf.split('"')[1].removeprefix("unix:/run/")[:5]
    fabric = booted.folder / f"{kind}.toml"
    fabric.write_text(FABRIC.replace("LEAF", leaf))
    if "fabric" in leaf:
        for command in (
            "ip netns add fabric",
            "ip -n fabric link add e4 up type veth peer p4",
            "ip -n fabric link add e5 up type veth peer p5",
        ):
            booted.run(*command.split())
    name = booted.installed("control", str(fabric), lines="WatchdogSec=10")
    judged(booted, name)
    booted.enabled(name)
    assert rights(booted, name) == capabilities
    if capabilities:
        # It reaches the kernel, and its ports are sent frames by and heard.
        wait(lambda: '"connected", "switch": "leaf0"' in booted.log(name), lambda: booted.log(name))
        assert "wiring-unchecked" not in booted.log(name)
    if "linux" in leaf:
        seen = booted.show(name, "WatchdogTimestampMonotonic")
        wait(lambda: booted.show(name, "WatchdogTimestampMonotonic") != seen, lambda: booted.log(name))
        assert booted.show(name, "NRestarts") == "0", booted.log(name)
        process = booted.show(name, "MainPID")
        # Nothing moves in there any more: the watchdog ends it, and it begins again.
        booted.run("kill", "-STOP", process)
        wait(lambda: booted.show(name, "MainPID") not in {"0", process}, lambda: booted.log(name))
    booted.run("systemctl", "stop", name)
    assert booted.show(name, "Result") == "success"


def test_the_agent_of_a_kernel_has_one_right(booted: Machine) -> None:
    name = booted.installed("agent", "tcp:127.0.0.1:6655")
    judged(booted, name)
    booted.enabled(name)
    # It is ready: a controller can connect.
    assert "listening at tcp:127.0.0.1:6655" in booted.log(name)
    assert rights(booted, name) == {"CAP_NET_ADMIN"}
    assert user(booted, name) > 60_000
    # What is in the way may pass, so that it is tried again.
    taken = booted.tried(sys.executable, "-m", "anabranch", "agent", "tcp:127.0.0.1:6655")
    assert (taken.returncode, "in use" in taken.stderr) == (75, True), taken.stderr
    booted.run("systemctl", "stop", name)
    assert booted.show(name, "Result") == "success"


def test_the_marking_agent_has_one_right(booted: Machine) -> None:
    slices = booted.folder / "slices.json"
    slices.write_text(json.dumps(SLICES))
    command = ["mark", str(slices), "--leaf", "leaf0"]
    name = booted.installed(*command)
    judged(booted, name)
    booted.enabled(name)
    wait(lambda: "anabranch_mark" in booted.run("nft", "list", "tables"), lambda: booted.log(name))
    assert rights(booted, name) == {"CAP_NET_ADMIN"}
    assert user(booted, name) > 60_000
    booted.run("systemctl", "stop", name)
    assert "anabranch_mark" not in booted.run("nft", "list", "tables")


def test_a_file_that_is_wrong_is_not_tried_again(booted: Machine) -> None:
    plan = booted.folder / "wrong.toml"
    plan.write_text(ROUTES)
    name = booted.installed("apply", str(plan), "--target", "linux", "--follow")
    plan.write_text("[[group]]\nnam = 1\n")
    booted.run("systemctl", "start", name, status=1)
    wait(lambda: booted.show(name, "ActiveState") == "failed", lambda: booted.log(name))
    assert booted.show(name, "ExecMainStatus") == "2"
    assert booted.show(name, "NRestarts") == "0"
    assert booted.log(name).count("anabranch: error: ") == 1
