"""Wino's testbed in a lab: each scheme really in force, its marks and classes seen, and nothing left behind."""

from __future__ import annotations

import json
import math
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.lab.fabric.topology import Lab
from anabranch.marking import nftables as marking
from anabranch.reproduce.backends.lab.wino import table
from anabranch.reproduce.backends.lab.wino.measure import LAB, SIMULATOR, Point, Row, run_lab, run_simulator
from anabranch.reproduce.backends.lab.wino.schemes import SCHEMES, Scheme, installed
from anabranch.targets.ovs.lab import open_vswitch
from support.lab_fixture import need_ovs_lab

SCENARIO = Path(__file__).parents[2] / "studies" / "wino" / "lab" / "scenario.toml"
M = 1_000_000
POINT = Point(degraded_mbps=50, load=0.3, duration_s=1, seed=1, fabric=SCENARIO)
RATES = {frozenset(("leaf0", "spine1")): 50 * M}
BY_NAME = {scheme.name: scheme for scheme in SCHEMES}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    need_ovs_lab()
    if shutil.which("nft") is None:
        pytest.skip("nft is missing: apt install nftables")
    made = Lab.up(SCENARIO, f"lab-test-{secrets.token_hex(4)}")
    try:
        for host in made.hosts.values():
            marking.single_segments(host.interface, enter=host.enter)
        made.set_link("leaf0", "spine1", rate_bps=50 * M)
        yield made
    finally:
        made.down()


def said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def classes(lab: Lab, leaf: str, spine: str) -> dict[str, int]:
    """Packets by class of HTB."""
    shown = said(*lab.switch_enter, "tc", "-statistics", "class", "show", "dev", lab.interface(leaf, spine))
    found = re.findall(r"^class htb (\S+) .*\n Sent \d+ bytes (\d+) pkt", shown, re.MULTILINE)
    return {handle: int(packets) for handle, packets in found}


def labels(lab: Lab, host: str) -> list[int]:
    """Packets of each label that a host has sent."""
    shown = json.loads(said(*lab.hosts[host].enter, "nft", "--json", "list", "table", "ip", marking.TABLE))
    rules = [entry["rule"] for entry in shown["nftables"] if "rule" in entry]
    return [rule["expr"][0]["counter"]["packets"] for rule in rules if rule["chain"].startswith("label")]


def carried(lab: Lab, leaf: str, spine: str) -> int:
    """Bytes that left by an uplink."""
    device = lab.interface(leaf, spine)
    shown = json.loads(said(*lab.switch_enter, "ip", "-json", "-statistics", "link", "show", "dev", device))
    return int(shown[0]["stats64"]["tx"]["bytes"])


def played(lab: Lab, scheme: Scheme) -> tuple[Row, list[int]]:
    """A run, and what it put on the two uplinks of leaf 0."""
    before = [carried(lab, "leaf0", spine) for spine in ("spine0", "spine1")]
    row = run_lab(lab, scheme, POINT)
    after = [carried(lab, "leaf0", spine) for spine in ("spine0", "spine1")]
    assert row.unfinished == 0
    assert row.flows > 10
    return row, [b - a for a, b in zip(before, after, strict=True)]


def test_spraying_halves_and_slices_divide_by_rate(lab: Lab) -> None:
    with installed(lab, BY_NAME["spray"], RATES):
        _, (fast, slow) = played(lab, BY_NAME["spray"])
        assert slow / fast == pytest.approx(1, abs=0.03)
    with installed(lab, BY_NAME["slices"], RATES):
        _, (fast, slow) = played(lab, BY_NAME["slices"])
        # Ten slices and five; packets differ in size, and turns are taken by packets.
        assert slow / fast == pytest.approx(0.5, abs=0.05)
        counts = labels(lab, "host0")
        assert len(counts) == 15
        assert min(counts) > 0
        assert max(counts) - min(counts) <= 1


def test_shaped_slices_are_classes_that_packets_take_in_turn(lab: Lab) -> None:
    with installed(lab, BY_NAME["wino-htb"], RATES):
        played(lab, BY_NAME["wino-htb"])
        for spine, count in (("spine0", 10), ("spine1", 5)):
            found = classes(lab, "leaf0", spine)
            slices = [packets for handle, packets in found.items() if re.fullmatch(r"1:1[0-9a-f]{2}", handle)]
            assert len(slices) == count
            assert min(slices) > 0.8 * max(slices)
            # Nothing but questions for addresses is outside the slices.
            assert found["1:ffff"] < 10
    assert "1:ffff" not in classes(lab, "leaf0", "spine0")
    for host in lab.hosts.values():
        assert said(*host.enter, "nft", "list", "tables") == ""


def test_meters_are_those_of_fifteen_slices(lab: Lab) -> None:
    with installed(lab, BY_NAME["wino-meters"], RATES):
        played(lab, BY_NAME["wino-meters"])
        command = ["ovs-ofctl", "-O", "OpenFlow15"]
        shown = said(*command, "dump-meters", open_vswitch(lab).openflow("leaf0"))
        assert re.findall(r"rate=(\d+) burst_size=(\d+)", shown) == [("10000", "200")] * 15
        passed = re.findall(
            r"packet_in_count:(\d+)", said(*command, "meter-stats", open_vswitch(lab).openflow("leaf0"))
        )
        assert len(passed) == 15
        assert min(map(int, passed)) > 0
    with installed(lab, BY_NAME["weighted"], RATES):
        shown = said(*command, "dump-meters", open_vswitch(lab).openflow("leaf0"))
        assert "rate=" not in shown


def test_every_scheme_has_a_counterpart_in_the_simulator() -> None:
    for scheme in SCHEMES:
        row = run_simulator(scheme, POINT)
        assert row.where == SIMULATOR
        assert row.unfinished == 0
        assert row.afct_ms > 0


def row(where: str, scheme: str, afct_ms: float, seed: int = 1) -> Row:
    return Row(where, scheme, 50, 0.4, seed, 100, 0, afct_ms, 5.0, 90.0, math.nan, 60.0, 1.0, 2.0, 0.0, 7, 1, 6.0)


def test_the_table_compares_means_over_repetitions() -> None:
    rows = [row(LAB, scheme.name, 100.0) for scheme in SCHEMES if scheme.name != "wino-htb"]
    rows += [row(LAB, "wino-htb", 40.0, 1), row(LAB, "wino-htb", 60.0, 2)]
    rows += [row(SIMULATOR, scheme.name, 30.0) for scheme in SCHEMES]
    assert [line for line in table.gains(rows) if "wino-htb" in line] == [
        "100-50, wino-htb: AFCT against ecmp -50 to -50 %, spray -50 to -50 %, weighted -50 to -50 %, "
        "slices -50 to -50 %"
    ]
    assert table.warnings(rows) == [f"{len(rows)} runs began 1 % of their flows 5 to 6 ms late: the machine was busy"]
    lines = table.as_csv(rows).splitlines()
    assert lines[0].startswith("where,scheme,degraded_mbps,load,seed,")
    assert len(lines) == len(rows) + 1
