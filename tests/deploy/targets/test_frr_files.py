"""`anabranch plan --target frr`: what is written for a fabric's routers, the split it predicts, and bad input."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.deploy.targets.frr.bandwidth import MBPS_MAX, announced, predicted
from support.command import Run, anabranch
from support.frr_routers import need_frr

EXAMPLE = Path(__file__).parents[3] / "examples" / "bgp.toml"
FAT_TREE = '[fabric]\nkind = "fat-tree"\nk = 4\n'


def plan(folder: Path, *arguments: str | Path, file: str | Path = EXAMPLE) -> Run:
    return anabranch("plan", "--target", "frr", str(file), "--folder", str(folder), *map(str, arguments))


def written(tmp_path: Path, text: str) -> dict[str, Any]:
    """The record of what is written for a fabric."""
    file = tmp_path / "fabric.toml"
    file.write_text(text)
    done = plan(tmp_path / "out", file=file)
    assert done.returncode == 0, done.stderr
    record: dict[str, Any] = json.loads((tmp_path / "out" / "routers.json").read_text())
    return record


def with_prefixes(fabric: str, leaves: int) -> str:
    return fabric + "".join(f'[leaf.leaf{number}]\nprefixes = ["10.1.{number}.0/24"]\n' for number in range(leaves))


@given(st.lists(st.integers(1, MBPS_MAX), min_size=2, max_size=64))
def test_weights_are_whole_percents_of_bandwidths_that_are_floats(mbps: list[int]) -> None:
    floats = [struct.unpack("f", struct.pack("f", one * 125_000))[0] for one in mbps]
    exact = [Fraction(one) / sum(map(Fraction, floats)) * 100 for one in floats]
    assert predicted(mbps) == [max(1, int(percent)) for percent in exact]


def test_a_path_without_bandwidth_is_not_announced_and_one_alone_weighs_one() -> None:
    assert predicted([10, 0, 30]) == [25, 0, 75]
    assert predicted([0, 7]) == [0, 1]
    assert predicted([100, 100, 200]) == [25, 25, 50]
    # 3, 2 and 95 percent exactly, but for 19,000 Mbit/s, which a float of 32 bits rounds up.
    assert predicted([600, 400, 19000]) == [2, 1, 95]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=8).filter(any))
def test_bandwidths_are_in_the_ratio_of_weights_and_fit(weights: list[int]) -> None:
    mbps = announced(weights, [40_000_000_000] * len(weights))
    assert max(mbps) <= MBPS_MAX
    assert all(one * sum(weights) == weight * sum(mbps) for one, weight in zip(mbps, weights, strict=True))


def test_the_split_is_printed_before_anything_is_installed(tmp_path: Path) -> None:
    done = plan(tmp_path / "out")
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0] == f"{tmp_path}/out: 5 routers"
    # 10:7:4 of 21: 47.6, 33.3 and 19.0 percent, rounded down to 47, 33 and 19 of 99.
    split = "leaf0 leaf1 spine0,spine1,spine2 47.62,33.33,19.05 47,33,19 47.47,33.33,19.19 0.354"
    assert split in lines
    document = json.loads(plan(tmp_path / "out", "--json", "-").stdout)
    (group,) = next(one["groups"] for one in document["routers"] if one["name"] == "leaf0")
    assert (group["weights"], group["bandwidth_mbps"]) == ([10, 7, 4], [10000, 7000, 4000])
    assert (group["installed"], round(group["mape_pct"], 3)) == ([47, 33, 19], 0.354)
    assert document["notes"] == []


def test_what_is_lost_is_a_note(tmp_path: Path) -> None:
    edges = ", ".join(
        f'{{ from = "{one}", to = "{other}", rate = "{rate} Mbps" }}'
        for one, other, rate in (
            *(("host0", "leaf0", 1000), ("host1", "leaf1", 1000)),
            *((leaf, spine, rate) for leaf in ("leaf0", "leaf1") for spine, rate in (("s0", 1000), ("s1", 3))),
        )
    )
    record = written(tmp_path, with_prefixes(f'[fabric]\nkind = "graph"\nedge = [{edges}]\n', 2))
    (group,) = next(one["groups"] for one in record["routers"] if one["name"] == "leaf0")
    assert group["installed"] == [99, 1]
    note = "leaf0 to leaf1: a path of less than 1 % gets weight 1, for FRR's weights are whole percents"
    assert note in record["notes"]


def test_systems_are_those_of_rfc_7938(tmp_path: Path) -> None:
    """Each edge switch alone, the aggregation switches of a pod together, and all cores together."""
    record = written(tmp_path, with_prefixes(FAT_TREE, 8))
    members: dict[int, list[str]] = {}
    for router in record["routers"]:
        members.setdefault(router["as"], []).append(re.sub(r"[\d.]+", "", router["name"]))
    assert sorted(map(sorted, members.values())) == sorted([["leaf"]] * 8 + [["agg"] * 2] * 4 + [["core"] * 4])


def test_neighbours_announce_what_is_split_by(tmp_path: Path) -> None:
    """Each router's plan has the bandwidths that its neighbours' route maps set for those destinations."""
    written(tmp_path, EXAMPLE.read_text())
    for spine, mbps in (("spine0", 10000), ("spine1", 7000), ("spine2", 4000)):
        text = (tmp_path / "out" / spine / "frr.conf").read_text()
        (listed,) = re.findall(r"ip prefix-list (\S+) seq 5 permit 10\.1\.1\.0/24", text)
        entry = rf"route-map to-leaf0 permit \d+\n match ip address prefix-list {listed}\n set extcommunity bandwidth "
        assert re.findall(rf"{entry}(\d+)", text) == [str(mbps)]
    assert "weights = [10000, 7000, 4000]" in (tmp_path / "out" / "leaf0" / "plan.toml").read_text()


@pytest.mark.parametrize("fabric", ["example", "fat tree", "parallel links"])
def test_vtysh_takes_every_configuration(fabric: str, tmp_path: Path) -> None:
    need_frr()
    if os.geteuid() != 0:
        pytest.skip("root needed: vtysh reads its own configuration first")
    ports = {"leaf0": 'spine0 = ["a", "b"]', "leaf1": 'spine0 = ["a", "b"]', "spine0": 'leaf0 = ["a", "b"]'}
    ports["spine0"] += ', leaf1 = ["c", "d"]'
    hosts = {"leaf0": ', host0 = "h"', "leaf1": ', host1 = "h"', "spine0": ""}
    parallel = '[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nparallel_links = 2\n'
    parallel += "".join(f"[switch.{name}]\nports = {{ {one}{hosts[name]} }}\n" for name, one in ports.items())
    texts = {"example": EXAMPLE.read_text(), "fat tree": with_prefixes(FAT_TREE, 8)}
    record = written(tmp_path, texts.get(fabric) or with_prefixes(parallel, 2))
    for router in record["routers"]:
        file = tmp_path / "out" / router["name"] / "frr.conf"
        done = subprocess.run(["vtysh", "-C", "-f", str(file)], capture_output=True, text=True, check=False)
        assert (done.returncode, "%" in done.stdout + done.stderr) == (0, False), done
    file.write_text(file.read_text().replace("set extcommunity bandwidth ", "set extcommunity bandwidth 9"))
    done = subprocess.run(["vtysh", "-C", "-f", str(file)], capture_output=True, text=True, check=False)
    assert "Unknown command" in done.stdout + done.stderr


LEAF_SPINE = '[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\n'


@pytest.mark.parametrize(
    ("text", "arguments", "error"),
    [
        (
            LEAF_SPINE,
            (),
            "fabric.toml: leaf.leaf0.prefixes: missing; give the addresses behind it, as in [leaf.leaf0] ",
        ),
        (
            with_prefixes(LEAF_SPINE, 2) + '[policy]\nweights = "load"\n',
            (),
            "fabric.toml: policy.weights: load: BGP announces what was built; give one of capacity, equal",
        ),
        (
            with_prefixes(LEAF_SPINE.replace("spines = 2", "spines = 65"), 2),
            (),
            "fabric.toml: fabric: leaf0 to leaf1: 65 paths, and FRR takes 64 (maximum-paths); write a part",
        ),
        (
            with_prefixes(LEAF_SPINE + "parallel_links = 2\n", 2),
            (),
            "fabric.toml: switch.leaf0.ports: spine0: several links lead there; name the devices, as in [switch.leaf0]",
        ),
        (
            with_prefixes(LEAF_SPINE, 2) + '[switch.leaf0]\nports = { host0 = "h", spine0 = "a b", spine1 = "eth1" }\n',
            (),
            "fabric.toml: switch.leaf0.ports: a b: no name of a device; name the devices, as in [switch.leaf0]",
        ),
        (with_prefixes(LEAF_SPINE, 2), ("--target", "dbb"), "target: dbb: not used with routers, which split by"),
        (with_prefixes(LEAF_SPINE, 2), ("--pair", "leaf0", "leaf1"), "pair: leaf0 leaf1: not used with routers"),
        (with_prefixes(LEAF_SPINE, 2), ("-o", "routing.seed=1"), "-o routing.seed: not used with routers"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    text: str, arguments: tuple[str, ...], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fabric.toml").write_text(text)
    done = plan(Path("out"), *arguments, file="fabric.toml")
    assert done.returncode == 2
    assert done.stderr.startswith(f"anabranch: error: {error}"), done.stderr
    assert not Path("out").exists()


def test_folders_and_verbs_that_are_not_for_it_are_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("")
    done = plan(tmp_path)
    assert f"folder: {tmp_path}: has files of others" in done.stderr
    assert plan(tmp_path / "out").returncode == plan(tmp_path / "out").returncode == 0
    for verb in ("apply", "remove"):
        refused = anabranch(verb, str(tmp_path / "out" / "leaf0" / "plan.toml"), "--target", "frr")
        error = "target: frr: only compared with a plan, by diff and verify; change it by its own tools, or give `ovs`"
        assert (refused.returncode, refused.stderr.startswith(f"anabranch: error: {error}")) == (2, True), refused


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        ("[1, 2]", "weights: [1, 2]: give a whole number from 0 to 25600 per path, 3 of them, not all 0"),
        ("[0, 0, 0]", "weights: [0, 0, 0]: give a whole number"),
        ("[1, 2, 25601]", "weights: [1, 2, 25601]: give a whole number"),
        ("[1, 2, 2.5]", "weights: [1, 2, 2.5]: give a whole number"),
    ],
)
def test_plans_of_routers_are_checked(weights: str, error: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    match = 'match = { ip_dst = ["10.1.1.0/24"] }'
    file.write_text(f'[[group]]\nname = "leaf1"\n{match}\nports = ["a", "b", "c"]\nweights = {weights}\n')
    refused = anabranch("diff", str(file), "--target", "frr")
    assert refused.returncode == 2
    assert f"plan.toml: group leaf1.{error}" in refused.stderr
