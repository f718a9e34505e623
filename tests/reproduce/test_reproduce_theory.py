"""The theory behind the verdicts, against exact rationals, closed forms and published values."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest

from anabranch import Splitter
from anabranch.files.project.studies.valo.splitting.study import choice
from anabranch.files.project.studies.valo.splitting.theory import (
    Theory,
    jensen_random_pct,
    mapes,
    model_shares,
    served_counts,
    turn_counts,
    volume_shares,
)

TRIALS = 200


@pytest.fixture(scope="module")
def theory() -> Theory:
    return Theory(seed=5, weight_range=(1, 100), draws=40_000)


def volumes(weights: list[int]) -> list[Fraction]:
    """VALO Eq. 6 as printed, products and all, in rationals; weights descending."""
    n = len(weights)
    x = [Fraction(w) for w in weights]

    def big_x(m: int) -> Fraction:
        return Fraction(0) if m > n else x[m - 1] ** m * prod(x[m:])

    steps = [(big_x(m) - big_x(m + 1)) / m for m in range(1, n + 1)]
    return [sum(steps[i:], Fraction(0)) for i in range(n)]


@pytest.mark.parametrize("weights", [[4, 3], [4, 3, 2], [7, 7, 7], [100, 1], [90, 60, 60, 11, 2, 1]])
def test_volumes_are_equation_6(weights: list[int]) -> None:
    exact = volumes(weights)
    assert sum(exact) == prod(weights)
    assert volume_shares(weights) == pytest.approx([float(v / sum(exact)) for v in exact], rel=1e-12)
    turned = list(reversed(weights))
    assert volume_shares(turned) == pytest.approx(list(reversed(volume_shares(weights).tolist())))
    assert volume_shares(weights) == pytest.approx(Splitter("scoring-wide", weights).shares(), abs=1e-6)


def test_volumes_of_the_papers_validation() -> None:
    assert volume_shares([4, 3]) == pytest.approx([5 / 8, 3 / 8])
    assert volume_shares([4, 3, 2]) == pytest.approx([41 / 72, 23 / 72, 8 / 72])


def test_two_paths_have_closed_forms() -> None:
    for light, heavy in [(1, 2), (3, 4), (1, 100)]:
        rho, asked = light / heavy, np.array([[heavy, light]]) / (heavy + light)
        scoring = mapes(asked, volume_shares([[heavy, light]]))[0]
        assert scoring == pytest.approx(25 * (1 - rho**2))
        assert mapes(asked, np.array([[1.0, 1.0]]))[0] == pytest.approx(25 * (1 / rho - rho))
        assert jensen_random_pct(scoring) == pytest.approx(25 * (1 / rho - rho))
    assert jensen_random_pct(19.6) == pytest.approx(42.2, abs=0.05)


@pytest.mark.parametrize(
    ("label", "model", "paths", "expected_pct", "within"),
    [
        ("valo", "exact", 2, 0.498, 0.01),
        ("valo", "exact", 4, 0.899, 0.01),
        ("valo", "exact", 8, 1.386, 0.01),
        ("scoring", "volumes", 2, 16.5, 0.02),
        ("scoring", "volumes", 4, 44.2, 0.01),
        ("scoring", "volumes", 8, 66.7, 0.01),
        ("random", "equal", 4, 148.7, 0.04),
    ],
)
def test_expected_errors_over_random_weights(
    theory: Theory, label: str, model: str, paths: int, expected_pct: float, within: float
) -> None:
    band = theory.band(choice(label), model, [(paths, 40_000)], TRIALS)
    assert band.value == pytest.approx(expected_pct, rel=within)
    assert band.low < expected_pct < band.high


def test_the_band_is_that_of_200_trials(theory: Theory) -> None:
    band = theory.band(choice("valo"), "exact", [(4, 40_000)], TRIALS)
    assert band.low == pytest.approx(0.83, abs=0.02)
    assert band.high == pytest.approx(0.97, abs=0.02)
    population = theory.population(choice("valo"), "exact", (4, 40_000))
    means = [population[at : at + TRIALS].mean() for at in range(0, population.size, TRIALS)]
    assert np.mean([band.low <= mean <= band.high for mean in means]) == pytest.approx(0.95, abs=0.05)


def test_turns_are_counted_exactly() -> None:
    rng = np.random.default_rng(4)
    for paths in (2, 4, 8):
        weights = rng.integers(1, 101, paths)
        connections = int(rng.integers(1, 3000))
        keys = rng.integers(0, 2**63, connections, dtype=np.uint64)
        for cache in ("table", "list"):
            picked = Splitter("wrr", weights.tolist(), order="block", cache=cache).pick(keys)
            counted = np.bincount(picked, minlength=paths)
            assert counted.tolist() == turn_counts(weights, connections).tolist()


@pytest.mark.parametrize(
    ("label", "model"),
    [("wcmp:entries=24", "replicas"), ("wcmp:entries=9", "replicas"), ("wcmp-proportional:entries=10", "proportional")],
)
def test_tables_in_numpy_are_those_of_the_splitter(label: str, model: str) -> None:
    weights = np.random.default_rng(6).integers(1, 101, (60, 4))
    technique = choice(label)
    planned = [Splitter(technique.name, row, None, **dict(technique.parameters)).shares() for row in weights.tolist()]
    assert model_shares(technique, model, weights) == pytest.approx(np.array(planned))


def test_a_wide_table_errs_by_the_floor(theory: Theory) -> None:
    # Entries enough for every weight: the table is exact, so the floor comes out.
    wide = theory.band(choice("wcmp:entries=400"), "replicas", [(4, 40_000)], TRIALS)
    assert wide.value == pytest.approx(0.899, rel=0.03)
    narrow = theory.band(choice("wcmp:entries=24"), "replicas", [(4, 40_000)], TRIALS)
    assert narrow.value == pytest.approx(14.7, rel=0.15)


@pytest.mark.parametrize("connections", [3, 7, 100, 40_000])
def test_least_service_is_counted_exactly(connections: int) -> None:
    rng = np.random.default_rng(4)
    weights = rng.integers(1, 101, (5, 4))
    keys = np.arange(connections, dtype=np.uint64)
    for row, counts in zip(weights, served_counts(weights, connections), strict=True):
        picked = Splitter("wfq", row.tolist()).pick(keys)
        assert np.bincount(picked, minlength=4).tolist() == counts.tolist()
