"""Effects of a change: even tables, the split after it, and connections that stay where they are."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest

import anabranch as ab
from anabranch.deploy.targets.plan.explanation import by_technique
from anabranch.deploy.targets.plan.group import group
from anabranch.split.request import Choice
from support.command import anabranch

STATELESS = [technique.name for technique in ab.techniques() if technique.granularity == "stateless"]


def random_keys(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.random.default_rng(8).integers(0, 2**64, count, dtype=np.uint64)


@pytest.mark.parametrize("slots", [4096, 65536])
@pytest.mark.parametrize("first_port", [1024, 20_000, 40_000])
def test_a_new_path_gets_its_share_of_consecutive_ports(slots: int, first_port: int) -> None:
    ports = np.arange(first_port, first_port + 4000)
    keys = ab.flow_keys(ab.five_tuples("10.0.0.1", "10.0.0.2", "tcp", ports, 80), "xor16")
    splitter = ab.Splitter("min-move", [1, 1, 1, 1], slots=slots)
    splitter.update(weights=[1, 1, 1, 1, 1])
    got = np.bincount(splitter.pick(keys), minlength=5)
    # Binomial noise of 4000 connections over five paths is 25.
    assert np.abs(got - 800).max() < 50, got


@pytest.mark.parametrize("weights", [[1] * 4, [1] * 8, [4, 3, 2, 1], [9, 5, 3, 3, 2]])
def test_two_failures_and_two_returns_bring_every_connection_home(weights: list[int]) -> None:
    keys = random_keys(100_000)
    for first, second in itertools.permutations(range(len(weights)), 2):
        for technique in ("min-move", "rejection-cells"):
            splitter = ab.Splitter(technique, weights)
            before = splitter.pick(keys)
            for dead in ({first}, {first, second}, {second}):
                splitter.update(up=[path not in dead for path in range(len(weights))])
            splitter.update(up=[True] * len(weights))
            assert np.array_equal(splitter.pick(keys), before), (technique, first, second)


def test_rejection_cells_forget_failures() -> None:
    keys, draw = random_keys(20_000), np.random.default_rng(3)
    groups = [[11, 7], *(draw.integers(1, 20, draw.integers(2, 8)).tolist() for _ in range(120))]
    for weights in groups:
        splitter = ab.Splitter("rejection-cells", weights)
        before = splitter.pick(keys)
        dead = int(draw.integers(len(weights)))
        splitter.update(up=[path != dead for path in range(len(weights))])
        splitter.update(up=[True] * len(weights))
        assert np.array_equal(splitter.pick(keys), before), weights


def test_explain_fails_the_path_in_the_group_there_is() -> None:
    draw = np.random.default_rng(5)
    tuples = ab.five_tuples("10.0.0.1", "10.0.0.2", "tcp", draw.integers(1, 65536, 300), 80)
    keys = ab.flow_keys(tuples)
    for technique in STATELESS:
        splitter = ab.Splitter(technique, [4, 3, 2])
        before = [one.path for one in by_technique(tuples, group("4,3,2"), Choice(technique), "xxh3", 0)]
        after = [one.path for one in by_technique(tuples, group("4,3,2", [2]), Choice(technique), "xxh3", 0)]
        assert before == (splitter.pick(keys) + 1).tolist(), technique
        splitter.update(up=[True, False, True])
        assert after == (splitter.pick(keys) + 1).tolist(), technique
        if technique == "min-move":
            assert all(b == a for b, a in zip(before, after, strict=True) if b != 2)


def test_the_split_after_each_change_is_shown() -> None:
    job = ("split", "--generate", "nat:4000", "--weights", "4,3,2", "--technique", "min-move,deficit,wcmp")
    changes = ("--change", "4,3,1", "--fail", "2", "--add", "5")
    shown = anabranch(*job, *changes).stdout
    found = json.loads(anabranch(*job, *changes, "--json", "-").stdout)
    tables = re.split(r"\nafter (.*):\n", shown)[1:]
    assert tables[::2] == ["weights become 4,3,1", "path 2 fails", "path 4 of weight 5 joins"]
    for index, table in enumerate(tables[1::2]):
        for technique in found["techniques"]:
            change = technique["changes"][index]
            (row,) = [line.split() for line in table.splitlines() if line.startswith(f"{technique['label']} ")]
            assert sum(change["got_connections"]) == 4000
            got = np.array(change["got_connections"]) / 4000
            error = [abs(g - a) / a for g, a in zip(got, change["asked"], strict=True) if a > 0]
            assert change["mape_pct"] == pytest.approx(100 * np.mean(error))
            assert [float(cell) for cell in row[-len(got) :]] == pytest.approx(100 * got, abs=0.0051)
            assert float(row[1]) == pytest.approx(change["mape_pct"], rel=0.01, abs=0.00051)


def test_a_drain_moves_no_old_connection_and_puts_no_new_one_on_the_path() -> None:
    job = ("split", "--generate", "nat:4000", "--weights", "4,3,2", "--technique", "wrr,min-move,maglev,log-rendezvous")
    run = anabranch(*job, "--drain", "2", "--json", "-")
    assert run.returncode == 0, run.stderr
    for technique in json.loads(run.stdout)["techniques"]:
        (change,) = technique["changes"]
        assert change["change"] == "path 2 drains after half of the connections"
        assert change["asked"] == pytest.approx([2 / 3, 0, 1 / 3])
        if technique["label"] == "wrr":
            assert change["moved"] is None
            assert change["refused"].startswith("drain: wrr remembers flows")
            continue
        assert (change["moved"], change["minimum"]) == (0, 0)
        first, none, last = change["got_connections"]
        assert (first + last, none) == (2000, 0)
        assert change["mape_pct"] == pytest.approx(50 * (abs(first * 1.5 - 2000) + abs(last * 3 - 2000)) / 2000)
        assert change["mape_pct"] < 5 * change["floor_pct"]
    shown = anabranch(*job, "--drain", "2").stdout
    assert "drain 2" in shown
    assert "\nwrr: drain: wrr remembers flows or counts packets, " in shown
    assert "after path 2 drains after half of the connections:" in shown
    wrong = anabranch(*job, "--drain", "4")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("anabranch: error: drain: 4: no such path; ")


@pytest.mark.parametrize("weights", ["4", "0,7", "0,0,1"])
def test_one_path_with_a_positive_weight_has_no_error(weights: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    page = tmp_path_factory.mktemp("one") / "page.html"
    run = anabranch("split", "--generate", "nat:500", "--weights", weights, "--add", "2", "--report", str(page))
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    (row,) = [line for line in run.stdout.splitlines() if line.startswith("maglev ") and "KiB" in line]
    assert row.split()[1:4] == ["0", "-", "-"]
    assert "<svg" in page.read_text()


def test_hashes_of_one_path_are_compared() -> None:
    run = anabranch("split", "hashes", "--generate", "nat:500", "--weights", "4")
    assert run.returncode == 0, run.stderr
    assert "crc16" in run.stdout
