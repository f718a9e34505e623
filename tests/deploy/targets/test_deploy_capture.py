"""Where a plan sends the packets of a capture, against where a real Open vSwitch sends the same frames."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from support.command import anabranch
from support.dummy_switch import BRIDGE, PATIENCE_S, dummy_switch
from support.egress_captures import numbers
from support.header_frames import ICMP, Framed, framed, pcap

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


KINDS = [
    *("4 whole", "4 tagged", "4 first", "4 later", "4 ah", "4 stacked", "4 old tag", "4 mpls"),
    *("6 whole", "6 first", "6 later", "6 options", "6 ah"),
]
OUTSIDE = ("4 stacked", "4 old tag", "4 mpls")
HOSTS = range(1, 13)


def frames() -> list[Framed]:
    """Frames of many connections, and later fragments of pings."""
    made = framed(KINDS, HOSTS)
    return made + framed(["4 later"], HOSTS, [ICMP], len(made) + 1)


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
    switch.forget_flows()
    made = frames()
    outside = sum(one.kind in OUTSIDE for one in made)
    left = sent(switch, tmp_path, [one.frame for one in made], outside)
    # One capture for each kind of headers, so that the order of connections is that of the frames.
    wrong = defaultdict(list)
    answers = Counter[str]()
    for kind in KINDS:
        chosen = [one for one in made if one.kind == kind]
        capture.write_bytes(pcap(one.frame for one in chosen))
        found = explained(plan, capture)
        assert len(found) == len(chosen), kind
        for frame, one in zip(chosen, found, strict=True):
            answers[one["outcome"]] += 1
            real = left.get(frame.number)
            if one["known"] and one["outcome"] != ("others decide" if real is None else f"p{real}"):
                wrong[kind].append((one["connection"], one["outcome"], real))
            # dp_hash alone reads there, of TCP and UDP, what neither a 5-tuple nor the words tell.
            is_unknown = recipe == "dp_hash" and kind == "6 options" and ",sctp," not in one["connection"]
            assert one["known"] != is_unknown, one["connection"]
            assert one["connection"].endswith(f" ({frame.words})") == bool(frame.words)
    assert not wrong, dict(wrong)
    unknown = "not known without the number of the first extension header"
    assert answers.keys() - {unknown} == {"p1", "p2", "p3", "others decide"}
    assert answers["others decide"] == outside


def test_more_tags_are_read_under_another_limit_of_the_whole_switch(switch: OpenVSwitch, tmp_path: Path) -> None:
    plan, capture = tmp_path / "plan.toml", tmp_path / "frames.pcap"
    plan.write_text(PLAN.format(recipe="hash-gravity", seed=3))
    assert anabranch("apply", str(plan), "--openflow", switch.openflow(BRIDGE)).returncode == 0
    switch.forget_flows()
    whole, stacked = (framed([kind], HOSTS, first=first) for kind, first in (("4 whole", 1), ("4 stacked", 101)))
    capture.write_bytes(pcap(one.frame for one in whole))
    said = [one["outcome"] for one in explained(plan, capture)]
    switch.vsctl("set", "Open_vSwitch", ".", "other_config:vlan-limit=2")
    try:
        left = sent(switch, tmp_path, [one.frame for one in stacked], 0)
    finally:
        switch.vsctl("remove", "Open_vSwitch", ".", "other_config", "vlan-limit")
    assert [f"p{left[one.number]}" for one in stacked] == said


def test_plan_counts_what_no_rule_takes_and_split_what_there_is(tmp_path: Path) -> None:
    capture = tmp_path / "frames.pcap"
    made = frames()
    capture.write_bytes(pcap(one.frame for one in made))
    kinds = Counter(one.kind for one in made)
    outside = sum(kinds[kind] for kind in OUTSIDE)
    run = anabranch("plan", "--weights", "4,3,2", "--trace", str(capture), "--json", "-")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    recipes = {one["name"]: one["on_trace"] for target in found["targets"] for one in target["recipes"]}
    # Tagged once, a packet is of the connection that has none.
    total = found["trace"]["connections"]
    assert total == len(made) - kinds["4 tagged"]
    unknown = kinds["6 options"] * 2 // 3
    for name, missing in {"hash-gravity": 0, "multipath": 0, "dp_hash": unknown}.items():
        assert recipes[name]["outside_connections"] == outside, name
        assert recipes[name]["unknown_connections"] == missing, name
        assert sum(recipes[name]["connections"]) == total - outside - missing, name
    assert recipes["min-move:slots=4096"]["unknown_connections"] == sum(bool(one.words) for one in made)
    # A kernel drops what Open vSwitch takes for no IP; a program looks behind two tags, and behind IPv6's headers.
    pieces = sum(count for kind, count in kinds.items() if kind.endswith(("first", "later")))
    for name, told in {
        "mpath": (outside, pieces + kinds["4 ah"] + kinds["6 ah"]),
        "valo": (kinds["4 mpls"], pieces + kinds["4 ah"]),
        "hash-gravity": (outside, 0),
    }.items():
        assert (recipes[name]["outside_connections"], recipes[name]["portless_connections"]) == told, name
    shown = " ".join(anabranch("plan", "--weights", "4,3,2", "--trace", str(capture)).stdout.split())
    assert shown.count(f"without {outside} of these connections: stacked VLAN tags or MPLS") == 2
    assert f"without {kinds['4 mpls']} of these connections: MPLS, behind whose labels a program sees no IP" in shown
    assert f"{pieces + kinds['4 ah']} of these connections: fragments, or authentication headers of IPv4" in shown
    line = "".join(anabranch("split", str(capture), "--weights", "4,3,2").stdout.splitlines()[:4])
    for said in (
        f"{pieces} fragments",
        f"{kinds['4 later'] + kinds['6 later']} later fragments",
        f"{kinds['4 ah'] + kinds['6 ah']} authenticated",
        f"{kinds['4 stacked'] + kinds['4 old tag']} stacked tags",
        f"{kinds['4 mpls']} mpls",
    ):
        assert said in line, line
