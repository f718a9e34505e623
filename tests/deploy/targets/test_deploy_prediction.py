"""The path that a plan's connections will take, against the path on which a real Open vSwitch sends them."""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import numpy as np
import pytest

from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from anabranch.deploy.targets.ovs.options import ExplainOptions
from anabranch.deploy.targets.ovs.symmetric_hash import symmetric_hash
from anabranch.deploy.targets.ovs.target import TARGET
from anabranch.deploy.targets.plan.explanation import parse_tuples
from anabranch.split.tuples import FIVE_TUPLE, five_tuples, flow_keys
from support.command import anabranch
from support.dummy_switch import BRIDGE, PATIENCE_S, dummy_switch
from support.egress_captures import numbers

PROTOCOLS = {6: "tcp", 17: "udp", 132: "sctp"}
ICMP = {1: "icmp", 58: "icmpv6"}
NO_PORTS = 47
PLAN = """
seed = {seed}

[[group]]
name = "everything"
match = {{}}
ports = ["p1", "p2", "p3"]
{weights}
recipe = "{recipe}"

[[group]]
name = "one-service"
match = {{ ip_dst = ["64.0.0.0/2", "4000::/2"], tcp_dst = 1234, in_port = "p4" }}
ports = ["p3", 1]
recipe = "failover"
"""


@pytest.fixture(scope="module")
def switch() -> Iterator[OpenVSwitch]:
    with dummy_switch() as started:
        yield started


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return tmp_path / "plan.toml"


