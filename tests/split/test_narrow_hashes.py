"""Hashes of few bits, or of regular keys: no technique is blind to them, and what to expect of a split knows them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import anabranch as ab
from anabranch.split.stats.mape import independent_connections, mape
from support.command import anabranch

NARROW = ["crc8", "crc16", "xor8", "xor16", "pearson8"]
RANDOM_TUPLES = 40_000


def connections() -> np.ndarray[tuple[int], np.dtype[np.void]]:
    draw = np.random.default_rng(11)
    ends = draw.integers(0, 2**32, (2, RANDOM_TUPLES), dtype=np.uint32)
    ports = draw.integers(1, 65536, (2, RANDOM_TUPLES))
    return ab.five_tuples(ends[0], ends[1], "tcp", ports[0], ports[1])


@pytest.mark.parametrize("hash_name", NARROW)
def test_maglev_uses_every_path_under_a_narrow_hash(hash_name: str) -> None:
    keys = ab.flow_keys(connections(), hash_name)
    results = {hash_.name: hash_ for hash_ in ab.hashes()}[hash_name].bits
    for entries in (251, 257, 4099, 65521, 65537, 131071):
        got = np.bincount(ab.Splitter("maglev", [1, 1, 1, 1], entries=entries).pick(keys), minlength=4)
        # So many results on entries as good as random: binomial, at five deviations.
        deviation = np.sqrt(0.25 * 0.75 / 2**results + 0.25 * 0.75 / keys.size)
        assert np.abs(got / keys.size - 0.25).max() < 5 * deviation, (entries, got)


@pytest.mark.parametrize("hash_name", NARROW)
@pytest.mark.parametrize("technique", ["min-move", "cdf", "alias", "wcmp", "linux-resilient", "ovs-dp-hash"])
def test_tables_split_the_results_of_a_narrow_hash_evenly(hash_name: str, technique: str) -> None:
    hash_ = {hash_.name: hash_ for hash_ in ab.hashes()}[hash_name]
    keys = hash_.all_keys()
    assert keys is not None
    assert np.array_equal(hash_.results(keys), np.arange(2**hash_.bits))
    got = np.bincount(ab.Splitter(technique, [1, 1, 1, 1]).pick(keys), minlength=4)
    # A quarter of 256 is 64: before, min-move gave 17, 17, 32 and 34 percent.
    assert np.abs(got - keys.size / 4).max() <= (4 if hash_.bits == 8 else 16), got


def test_what_is_expected_knows_the_width_of_the_hash() -> None:
    job = ("split", "--generate", "nat:200000", "--weights", "4,3,2", "--technique", "maglev,min-move,weighted-random")
    found = {name: json.loads(anabranch(*job, "--hash", name, "--json", "-").stdout) for name in ("xxh3", "crc8")}
    by_name = {name: {one["name"]: one for one in result["techniques"]} for name, result in found.items()}
    for technique in ("maglev", "weighted-random"):
        wide, narrow = by_name["xxh3"][technique], by_name["crc8"][technique]
        assert wide["expected_pct"] == pytest.approx(wide["floor_pct"], rel=0.02)
        # 256 results on two or three random-like entries a percent: several times the floor of 200,000 connections.
        assert narrow["expected_pct"] > 3 * narrow["floor_pct"]
        assert narrow["mape_pct"] == pytest.approx(narrow["expected_pct"], rel=0.5)
    # The expectation is that of the plan over the hash's results, each as likely.
    (crc8,) = [hash_ for hash_ in ab.hashes() if hash_.name == "crc8"]
    keys = crc8.all_keys()
    assert keys is not None
    got = np.bincount(ab.Splitter("maglev", [4, 3, 2]).pick(keys), minlength=3)
    assert by_name["crc8"]["maglev"]["expected_pct"] == pytest.approx(mape([4 / 9, 3 / 9, 2 / 9], got), rel=0.2)


def test_keys_of_narrow_hashes_are_shown_with_their_results() -> None:
    run = anabranch("explain", "10.0.0.1,10.0.0.2,tcp,40000,80", "--weights", "4,3,2", "--hash", "crc16", "--json", "-")
    steps = dict(json.loads(run.stdout)["connections"][0]["steps"])
    result = int(steps["crc16"].split()[0], 16)
    (crc16,) = [hash_ for hash_ in ab.hashes() if hash_.name == "crc16"]
    assert steps["key"] == f"0x{result * crc16.factor:08x} = {result} x {crc16.factor}"


def test_what_is_expected_knows_that_consecutive_ports_share_slots(tmp_path: Path) -> None:
    ports = "".join(f"10.0.0.1,10.0.0.2,tcp,{40_000 + port},80\n" for port in range(800))
    flows = tmp_path / "ports.csv"
    flows.write_text("src,dst,protocol,src_port,dst_port\n" + ports)
    job = ("split", str(flows), "--weights", "1,1,1,1", "--technique", "min-move,maglev,log-rendezvous", "--json", "-")
    found = {name: json.loads(anabranch(*job, "--hash", name).stdout) for name in ("xxh3", "xor32")}
    for technique in found["xxh3"]["techniques"]:
        assert technique["expected_pct"] == pytest.approx(technique["floor_pct"], rel=0.02)
    min_move, maglev, rendezvous = found["xor32"]["techniques"]
    # `xor32` gives all 800 one value in its low 16 bits, which is all that 65536 slots see.
    assert min_move["got_connections"].count(0) == 3
    assert min_move["expected_pct"] == pytest.approx(min_move["mape_pct"])
    assert maglev["expected_pct"] == pytest.approx(maglev["floor_pct"], rel=0.02)
    assert rendezvous["expected_pct"] == pytest.approx(rendezvous["floor_pct"], rel=0.02)


def test_connections_placed_by_chance_are_independent_and_those_of_a_slot_are_one() -> None:
    draw = np.random.default_rng(5)
    for connections, slots in ((800, 65_536), (200_000, 65_536), (5_000, 251), (90, 4096)):
        by_chance = np.bincount(draw.integers(0, slots, connections))
        assert independent_connections(by_chance, slots) == connections
        # Each of `connections / 10` placed by chance, with nine more of its slot.
        together = 10 * np.bincount(draw.integers(0, slots, connections // 10))
        assert independent_connections(together, slots) == pytest.approx(connections / 10, rel=0.2)
    assert independent_connections([800], 65_536) == 1
    assert independent_connections([800], 1) == 800


def test_what_is_expected_knows_that_connections_share_a_key(tmp_path: Path) -> None:
    # The low byte of the address is that of the port, and `xor32` takes both out: one value for all.
    ends = "".join(f"10.0.0.{byte},10.9.9.9,tcp,40000,{0x1F00 + byte}\n" for byte in range(1, 201))
    flows = tmp_path / "ends.csv"
    flows.write_text("src,dst,protocol,src_port,dst_port\n" + ends)
    job = ("split", str(flows), "--weights", "1,1,1,1", "--technique", "log-rendezvous,cdf", "--hash", "xor32")
    for technique in json.loads(anabranch(*job, "--json", "-").stdout)["techniques"]:
        assert technique["got_connections"].count(0) == 3
        assert technique["expected_pct"] == pytest.approx(technique["mape_pct"])
