"""The statistics against closed forms and published floors (exact averages over weights 1..100)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from anabranch.split.stats.mape import (
    byte_floor,
    mape,
    mape_band,
    mape_expected,
    mape_floor,
    path_errors,
    total_variation,
)
from anabranch.split.stats.uniformity import chi_square, correlation, lost_expected_pct, lost_pct


def mean_floor(paths: int, connections: int) -> float:
    """The floor averaged exactly over independent weights, uniform on 1..100.

    By symmetry the mean over the paths is that of one path, whose share depends on its own weight and on the
    sum of the others alone; that sum's distribution is a convolution.
    """
    one = np.r_[0.0, np.full(100, 0.01)]
    others = np.array([1.0])
    for _ in range(paths - 1):
        others = np.convolve(others, one)
    weight, rest = np.meshgrid(np.arange(1, 101), np.arange(others.size))
    probability = 0.01 * others[rest]
    share = weight / (weight + rest)
    keep = (probability > 0) & (share < 1)
    p, probability = share[keep], probability[keep]
    m = np.floor(connections * p) + 1
    relative = 2 * m * (1 - p) * binom.pmf(m, connections, p) / (connections * p)
    return float(100 * np.sum(relative * probability))


@pytest.mark.parametrize(
    ("paths", "connections", "published_pct"),
    [
        (2, 10, 31.6),
        (8, 10, 82.4),
        (4, 100, 18.0),
        (4, 1000, 5.69),
        (6, 10_000, 2.34),
        (2, 40_000, 0.498),
        (4, 40_000, 0.899),
        (8, 40_000, 1.386),
        (4, 120_000, 0.519),
    ],
)
def test_the_floor_is_the_published_one(paths: int, connections: int, published_pct: float) -> None:
    digits = 0.006 * published_pct
    assert mean_floor(paths, connections) == pytest.approx(published_pct, abs=digits)
    draws = np.random.default_rng(3).integers(1, 101, (1500, paths))
    sampled = [mape_floor(w / w.sum(), connections) for w in draws]
    error = 4 * np.std(sampled) / np.sqrt(len(sampled))
    assert np.mean(sampled) == pytest.approx(published_pct, abs=digits + error)


@pytest.mark.parametrize("weights", [[1, 1], [4, 3, 2], [1, 0, 7], [100, 1, 1, 1]])
@pytest.mark.parametrize("connections", [1, 7, 100])
def test_the_floor_is_the_sum_over_all_outcomes(weights: list[int], connections: int) -> None:
    p = np.array(weights) / sum(weights)
    counts = np.arange(connections + 1)
    brute = [
        100 * np.sum(binom.pmf(counts, connections, share) * np.abs(counts - connections * share)) / connections / share
        for share in p
        if share > 0
    ]
    assert mape_floor(p, connections) == pytest.approx(np.mean(brute), rel=1e-10)
    assert mape_expected(p, p, connections) == pytest.approx(np.mean(brute), rel=1e-10)


def test_wrong_shares_are_expected_to_err_more() -> None:
    p, q, connections = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.3]), 500
    counts = np.arange(connections + 1)
    brute = [
        100 * np.sum(binom.pmf(counts, connections, b) * np.abs(counts - connections * a)) / (connections * a)
        for a, b in zip(p, q, strict=True)
    ]
    assert mape_expected(q, p, connections) == pytest.approx(np.mean(brute), rel=1e-10)
    assert mape_expected(q, p, connections) > mape_floor(p, connections)


def test_mape_is_equation_1() -> None:
    assert mape([0.5, 0.5], [60, 40]) == pytest.approx(20.0)
    assert mape([0.5, 0.5, 0.0], [60, 40, 0]) == pytest.approx(20.0)
    assert path_errors([0.75, 0.25], [50, 50]) == pytest.approx([-100 / 3, 100.0])


def test_the_band_holds_95_of_100_ideal_splits() -> None:
    p = np.array([4, 3, 2]) / 9
    low, high = mape_band(p, 20_000)
    draws = np.random.default_rng(11).multinomial(20_000, p, 4000)
    inside = [low <= mape(p, draw) <= high for draw in draws]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)
    assert low < mape_floor(p, 20_000) < high


def test_the_byte_floor_is_that_of_random_placement() -> None:
    rng = np.random.default_rng(5)
    p, sizes = np.array([0.5, 0.3, 0.2]), rng.pareto(3.0, 4000) * 1000 + 100
    errors = []
    for _ in range(400):
        path = rng.choice(3, sizes.size, p=p)
        errors.append(mape(p, np.bincount(path, weights=sizes, minlength=3)))
    assert byte_floor(p, sizes) == pytest.approx(np.mean(errors), rel=0.1)
    assert byte_floor(p, np.ones(20_000)) == pytest.approx(mape_floor(p, 20_000), rel=0.01)


def test_total_variation() -> None:
    assert total_variation([0.5, 0.5], [0.5, 0.5]) == 0
    assert total_variation([0.5, 0.5], [0.25, 0.25, 0.5]) == pytest.approx(0.5)


def test_lost_identities() -> None:
    assert lost_pct(np.array([1, 1, 2, 3], dtype=np.uint64)) == pytest.approx(25.0)
    # 20 000 flows cannot have more than 256 one-byte values: the 98.72 % of the VALO paper's section 6.
    assert lost_expected_pct(20_000, 8) == pytest.approx(98.72, abs=1e-6)
    assert lost_expected_pct(40_000, 32) == pytest.approx(0.0005, abs=0.00005)
    assert lost_expected_pct(1_000_000, 32) == pytest.approx(0.0116, abs=0.0001)


def test_even_and_uneven_values() -> None:
    values = np.random.default_rng(2).integers(0, 2**32, 50_000, dtype=np.uint64)
    assert chi_square(values, 32).p_value > 0.001
    assert chi_square(values // np.uint64(2), 32).p_value < 1e-9
    assert chi_square(values, 32).chi2_per_df == pytest.approx(1.0, abs=0.3)


def test_affine_values_are_correlated() -> None:
    values = np.random.default_rng(2).integers(0, 2**32, 50_000, dtype=np.uint64)
    other = np.random.default_rng(9).integers(0, 2**32, 50_000, dtype=np.uint64)
    assert correlation(values, values ^ np.uint64(1)) == pytest.approx(1.0, abs=1e-6)
    assert abs(correlation(values, other)) < 0.02
    for a, b in itertools.permutations([values, np.zeros_like(values)], 2):
        assert correlation(a, b) == 0.0