def connections(count: int, seed: int) -> list[str]:
    """IPv4 and, every fourth, IPv6; TCP, UDP, SCTP, ICMP with type and code, and a protocol without ports."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        bits, make, icmp = (128, IPv6Address, 58) if number % 4 == 3 else (32, IPv4Address, 1)
        # No multicast source: switches drop those.
        ends = [str(make(draw.getrandbits(bits - 1))) for _ in range(2)]
        protocol = draw.choices([6, 17, 132, icmp, NO_PORTS], [5, 5, 2, 5, 1])[0]
        ports = [draw.randrange(1, 65536), draw.choice([1234, draw.randrange(1, 65536)])]
        if protocol == icmp:
            # Echo, unreachable, time exceeded, neighbours, and any.
            ports = [draw.choice([0, 3, 8, 11, 128, 129, 135, 136, draw.randrange(256)]), draw.choice([0, 1, 13])]
        known = protocol in PROTOCOLS or protocol == icmp
        found.append(",".join([*ends, str(protocol), *(map(str, ports) if known else ("0", "0"))]))
    return found


def traced(switch: OpenVSwitch, connection: str) -> int | None:
    """The port that Open vSwitch says it would send a connection from p4 to."""
    source, destination, number, *ports = connection.split(",")
    version = "ipv6" if ":" in source else "ip"
    prefix = "ipv6" if version == "ipv6" else "nw"
    name = PROTOCOLS.get(int(number))
    text = f"{version},nw_proto={number}" if name is None else f"{name}{'6' if version == 'ipv6' else ''}"
    text += f",in_port=4,{prefix}_src={source},{prefix}_dst={destination}"
    if name is not None:
        text += f",{name}_src={ports[0]},{name}_dst={ports[1]}"
    if int(number) in ICMP:
        text += f",{ICMP[int(number)]}_type={ports[0]},{ICMP[int(number)]}_code={ports[1]}"
    taken = re.search(r"^Datapath actions: (\S+)$", switch.appctl("ofproto/trace", BRIDGE, text), re.MULTILINE)
    assert taken is not None
    return None if taken[1] == "drop" else int(taken[1])


def installed(switch: OpenVSwitch, plan: Path, recipe: str, seed: int) -> None:
    weights = "" if recipe == "failover" else "weights = [4, 3, 2]"
    plan.write_text(PLAN.format(recipe=recipe, seed=seed, weights=weights))
    run = anabranch("apply", str(plan), "--openflow", switch.openflow(BRIDGE))
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("recipe", "seed"), [("hash-gravity", 0), ("hash", 2**64 - 2), ("multipath", 12345), ("failover", 1)]
)
def test_every_connection_goes_where_it_was_predicted(switch: OpenVSwitch, plan: Path, recipe: str, seed: int) -> None:
    installed(switch, plan, recipe, seed)
    texts = connections(1000, seed)
    options = ExplainOptions(openflow=switch.openflow(BRIDGE), in_port="p4")
    predicted = TARGET.explain(str(plan), options, parse_tuples(texts))
    assert [one.port for one in predicted] == [traced(switch, text) for text in texts]
    assert len({one.port for one in predicted}) == (2 if recipe == "failover" else 3)
    # Paths count from 1 in the order of the plan's ports, whatever the switch's own numbers are.
    orders = {0xAB010000: ["p1", "p2", "p3"], 0xAB010001: ["p3", "p1"]}
    for one in predicted:
        assert one.path == (None if one.port is None else orders[one.group_id or 0].index(one.outcome) + 1)
    # A bridge that nobody asked is taken as fresh: the same paths, by the ports' names.
    offline = TARGET.explain(str(plan), ExplainOptions(in_port="p4"), parse_tuples(texts))
    if recipe != "failover":
        assert [one.bucket_id for one in offline] == [one.bucket_id for one in predicted]
    named = {"port 1": "p1"}
    assert [named.get(one.outcome, one.outcome) for one in offline] == [one.outcome for one in predicted]


@pytest.mark.parametrize("recipe", ["hash-gravity", "multipath", "failover"])
def test_a_dead_port_is_left_as_predicted(switch: OpenVSwitch, plan: Path, recipe: str) -> None:
    installed(switch, plan, recipe, 5)
    texts = connections(300, 5)
    options = ExplainOptions(openflow=switch.openflow(BRIDGE), in_port="p4")
    before = [traced(switch, text) for text in texts]
    switch.appctl("netdev-dummy/set-admin-state", "p1", "down")
    try:
        await_port(switch, "p1", up=False)
        predicted = TARGET.explain(str(plan), options, parse_tuples(texts))
        now = [traced(switch, text) for text in texts]
        assert [one.port for one in predicted] == now
        assert 1 not in now
        if recipe != "failover":
            assert all(new == old for new, old in zip(now, before, strict=True) if old != 1)
            assert {new for new, old in zip(now, before, strict=True) if old == 1} == {2, 3}
    finally:
        switch.appctl("netdev-dummy/set-admin-state", "p1", "up")
        await_port(switch, "p1", up=True)
    assert [traced(switch, text) for text in texts] == before


def await_port(switch: OpenVSwitch, name: str, *, up: bool) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (switch.vsctl("get", "interface", name, "link_state").strip() == "up") != up:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("recipe", ["dp_hash-twin", "dp_hash", "default"])
def test_packets_take_the_slots_that_were_predicted(
    switch: OpenVSwitch, plan: Path, tmp_path: Path, recipe: str
) -> None:
    """Tracing knows no dp_hash: packets go through the datapath instead."""
    installed(switch, plan, recipe, 77)
    texts = connections(1000, 77)
    captures = {port: tmp_path / f"p{port}.pcap" for port in (1, 2, 3)}
    for port, file in captures.items():
        switch.vsctl("set", "interface", f"p{port}", f"options:tx_pcap={file}")
    try:
        for number, text in enumerate(texts):
            switch.appctl("netdev-dummy/receive", "p4", datapath_flow(text, number))
        deadline, sent = time.monotonic() + PATIENCE_S, dict[int, int]()
        while len(sent) < len(texts) and time.monotonic() < deadline:
            time.sleep(0.05)
            sent = {number: port for port, file in captures.items() for number in numbers(file.read_bytes())}
    finally:
        for port in captures:
            switch.vsctl("clear", "interface", f"p{port}", "options")
    options = ExplainOptions(openflow=switch.openflow(BRIDGE), in_port="p4")
    predicted = TARGET.explain(str(plan), options, parse_tuples(texts))
    assert [one.port for one in predicted] == [sent[number] for number in range(len(texts))]
    assert set(Counter(sent.values())) == {1, 2, 3}


@pytest.mark.parametrize("file", [False, True])
@pytest.mark.parametrize("recipe", ["dp_hash-twin", "dp_hash"])
def test_without_type_and_code_nobody_says_where_icmp_goes(plan: Path, tmp_path: Path, recipe: str, file: bool) -> None:
    plan.write_text(PLAN.format(recipe=recipe, seed=77, weights="weights = [4, 3, 2]"))
    ends = ["10.0.0.1,10.0.0.2,icmp", "fd00::1,fd00::2,icmpv6", "10.0.0.1,10.0.0.2,tcp"]
    flows = tmp_path / "flows.csv"
    # As captures are read: an ICMP message has ports 0.
    flows.write_text("\n".join(["src,dst,proto,sport,dport", *(f"{one},0,0" for one in ends), ""]))
    given = ["--file", str(flows)] if file else ends
    run = anabranch("explain", *given, "--plan", str(plan), "--in-port", "p4", "--json", "-")
    assert run.returncode == 3
    found = json.loads(run.stdout)["connections"]
    assert [one["port"] is None for one in found] == [True, True, False]
    assert [one["connection"] for one in found] == [*ends[:2], f"{ends[2]},0,0"]
    for one, text in zip(found[:2], ends, strict=False):
        assert one["steps"][-1][1] == f"reads ICMP's type and code, which are not known; write {text},TYPE,CODE"
    for text in ("10.0.0.1,10.0.0.2,icmp,0,0", "fd00::1,fd00::2,icmp6,128,0"):
        assert anabranch("explain", text, "--plan", str(plan), "--in-port", "p4").returncode == 0


def datapath_flow(connection: str, number: int) -> str:
    """Packet whose Ethernet source is `number`."""
    source, destination, protocol, *ports = connection.split(",")
    mac = ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))
    text = f"in_port(4),eth(src={mac},dst=02:00:00:00:00:01),"
    if ":" in source:
        text += f"eth_type(0x86dd),ipv6(src={source},dst={destination},label=0,proto={protocol},"
        text += "tclass=0,hlimit=64,frag=no)"
    else:
        text += f"eth_type(0x0800),ipv4(src={source},dst={destination},proto={protocol},tos=0,ttl=64,frag=no)"
    if int(protocol) in PROTOCOLS:
        text += f",{PROTOCOLS[int(protocol)]}(src={ports[0]},dst={ports[1]})"
    if int(protocol) in ICMP:
        text += f",{ICMP[int(protocol)]}(type={ports[0]},code={ports[1]})"
    return text


def random_tuples(
    draw: np.random.Generator, count: int, protocols: Sequence[int]
) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    return np.concatenate(
        [
            five_tuples(
                draw.integers(0, 256, (count, octets), dtype=np.uint8),
                draw.integers(0, 256, (count, octets), dtype=np.uint8),
                draw.choice(protocols, count),
                draw.integers(0, 65536, count),
                draw.integers(0, 65536, count),
            )
            for octets in (4, 16)
        ],
        dtype=FIVE_TUPLE,
    )


def test_without_udp_the_symmetric_hash_is_that_of_the_core() -> None:
    tuples = random_tuples(np.random.default_rng(3), 1000, [6, 132, 1, NO_PORTS])
    assert (symmetric_hash(tuples, 99) == flow_keys(tuples, "ovs-sym-l4", 99)).all()
    back = tuples.copy()
    for end in ("source", "source_port"):
        other = end.replace("source", "destination")
        back[end], back[other] = tuples[other], tuples[end]
    assert (symmetric_hash(back, 99) == symmetric_hash(tuples, 99)).all()


def test_explain_says_rule_group_bucket_and_port(plan: Path) -> None:
    plan.write_text(PLAN.format(recipe="hash-gravity", seed=7, weights="weights = [4, 3, 2]"))
    run = anabranch("explain", "10.0.0.1,10.0.0.2,tcp,40000,80", "--plan", str(plan), "--in-port", "p4")
    assert run.returncode == 0, run.stderr
    steps = [line.split()[0] for line in run.stdout.splitlines()[1:]]
    assert steps == ["rule", "group", "fields", "basis", "score", "score", "score", "path", "port"]
    assert "table=0 priority=1000 ip -> group 0xab010000" in run.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "in_port: a rule asks for it; give --in-port"),
        (("--in-port", "p9"), "in-port: p9: no port there; use one of p1, p2"),
        (("--weights", "1,1"), "weights: 1,1: not used with a plan; leave it out"),
    ],
)
def test_errors_name_the_mend(plan: Path, options: Sequence[str], message: str) -> None:
    plan.write_text(PLAN.format(recipe="hash-gravity", seed=7, weights="weights = [4, 3, 2]"))
    run = anabranch("explain", "10.0.0.1,64.0.0.2,tcp,40000,1234", "--plan", str(plan), *options)
    assert (run.returncode, message in run.stderr) == (2, True), run.stderr


def test_a_seed_that_the_bridge_has_is_asked_for(plan: Path) -> None:
    text = PLAN.format(recipe="hash-gravity", seed=7, weights="weights = [4, 3, 2]")
    plan.write_text(text.replace("seed = 7", ""))
    run = anabranch("explain", "10.0.0.1,10.0.0.2,tcp,40000,80", "--plan", str(plan), "--in-port", "p4")
    assert "seed: missing, and the bridge has it; give --bridge, or a seed in the plan" in run.stderr
