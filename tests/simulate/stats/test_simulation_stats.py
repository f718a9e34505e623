"""Statistics of simulations against formulas, tables and counts by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import AnabranchError, _core
from anabranch.simulate.stats.fct import by_class, by_size, quantile
from anabranch.simulate.stats.jobs import completion_ns
from anabranch.simulate.stats.path_counts import path_counts
from anabranch.simulate.stats.size_classes import parse_bounds, size_classes
from anabranch.simulate.stats.tier_load import achieved
from anabranch.simulate.stats.tiers import switches, tier_counts, tier_links
from anabranch.split.stats.confidence import half_width
from support.synthetic import fat_tree, leaf_spine, ports, topology


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=300), st.sampled_from([0.5, 0.95, 0.99, 0.999]))
def test_a_quantile_is_the_least_value_that_covers_its_fraction(values: list[float], q: float) -> None:
    found = quantile(np.array(values), q)
    if len(values) < 1 / (1 - q) - 1e-6:
        assert found is None
        return
    assert found in values
    assert sum(value <= found for value in values) >= q * len(values) - 1e-9
    smaller = [value for value in values if value < found]
    assert len(smaller) < q * len(values) + 1e-9


def test_quantiles_of_a_thousand_numbers() -> None:
    values = np.arange(1, 1001, dtype=np.float64)
    assert [quantile(values, q) for q in (0.5, 0.95, 0.99, 0.999)] == [500, 950, 990, 999]
    assert quantile(values[:999], 0.999) is None


def test_half_width_is_that_of_the_printed_tables() -> None:
    """t(4, 0.975) = 2.776 (any table of Student's t); the deviation of 1..5 is sqrt(2.5)."""
    assert half_width(np.array([1.0, 2, 3, 4, 5])) == pytest.approx(2.776 * (2.5 / 5) ** 0.5, rel=2e-4)
    assert half_width(np.array([1.0])) is None


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    random = np.random.default_rng(1)
    draws = random.normal(7, 3, (2000, 5))
    covered = sum(abs(row.mean() - 7) <= (half_width(row) or 0) for row in draws)
    # Binomial(2000, 0.95): four deviations are 39.
    assert abs(covered - 1900) < 39


def test_classes_hold_their_upper_bound() -> None:
    small, medium, large = size_classes((100, 1000))[1:]
    frame = pl.DataFrame({"size_bytes": [1, 100, 101, 1000, 1001]})
    assert frame.filter(small.holds())["size_bytes"].to_list() == [1, 100]
    assert frame.filter(medium.holds())["size_bytes"].to_list() == [101, 1000]
    assert frame.filter(large.holds())["size_bytes"].to_list() == [1001]
    assert [one.label for one in size_classes()] == ["all", "up to 100 KB", "100 KB - 10 MB", "above 10 MB"]


def test_bounds_are_read_with_their_units() -> None:
    assert parse_bounds("64 KiB, 10MB") == (65_536, 10_000_000)
    assert parse_bounds("1500") == (1500,)
    for wrong, named in (("10 MB,100 KB", "ascend"), ("5 XB", "5 XB"), ("", "no size"), ("-3", "-3")):
        with pytest.raises(AnabranchError, match=named):
            parse_bounds(wrong)


def test_unfinished_flows_are_counted_and_in_no_statistic() -> None:
    frame = pl.DataFrame(
        {
            "size_bytes": [10, 20, 200_000, 30],
            "fct_ns": [100.0, 300.0, 5000.0, None],
            "slowdown": [1.0, 3.0, 2.0, None],
            "finished": [True, True, True, False],
        }
    )
    every, small, medium, large = by_class(frame).iter_rows(named=True)
    assert (every["flows"], every["unfinished"]) == (4, 1)
    assert (small["flows"], small["unfinished"], small["fct_ns_mean"], small["slowdown_p50"]) == (3, 1, 200, 1)
    assert (medium["fct_ns_mean"], medium["slowdown_p99"]) == (5000, None)
    assert (large["flows"], large["fct_ns_mean"]) == (0, None)


def test_bins_by_size_hold_as_many_flows_each() -> None:
    size = np.arange(1, 1001)
    frame = pl.DataFrame({"size_bytes": size, "slowdown": size / 100, "finished": np.ones(1000, dtype=bool)})
    middles, (medians,) = by_size(frame, [0.5], flows_per_bin_min=100, bins_max=20)
    assert middles.tolist() == [50.5 + 100 * number for number in range(10)]
    assert medians.tolist() == pytest.approx([0.5 + number for number in range(10)])


def test_tier_load_is_weighted_by_rate() -> None:
    fabric = leaf_spine(2, 2, 1)
    # Ports of a host come first: two hosts, then leaf 0 to spines 0 and 1, then leaf 1; each with its way back.
    fabric["ports"]["rate_bps"][4] = fabric["ports"]["rate_bps"][5] = 30_000_000_000
    busy = [0.1, 0.2, 0.3, 0.4, 0.9, 0, 0.1, 0, 0.1, 0, 0.1, 0.6]
    found = {tier.direction: tier for tier in achieved(fabric, ports(fabric, busy))}
    assert list(found) == ["host to leaf", "leaf to spine", "spine to leaf", "leaf to host"]
    assert found["host to leaf"].mean_pct == pytest.approx(20)
    up = found["leaf to spine"]
    assert (up.ports, up.capacity_bps) == (4, 60e9)
    assert up.busiest_pct == pytest.approx(90)
    assert up.mean_pct == pytest.approx(100 * (0.9 * 30 + 0.1 * 30) / 60)
    assert found["spine to leaf"].mean_pct == pytest.approx(10)


def test_load_is_taken_before_the_last_flow_begins() -> None:
    fabric = leaf_spine(2, 1, 1)
    busy = ports(fabric, [0.5] * 8)
    empty = ports(fabric, [0.0] * 8).with_columns(start_ns=pl.lit(10_000_000, pl.Int64))
    both = pl.concat([busy, empty])
    assert achieved(fabric, both, until_ns=15e6)[0].mean_pct == pytest.approx(50)
    assert achieved(fabric, both)[0].mean_pct == pytest.approx(25)


def test_a_job_lasts_from_its_first_flow_to_its_last() -> None:
    frame = pl.DataFrame(
        {
            "job": [4, None, 4, 2, 7],
            "start_ns": [10.0, 0.0, 30.0, 5.0, 6.0],
            "fct_ns": [100.0, 9.0, 50.0, 20.0, None],
            "finished": [True, True, True, True, False],
        }
    )
    times, unfinished = completion_ns(frame)
    assert (times.tolist(), unfinished) == ([20.0, 100.0], 1)


@pytest.mark.parametrize(("k", "hosts"), [(4, 2), (6, 3)])
def test_a_fat_tree_has_the_paths_of_its_paper(k: int, hosts: int) -> None:
    """Al-Fares et al., SIGCOMM 2008, section 3: (k/2)^2 between pods, k/2 within."""
    counts = path_counts(fat_tree(k, hosts))
    half = k // 2
    assert sorted(set(counts.values())) == [(2, half), (4, half**2)]
    assert list(counts.values()).count((2, half)) == k * half * (half - 1)
    assert len(counts) == (k * half) * (k * half - 1)


def test_fabrics_of_accelerators_have_the_paths_of_their_papers() -> None:
    def paths(keys: str) -> dict[tuple[int, int], int]:
        counts = path_counts(_core.Fabric(f"[fabric]\n{keys}", "fabric.toml").topology())
        return dict(Counter(counts.values()))

    # 36 routers of a dragonfly (Kim et al., ISCA 2008): one minimal path, of 3 links at most. A router has 3 neighbours
    # in its group and 2 outside, with 3 behind each of the latter, and 2 behind each of the former.
    assert paths('kind = "dragonfly"') == {(1, 1): 36 * 5, (2, 1): 36 * (6 + 6), (3, 1): 36 * 18}
    # Hoffman and Singleton's graph: 7 neighbours, all others two links away by one path.
    assert paths('kind = "slim-fly"\nhosts_per_router = 1') == {(1, 1): 50 * 7, (2, 1): 50 * 42}
    # Network cards, each linked to a leaf of each of 3 planes, which have 2 spines each.
    planes = 'kind = "multi-plane"\nplanes = 3\nleaves = 2\nspines = 2\nhosts_per_leaf = 2'
    assert paths(planes) == {(2, 3): 4, (4, 6): 8}
    # Leaves of rails, all under 4 spines; nothing joins the scale-up switches.
    assert paths('kind = "rail-optimised"') == {(2, 4): 8 * 7}


def test_parallel_links_are_paths_of_their_own() -> None:
    tiers = ["host", "host", "leaf", "leaf", "spine"]
    fabric = topology(tiers, [None] * 5, [(0, 2), (1, 3), (2, 4), (2, 4), (3, 4), (3, 4), (3, 4)])
    assert path_counts(fabric) == {(2, 3): (2, 6), (3, 2): (2, 6)}


@pytest.mark.parametrize(
    ("keys", "ratios"),
    [
        # Hosts over uplinks; slower uplinks; more hosts than k/2; both tiers of uplinks half of what is below.
        ('kind = "leaf-spine"\nspines = 4\nhosts_per_leaf = 16', [4.0]),
        ('kind = "leaf-spine"\nspines = 8\nhosts_per_leaf = 16\nuplink.rate = "5 Gbps"', [4.0]),
        ('kind = "fat-tree"\nk = 4\nhosts_per_leaf = 8', [4.0, 1.0]),
        ('kind = "clos"\nhosts_per_leaf = 4\ncore_link.rate = "5 Gbps"', [2.0, 2.0]),
    ],
)
def test_two_and_three_tiers_can_be_oversubscribed(keys: str, ratios: list[float]) -> None:
    links = tier_links(_core.Fabric(f"[fabric]\n{keys}", "fabric.toml").topology())
    assert [one.oversubscription for one in links] == [None, *ratios]


def test_oversubscription_is_what_comes_in_over_what_goes_out() -> None:
    links = tier_links(leaf_spine(4, 4, 8))
    assert [(one.low, one.high, one.links, one.oversubscription) for one in links] == [
        ("host", "leaf", 32, None),
        ("leaf", "spine", 16, 2.0),
    ]
    counts = tier_counts(fat_tree(4, 2))
    assert [switches(tier, counts) for tier in ("host", "leaf", "aggregation", "spine")] == [
        "hosts",
        "leaves",
        "aggregation",
        "cores",
    ]
