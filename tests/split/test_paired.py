"""Paired intervals on synthetic numbers: as often right as they claim, and as many seeds as they ask for decide."""

from __future__ import annotations

import math

import numpy as np
import pytest

from anabranch.split.stats.confidence import half_width, paired_ratio, seeds_needed

SETS = 2000


def pairs(true_ratio: float, seeds: int, spread: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Slowdowns of two schemes: a common effect of each seed, ten times as large as what pairing leaves."""
    random = np.random.default_rng(20261123)
    common = np.exp(10 * spread * random.standard_normal((SETS, seeds)))
    own = np.exp(spread * random.standard_normal((2, SETS, seeds)))
    return list(zip(3 * true_ratio * common * own[0], 3 * common * own[1], strict=True))


@pytest.mark.parametrize("seeds", [2, 5])
@pytest.mark.parametrize("true_ratio", [1.0, 0.8])
def test_the_interval_covers_the_truth_in_95_of_100_sets(true_ratio: float, seeds: int) -> None:
    found = [paired_ratio(a, b) for a, b in pairs(true_ratio, seeds, 0.1)]
    covered = sum(one.low <= true_ratio <= one.high for one in found if one.low is not None and one.high is not None)
    # Four standard deviations of a count of 2000 at 0.95.
    assert abs(covered - 0.95 * SETS) < 4 * math.sqrt(SETS * 0.95 * 0.05)
    decided = sum(one.verdict in ("lower", "higher") for one in found)
    if true_ratio == 1.0:
        assert decided == SETS - covered
    assert all(one.seeds_needed is None or one.seeds_needed > seeds for one in found)


def test_the_interval_of_unpaired_numbers_would_be_far_wider() -> None:
    a, b = pairs(0.8, 5, 0.1)[0]
    paired, alone = paired_ratio(a, b), half_width(np.log(a))
    assert paired.low is not None
    assert paired.high is not None
    assert alone is not None
    assert math.log(paired.high / paired.low) / 2 < alone / 3


def test_equal_numbers_are_equal_and_one_pair_decides_nothing() -> None:
    values = np.array([2.0, 3.0, 5.0])
    same, alone = paired_ratio(values, values), paired_ratio(values[:1], values[1:2])
    assert (same.mean, same.low, same.high, same.verdict, same.seeds_needed) == (1, 1, 1, "equal", None)
    assert (alone.low, alone.high, alone.verdict, alone.seeds_needed) == (None, None, None, None)


@pytest.mark.parametrize("distance", [0.5, 0.1, 0.03])
def test_the_seeds_asked_for_decide_and_one_less_does_not(distance: float) -> None:
    values = np.array([-1.0, 1.0]) * 0.2
    half = half_width(values)
    needed = seeds_needed(half, 2, distance)
    assert needed is not None
    deviation = float(values.std(ddof=1))

    def at(seeds: int) -> float:
        spread = np.resize([-1.0, 1.0], seeds)
        found = half_width((spread - spread.mean()) / spread.std(ddof=1) * deviation)
        assert found is not None
        return found

    assert at(needed) < distance
    assert needed == 3 or at(needed - 1) >= distance
    assert seeds_needed(half, 2, 0.0) is None
    assert seeds_needed(half, 2, 1e-9) is None
