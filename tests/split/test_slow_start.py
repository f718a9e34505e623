"""Slow start from Python: shares of the formula, the home of every flow, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anabranch as ab

KEYS = np.random.default_rng(1).integers(0, 2**63, 20_000, dtype=np.uint64)


def test_a_path_that_comes_back_gets_its_share_little_by_little_and_then_its_own_flows() -> None:
    splitter = ab.Splitter("min-move", [4, 3, 2])
    home = splitter.pick(KEYS)
    splitter.update(up=[True, False, True])
    shares = []
    for age in (0, 6, 30, 45):
        splitter.slow_start([None, age, None], window_s=60, up=[True, True, True])
        part = max(0.1, age / 60)
        shares.append(splitter.asked()[1])
        assert shares[-1] == pytest.approx(3 * part / (6 + 3 * part), rel=1e-4)
        # Whoever has moved is at home.
        moved = splitter.pick(KEYS)
        assert np.array_equal(moved[moved == 1], home[moved == 1])
    splitter.slow_start([None, 60, None], window_s=60)
    assert np.array_equal(splitter.pick(KEYS), home)
    assert shares == sorted(shares)


def test_paths_that_are_down_stay_down() -> None:
    splitter = ab.Splitter("log-rendezvous", [4, 3, 2, 1])
    splitter.update(up=[True, True, True, False])
    splitter.slow_start([None, 30, None, None], window_s=60)
    assert splitter.asked().tolist() == pytest.approx([8 / 15, 3 / 15, 4 / 15, 0])
    splitter.slow_start([None, None, 15, None, 0], window_s=60, aggression=2, min_percent=0, weights=[4, 3, 2, 1, 1])
    assert splitter.asked().tolist() == pytest.approx(np.array([4, 3, 1, 1, 0]) / 9, abs=1e-5)


@pytest.mark.parametrize(
    ("ages", "options", "error"),
    [
        ([None, -1.0], {"window_s": 60}, r"ages_s: -1\.0 is no time; "),
        ([None, 1.0], {"window_s": 0}, "window_s: 0 makes no slow start; "),
        ([None, 1.0], {"window_s": 60, "aggression": 0}, "aggression: 0 makes no slow start; "),
        ([None, 1.0], {"window_s": 60, "min_percent": 110}, "min_percent: 110 makes no slow start; "),
        ([1.0], {"window_s": 60}, "ages_s: 1 for 2 paths; "),
        ([None, 1.0], {"window_s": 60, "weights": [4, 3, 2]}, "ages_s: 2 for 3 paths; "),
        (
            [None, 1.0],
            {"window_s": 60, "weights": [2**52, 7]},
            r"weights: their sum, .* 2\^37 while a",
        ),
    ],
)
def test_what_makes_no_slow_start_is_refused(ages: list[float | None], options: dict[str, Any], error: str) -> None:
    splitter = ab.Splitter("min-move", [4, 3])
    before = splitter.revision
    with pytest.raises(ab.AnabranchError, match=f"^{error}"):
        splitter.slow_start(ages, **options)
    assert splitter.revision == before
