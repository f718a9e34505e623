"""Verdicts on counters: planted causes are named, chance as often as asked, and bad files by line."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import anabranch as ab
from anabranch.split.tolerance.chance import chance, explained_picks
from support.command import anabranch

EIGHT = [1] * 8
MIXED = [4, 4, 4, 4, 2, 2, 2, 2]


def verdicts(
    shares: list[float], weights: list[int], flows: int, values: int | None = None, trials: int = 60
) -> Counter[str]:
    """Names of the verdicts on simulated counters of ten packets a flow."""
    share = np.array(shares) / sum(shares)
    picks = values or flows
    drawn = np.random.default_rng(9).multinomial(picks, share, trials) * (10 * flows // picks)
    return Counter(
        ab.judge([int(one) for one in row], weights=weights, flows=flows, packets_per_flow=10).cause.name
        for row in drawn
    )


@pytest.mark.parametrize(
    ("name", "shares", "weights", "flows", "values"),
    [
        ("CHANCE", EIGHT, EIGHT, 10_000, None),
        ("CHANCE", MIXED, MIXED, 10_000, None),
        ("MISSING", [0] + [1] * 7, EIGHT, 10_000, None),
        ("MISSING", [4, 4, 4, 0, 2, 2, 2, 2], MIXED, 10_000, None),
        ("SEVERAL_MISSING", [0, 0] + [1] * 6, EIGHT, 10_000, None),
        ("WEIGHTS", EIGHT, MIXED, 10_000, None),
        ("WEIGHTS", [3, 3, 3, 3, 2, 2, 2, 2], MIXED, 20_000, None),
        ("OFF", [1.2] + [1] * 7, EIGHT, 20_000, None),
        ("FEW_VALUES", [1] * 32, [1] * 32, 8192, 256),
        ("FEW_VALUES", MIXED, MIXED, 10_240, 128),
        ("UNSURE", EIGHT, EIGHT, 20, None),
        ("UNSURE", [7, 6], [7, 6], 200, None),
    ],
)
def test_planted_causes_are_named(
    name: str, shares: list[float], weights: list[int], flows: int, values: int | None
) -> None:
    named = verdicts(shares, weights, flows, values)
    # A right split is taken for wrong once in a thousand, another cause for this one not much more often.
    assert named[name] >= 57, named


def test_right_splits_are_chance_but_for_the_rate() -> None:
    shares = np.array(MIXED) / sum(MIXED)
    drawn = np.random.default_rng(10).multinomial(3000, shares, 1500)
    below = np.mean([chance(shares, row, 3000) < 0.05 for row in drawn])
    # Probabilities of counts come in steps, so a little less often than 5 %: 5 deviations of 1,500 trials.
    assert 0.02 < below < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 1500)


def test_chance_is_the_sum_over_all_outcomes() -> None:
    # Two members: 60 of 100 or farther off, to either side.
    from math import comb

    exact = sum(comb(100, k) for k in range(101) if abs(k - 50) >= 10) / 2**100
    assert chance(np.array([0.5, 0.5]), [60, 40], 100) == pytest.approx(exact, rel=1e-9)
    assert chance(np.array([0.5, 0.5]), [600, 400], 100) == pytest.approx(exact, rel=1e-9)
    shares = np.array([0.5, 0.5])
    most = explained_picks(shares, [600, 400], 1000)
    assert chance(shares, [600, 400], most) >= 0.001 > chance(shares, [600, 400], 2 * most)


def test_values_that_the_hash_sees_are_estimated() -> None:
    drawn = np.random.default_rng(11).multinomial(256, [1 / 32] * 32, 40) * 40
    inside = 0
    for row in drawn:
        one = ab.judge([int(count) for count in row], flows=10_240)
        assert one.values is not None
        inside += one.values[0] <= 256 <= one.values[1]
    assert inside >= 33
    # By the field's own 256 values, chance explains each.
    known = [ab.judge([int(c) for c in row], flows=10_240, values=256).cause.name for row in drawn]
    assert known.count("CHANCE") + known.count("UNSURE") == 40


def test_packets_without_flows_are_judged_where_they_can_be() -> None:
    assert ab.judge([100, 110, 90, 99]).cause.name == "CHANCE"
    far = ab.judge([0, 100, 100, 100])
    assert far.cause.name == "UNSURE"
    assert "if more did, one member is missing; give the number of flows" in far.reason
    assert ab.judge([0, 0, 0]).cause.name == "UNSURE"
    astray = ab.judge([400, 300, 1], weights=[4, 3, 0], flows=701)
    assert (astray.cause.name, astray.reason) == ("WEIGHTS", "1 packets left by member 3 of weight 0")


def test_files_are_read_as_people_have_them(tmp_path: Path) -> None:
    plain, table = tmp_path / "plain", tmp_path / "table.csv"
    plain.write_text("# counters\n1250 1249\n\n1300, 1240\n")
    table.write_text("port,packets,member\nx,1250,a\nx,1249,b\nx,1300,c\nx,1240,d\n")
    named = []
    for counters in (str(plain), str(table), "1250,1249,1300,1240", "1250 1249 1300 1240"):
        done = anabranch("tolerance", counters, "--flows", "5039", "--json", "-")
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert [one["got"] for one in document["members"]] == [1250, 1249, 1300, 1240]
        named.append([one["name"] for one in document["members"]])
    assert named == [list("1234"), list("abcd"), list("1234"), list("1234")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no counters; give whole numbers"),
        (b"member,packets\na,1\nb\n", ":3: b: 1 cells under 2 columns"),
        (b"member,packets\na,1\na,2\n", ":3: a: a member twice"),
        (b"member,packets\na,1\nb,-2\n", ":3: -2: not a count of packets"),
        (b"port,count\na,1\n", ":1: port,count: not a header of counters; begin with member,packets"),
        (b"1\n2.5\n", ":2: 2.5: not a count of packets"),
        (b"1\n" + b"9" * 5000 + b"\n", ":2: 999"),
        (b"1\n9223372036854775808\n", ":2: 9223372036854775808: not a count"),
        (b"7\n", "1 members; give the counters of 2 to 1024"),
        (b"1\xff2\n", "byte 1: not UTF-8"),
    ],
)
def test_bad_files_are_named_by_line(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "counters.txt"
    file.write_bytes(content)
    done = anabranch("tolerance", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr) < 600
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "counters: nowhere.csv: no such file"),
        (["1,2", "--weights", "1,2,3"], "weights: 3: there are counters of 2 members"),
        (["10,20", "--flows", "31"], "flows: 31: only 30 packets were counted"),
        (["10,20", "--band", "3"], "band, fault: of a test that is planned"),
        (["--members", "8", "--band", "-2"], "band: -2.0: out of range"),
        ([], "members, weights: both missing"),
    ],
)
def test_bad_options_are_named(arguments: list[str], message: str) -> None:
    done = anabranch("tolerance", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(re.escape(message), done.stderr), done.stderr
