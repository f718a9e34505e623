"""Tests of a split before they run: exact against all outcomes, simulation, and published figures."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import anabranch as ab
from anabranch import _core
from anabranch.split.tolerance.bounds import quantiles
from anabranch.split.tolerance.extremes import beyond
from anabranch.split.tolerance.flow_packets import PAYLOAD_BYTES, TABLES, distributions, flow_packets

TRIALS = 20_000
DEVIATIONS = 5
"""Deviations of a binomial estimate that a simulation may be off by: once in two million."""
ROOT = Path(__file__).parents[2]


def share_of_trials(outside: npt.NDArray[np.bool_] | np.bool_, expected: float) -> None:
    """Holds the share of simulated trials against a probability."""
    deviation = math.sqrt(expected * (1 - expected) / outside.size)
    assert abs(outside.mean() - expected) <= DEVIATIONS * deviation + 1 / outside.size, (outside.mean(), expected)


@pytest.mark.parametrize(
    ("weights", "picks", "least", "most"),
    [
        ([1, 1], 7, [2, 2], [5, 5]),
        ([4, 3, 2], 9, [2, 1, 0], [6, 5, 4]),
        ([4, 3, 2], 12, [4, 4, 2], [5, 4, 4]),
        ([1, 1, 1, 5], 10, [0, 0, 0, 3], [3, 3, 3, 10]),
        ([3, 0, 1], 8, [4, 0, 0], [8, 0, 8]),
        ([1, 1, 1], 6, [3, 3, 3], [6, 6, 6]),
    ],
)
def test_the_extremes_are_the_sum_over_all_outcomes(
    weights: list[int], picks: int, least: list[int], most: list[int]
) -> None:
    shares = np.array(weights) / sum(weights)
    outside = 0.0
    for counts in itertools.product(range(picks + 1), repeat=len(weights)):
        if sum(counts) != picks or all(a <= x <= b for a, x, b in zip(least, counts, most, strict=True)):
            continue
        orders = math.factorial(picks) / math.prod(map(math.factorial, counts))
        outside += orders * math.prod(float(p) ** x for p, x in zip(shares, counts, strict=True))
    assert beyond(shares, picks, np.array(least, float), np.array(most, float)) == pytest.approx(outside, abs=1e-12)


@pytest.mark.parametrize(
    ("weights", "flows", "band_pct"), [([1] * 8, 10_000, 8.0), ([4, 3, 2], 5000, 5.0), ([9, 4, 4, 1, 1], 2000, 25.0)]
)
def test_false_alarms_are_those_of_simulated_splits(weights: list[int], flows: int, band_pct: float) -> None:
    test = ab.Tolerance(weights=weights)
    drawn = np.random.default_rng(3).multinomial(flows, test.shares, TRIALS)
    outside = (np.abs(drawn / (flows * test.shares) - 1) > band_pct / 100 + 1e-12).any(axis=1)
    share_of_trials(outside, test.false_alarm(flows, band_pct))


def test_figures_of_eight_sixteen_and_sixty_four_members() -> None:
    assert ab.Tolerance(8).false_alarm(10_000, 2) == pytest.approx(0.985, abs=0.001)
    for members, about in ((8, 258_000), (16, 601_000), (64, 2_930_000)):
        test = ab.Tolerance(members)
        needed = test.flows_needed(2)
        assert needed == pytest.approx(about, rel=0.005)
        assert needed is not None
        assert test.false_alarm(needed, 2) <= 0.001 < test.false_alarm(round(0.99 * needed), 2)


def test_a_field_of_256_values_over_32_members() -> None:
    # 8,000 flows that take the values in turn: 250 for each member on average, and 31.25 for each value.
    shares, values = np.full(32, 1 / 32), 256
    inside = [0.0] * 32, [256.0] * 32
    least, most = math.ceil(54 / 31.25), math.floor(541 / 31.25)
    assert beyond(shares, values, np.full(32, float(least)), np.array(inside[1])) == pytest.approx(0.08, abs=0.005)
    assert beyond(shares, values, np.array(inside[0]), np.full(32, float(most))) == pytest.approx(0.04, abs=0.005)
    drawn = np.random.default_rng(4).multinomial(values, shares, TRIALS) * 31.25
    share_of_trials(drawn.min(axis=1) < 54, beyond(shares, values, np.full(32, float(least)), np.array(inside[1])))
    share_of_trials(drawn.max(axis=1) > 541, beyond(shares, values, np.array(inside[0]), np.full(32, float(most))))
    test = ab.Tolerance(32, values=values)
    assert test.flows_needed(80) is None
    wide = ab.Tolerance(32, values=values, false_alarms=0.2)
    low, high = {(one.least, one.most) for one in wide.bounds(8000)}.pop()
    assert (low, high) == (62, 532), "two values to seventeen"
    exact = quantiles(shares, values, 0.2).alarm(shares, values)
    share_of_trials(((drawn < low) | (drawn > high)).any(axis=1), exact)


def test_narrowest_bounds_alarm_as_often_as_asked() -> None:
    test = ab.Tolerance(weights=[4, 3, 2, 1], false_alarms=0.05)
    drawn = np.random.default_rng(5).multinomial(9000, test.shares, TRIALS)
    members = test.bounds(9000)
    outside = np.zeros(TRIALS, dtype=bool)
    for one, counts in zip(members, drawn.T, strict=True):
        outside |= (counts < one.least) | (counts > one.most)
    exact = quantiles(test.shares, 9000, 0.05).alarm(test.shares, 9000)
    assert 0.04 < exact <= 0.05
    share_of_trials(outside, exact)
    # One narrower for each member would be too often.
    narrower = np.zeros(TRIALS, dtype=bool)
    for one, counts in zip(members, drawn.T, strict=True):
        narrower |= (counts <= one.least + 3) | (counts >= one.most - 3)
    assert narrower.mean() > 0.055
    assert ab.Tolerance(8).false_alarm(10_000, ab.Tolerance(8).band_pct(10_000)) <= 0.001


@pytest.mark.parametrize(
    ("fault", "shares", "values"),
    [
        ("missing", [0, 3 / 5, 2 / 5], None),
        ("equal", [1 / 3] * 3, None),
        ("off:10", [4 / 9, 3 / 9 * 0.9778, 2 / 9 * 1.0], None),
        ("values:64", [4 / 9, 3 / 9, 2 / 9], 64),
    ],
)
def test_power_is_that_of_simulated_faults(fault: str, shares: list[float], values: int | None) -> None:
    test, flows = ab.Tolerance(weights=[4, 3, 2]), 640
    power = test.power(fault, flows)
    bounds = test.bounds(flows)

    def seen(true: list[float]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        picks = values or flows
        drawn = np.random.default_rng(6).multinomial(picks, true, TRIALS) * (flows / picks)
        low, high = np.array([one.least for one in bounds]), np.array([one.most for one in bounds])
        return np.asarray(((drawn < low) | (drawn > high)).any(axis=1))

    if fault == "off:10":
        # The member and the side on which it is hardest to see.
        candidates = []
        for member, factor in itertools.product(range(3), (0.9, 1.1)):
            true = test.shares * (1 - factor * test.shares[member]) / (1 - test.shares[member])
            true[member] = factor * test.shares[member]
            candidates.append(seen(list(true)))
        share_of_trials(min(candidates, key=lambda one: float(one.mean())), power)
    else:
        share_of_trials(seen(shares), power)


def test_flows_to_see_a_fault_see_it() -> None:
    test = ab.Tolerance(weights=[4, 3, 2])
    for fault in ("missing", "equal", "off:10", "values:256"):
        flows = test.flows_to_see(fault)
        assert flows is not None
        assert test.power(fault, flows) >= 0.99 > test.power(fault, round(0.97 * flows) - 1)


def test_distributions_are_those_of_scenarios() -> None:
    source = (ROOT / "crates/traffic/src/sizes/published.rs").read_text()
    assert distributions() == sorted(re.findall(r'table!\(\s+"([a-z0-9-]+)"', source))
    assert (ROOT / TABLES).is_dir()


@pytest.mark.parametrize(
    ("name", "duration"), [("web-search", "1 s"), ("facebook-web-server", "50 ms"), ("alibaba-storage-2019", "50 ms")]
)
def test_moments_of_packets_are_those_of_the_flows_that_scenarios_draw(name: str, duration: str) -> None:
    text = f'[fabric]\nkind = "leaf-spine"\n[[traffic]]\nsizes = "{name}"\nload = 0.9\nduration = "{duration}"\n'
    sizes = np.array(_core.Scenario(text, "drawn.toml").flows()["size_bytes"])
    packets, moments = np.ceil(sizes / PAYLOAD_BYTES), flow_packets(name)
    assert packets.size > 5000
    for drawn, expected in ((packets, moments.mean), (packets**2, moments.spread * moments.mean**2)):
        assert abs(drawn.mean() - expected) < DEVIATIONS * drawn.std() / math.sqrt(drawn.size)


def test_unequal_flows_widen_a_split_as_simulated() -> None:
    flows, band_pct = 20_000, 10.0
    test = ab.Tolerance(4, packets_per_flow="facebook-web-server")
    assert not test.exact
    random = np.random.default_rng(8)
    sizes = flow_sizes("facebook-web-server", random, flows)
    outside = []
    for _ in range(400):
        counts = np.bincount(random.integers(0, 4, flows), weights=random.permutation(sizes), minlength=4)
        outside.append((np.abs(4 * counts / counts.sum() - 1) > band_pct / 100).any())
    expected = test.false_alarm(flows, band_pct)
    # A limit for many flows: within the error of the trials, and of it.
    assert np.mean(outside) == pytest.approx(expected, abs=0.03 + DEVIATIONS * math.sqrt(expected / 400))
    assert ab.Tolerance(4).false_alarm(flows, band_pct) < 1e-6


def flow_sizes(name: str, random: np.random.Generator, flows: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Packets of flows whose sizes follow a published distribution."""
    knots = np.loadtxt(ROOT / TABLES / f"{name.replace('-', '_')}.csv", delimiter=",", skiprows=1)
    return np.ceil(np.interp(random.random(flows), knots[:, 1], knots[:, 0]) / PAYLOAD_BYTES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "members, weights: both missing"),
        ({"members": 0}, "members: 0: out of range"),
        ({"members": 2.5}, "members: 2.5: not a whole number"),
        ({"members": 3, "weights": [1, 1]}, "members: 3: there are 2 weights"),
        ({"members": 3, "values": 0}, "values: 0: out of range"),
        ({"members": 3, "false_alarms": 0.7}, "false_alarms: 0.7: out of range"),
        ({"members": 3, "packets_per_flow": "web-serach"}, "did you mean web-search?"),
        ({"members": 3, "packets_per_flow": -1}, "packets_per_flow: -1: out of range"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ab.AnabranchError, match=re.escape(message)):
        ab.Tolerance(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("mising", "did you mean missing?"),
        ("off", "write it as in off:10"),
        ("values:nan", "write it as in values:256"),
        ("equal:3", "equal has no amount"),
    ],
)
def test_a_bad_fault_is_named(fault: str, message: str) -> None:
    with pytest.raises(ab.AnabranchError, match=re.escape(message)):
        ab.Tolerance(8).power(fault, 1000)
