"""`anabranch plan`: golden splits, properties of the recipes, errors."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch import _core
from anabranch.deploy.targets.forecast import plan
from anabranch.deploy.targets.linux.predict import HASHES
from anabranch.deploy.targets.ovs.options import ForecastOptions
from anabranch.deploy.targets.ovs.recipes import twin_weights
from anabranch.deploy.targets.plan.group import fitted, group
from anabranch.deploy.targets.plan.recipe import Recipe
from anabranch.deploy.targets.registry import TARGETS
from anabranch.deploy.targets.table import recipes as tables
from support.command import anabranch

WEIGHTS = st.lists(st.integers(1, 1000), min_size=2, max_size=24)


def recipes(weights: str, target: str, *fail: int, **switch: Any) -> dict[str, Recipe]:
    found = plan(group(weights, fail), [target], {"ovs": ForecastOptions(**switch)}).targets
    return {recipe.name: recipe for recipe in found[0].recipes}


# What Open vSwitch 3.1.0 was seen to give: slots, then the error of the worst path in percent.
OPEN_VSWITCH = [
    ("1,1,1", [6, 5, 5], 12.5, 0.0, [86, 85, 85], 0.8),
    # Four claims to three slots are equal here: 22,53,83,98 is as good.
    ("3,7,11,13", [2, 3, 5, 6], 41.7, -92.0, [23, 53, 83, 97], 1.8),
    ("5,100,100", [2, 31, 31], 28.0, -97.0, [6, 125, 125], -3.9),
]


@pytest.mark.parametrize(("weights", "slots", "dp_hash", "scored", "twins", "twin"), OPEN_VSWITCH)
def test_open_vswitch_gives_what_it_was_seen_to_give(
    weights: str, slots: list[int], dp_hash: float, scored: float, twins: list[int], twin: float
) -> None:
    found = recipes(weights, "ovs")
    assert found["dp_hash"].used == sum(slots)
    assert np.array(found["dp_hash"].achieved) * sum(slots) == pytest.approx(slots)
    assert np.array(found["dp_hash-twin"].achieved) * 256 == pytest.approx(twins)
    for name, error in (("dp_hash", dp_hash), ("hash", scored), ("dp_hash-twin", twin)):
        worst = max((e for e in found[name].error_pct if e is not None), key=abs)
        assert worst == pytest.approx(error, abs=0.5 if name != "dp_hash-twin" else 0.05), name
    assert found["hash-gravity"].mape_pct < 0.02


def test_three_hundred_to_one_is_refused_by_dp_hash_and_falls_back() -> None:
    found = recipes("1,300", "ovs")
    assert found["dp_hash"].used == 0
    assert found["dp_hash"].achieved == found["hash"].achieved
    assert found["hash"].error_pct[0] == pytest.approx(-49, abs=1.5)
    assert "falls back to scoring without a word" in found["dp_hash"].needs[0]
    # A weight of 1 is there already: no twin.
    assert twin_weights(["1", "300"], [True, True], 256) == [(0, 1), (1, 255)]


@given(WEIGHTS, st.sampled_from([64, 256]))
@settings(deadline=None)
def test_twin_weights_come_back_slot_for_slot(weights: list[int], slots: int) -> None:
    buckets = twin_weights([str(weight) for weight in weights], [True] * len(weights), slots)
    assert sum(weight for _, weight in buckets) == slots
    assert min(weight for _, weight in buckets) == 1
    for per_bucket in (1, 4):
        table = _core.dp_hash_slots([weight for _, weight in buckets], slots, per_bucket)
        assert table is not None
        assert np.bincount(table).tolist() == [weight for _, weight in buckets]
    seats = np.bincount([path for path, _ in buckets], [weight for _, weight in buckets])
    # Webster: no path has a better claim to one seat more than another has to its last; all keep at least one.
    claims = [Fraction(weight, 2 * int(seat) + 1) for weight, seat in zip(weights, seats, strict=True)]
    held = [Fraction(weight, 2 * int(seat) - 1) for weight, seat in zip(weights, seats, strict=True) if seat > 1]
    assert max(claims) <= min(held)


@given(WEIGHTS)
@settings(deadline=None, max_examples=30)
def test_shares_sum_to_one_and_are_those_of_the_library(weights: list[int]) -> None:
    text = ",".join(map(str, weights))
    for target in TARGETS:
        for recipe in recipes(text, target).values():
            assert sum(recipe.achieved) == pytest.approx(1, abs=1e-9), recipe.name
            assert min(recipe.achieved) >= 0
    found = recipes(text, "ovs")
    direct = ab.Splitter("valo", weights, precision="ovs").shares()
    assert found["hash-gravity"].achieved == pytest.approx(direct)
    written = _core.gravity_weights([str(weight) for weight in weights], 65535)
    assert found["hash-gravity"].achieved == pytest.approx(ab.Splitter("scoring", written).shares(), rel=1e-6)


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=8))
@settings(deadline=None, max_examples=40)
def test_gravity_is_exact_to_16_bits(weights: list[int]) -> None:
    found = recipes(",".join(map(str, weights)), "ovs")["hash-gravity"]
    # One path of 1 beside one of 1000 is the worst: its gravity of 131 of 65535 is off by 0.8 %, half of which counts.
    light = min(weights) / max(weights)
    assert found.mape_pct < (0.1 if light >= 0.01 else 0.5)


def test_the_gravity_of_one_in_a_thousand() -> None:
    """SPLITTING.md, section 4: the light path of 1:1000 is 0.8 % over with 16 bits."""
    found = recipes("1,1000", "ovs")["hash-gravity"]
    assert found.error_pct[0] == pytest.approx(0.8, abs=0.05)


def test_a_dead_path_is_what_the_installed_group_makes_of_it() -> None:
    found = recipes("4,3,2", "ovs", 2)
    stale = ab.Splitter("valo", [4, 3, 2], [True, False, True], precision="ovs", on_failure="stale").shares()
    assert found["hash-gravity"].achieved == pytest.approx(stale)
    assert found["hash-gravity"].replanned_mape_pct < 0.01
    assert found["multipath"].lost == pytest.approx(85 / 256)
    assert all(recipe.achieved[1] == 0 for recipe in found.values())
    linux = recipes("4,3,2", "linux", 2)["mpath"]
    assert linux.achieved == pytest.approx([2 / 3, 0, 1 / 3])


@given(WEIGHTS)
@settings(deadline=None, max_examples=30)
def test_hash_threshold_rounds_cumulative_weights_over_31_bits(weights: list[int]) -> None:
    bounds = [(HASHES * c * 2 + sum(weights)) // (2 * sum(weights)) for c in np.cumsum(weights).tolist()]
    counts = np.diff([0, *bounds])
    found = _core.cumulative_slots([str(weight) for weight in weights], [True] * len(weights), HASHES)
    assert found == counts.tolist()


def test_resilient_takes_the_least_power_of_two_below_the_bound() -> None:
    for bound, buckets in ((1.0, 128), (0.1, 2048)):
        found = plan(group("4,3,2"), ["linux"], None, bound).targets[0].recipes[0]
        assert found.name == f"resilient-{buckets}"
        half = ab.Splitter("linux-resilient", [4, 3, 2], buckets=buckets // 2).shares()
        assert 100 * np.mean(np.abs(np.array(half) / found.asked - 1)) >= bound


def test_weights_over_256_are_written_both_ways_for_linux() -> None:
    found = recipes("1000,3", "linux")
    both = plan(group("1000,3"), ["linux"]).targets[0].recipes
    assert {recipe.written for recipe in both} == {"weights 256,1", "weights 1000,3"}
    assert "16-bit weights" in found["mpath-16bit"].needs[0]
    assert not found["mpath"].needs
    assert fitted([1000, 3], 256) == ([256, 1], False)
    assert fitted([1024, 512], 256) == ([2, 1], True)


def test_few_entries_first_where_a_bound_is_given() -> None:
    preferred = plan(group("4,3,2"), ["table"])
    assert preferred.targets[0].recommended(1.0).name == "min-move:slots=4096"
    bounded = plan(group("4,3,2"), ["table"], None, 0.5)
    assert bounded.targets[0].recommended(0.5).name == "wcmp:entries=16"
    assert bounded.targets[0].recommended(0.5).used == 9


def test_json_holds_every_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "group.toml").write_text('weights = [4, 3, "2.5"]\nfail = 3\n')
    run = anabranch("plan", "--weights", "group.toml", "--json", "plan.json")
    assert run.returncode == 0, run.stderr
    found = json.loads((tmp_path / "plan.json").read_text())
    assert [target["name"] for target in found["targets"]] == list(TARGETS)
    assert found["asked"] == pytest.approx([4 / 7, 3 / 7, 0])
    for target in found["targets"]:
        assert target["recommended"] in [recipe["name"] for recipe in target["recipes"]]
        for recipe in target["recipes"]:
            assert recipe["mape_pct"] == pytest.approx(np.mean(np.abs(recipe["error_pct"][:2])))
    rules = next(r for r in found["targets"][0]["recipes"] if r["name"] == "multipath")["lines"]
    assert sum(line.startswith("table=1,reg0=") for line in rules) == 256


def test_the_tables_fit_a_terminal() -> None:
    run = anabranch("plan", "--weights", "13,11,7,3,2,1", "--fail", "2")
    assert run.returncode == 0, run.stderr
    tables = [line.rstrip() for line in run.stdout.splitlines() if not line.startswith("  ovs-ofctl")]
    assert max(map(len, tables)) <= 110
    for trap in ("OpenFlow 1.5", "UDP ports", "watch_port", "--param", "never give gravity weights to dp_hash"):
        assert trap in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "weights: missing"),
        ("--weights 4,-3", "weights: path 2 has weight `-3`, which is negative"),
        ("--weights 0,0", "weights: all are zero"),
        ("--weights 70000,1 --target ovs", "path 1 has weight 70000, over OpenFlow's 65535; the nearest that fit are"),
        ("--weights 140000,70000 --target ovs", "over OpenFlow's 65535; write 2,1, the same split"),
        ("--weights 1,70001 --target linux", "path 2 has weight 70001, over Linux's 65535"),
        ("--weights 4,3 --target osv", "target: osv: unknown; did you mean ovs?"),
        ("--weights 4,3 --fail 3", "fail: 3: no such path; give a number from 1 to 2"),
        ("--weights 4,0 --fail 1", "no path with a positive weight is alive"),
        ("--weights 4,3 --ports 1", "ports: 1: 1 ports for 2 paths"),
        ("--weights 4,3 --error -1%", "error: -1%: not a percentage above 0"),
        ("--weights 4,3 --ovs-version new", "ovs-version: new: not a version"),
        ("--weights 4,3 --ovs-version 2.9", "ovs-version: 2.9: older than 2.10"),
    ],
)
def test_errors_name_the_key_the_value_and_the_mend(arguments: str, message: str) -> None:
    run = anabranch("plan", *arguments.split())
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("anabranch: error: ")
    assert message in run.stderr
    assert run.stderr.count("\n") == 1


def test_an_unreachable_bound_is_status_1() -> None:
    run = anabranch("plan", "--weights", "1000000,1,3", "--target", "table", "--error", "0.0001%")
    assert run.returncode == 1
    assert "nothing here stays below" in run.stdout
    assert anabranch("plan", "--weights", "4,3", "--target", "table", "--error", "0.1%").returncode == 0


@given(WEIGHTS, st.sampled_from([0.001, 0.1, 1.0, 30.0]))
@settings(max_examples=30)
def test_the_first_table_that_is_near_is_the_one_that_is_recommended(weights: list[int], bound_pct: float) -> None:
    paths = group(tuple(map(str, weights)))
    recommended = tables.forecast(paths, bounded=False).recommended(bound_pct)
    assert tables.first_near(paths, bound_pct).name == recommended.name
