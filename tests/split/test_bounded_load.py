"""Bounded load from Python: no path above its bound, connections counted, refusals that leave the loads alone."""

from __future__ import annotations

from math import ceil

import numpy as np
import numpy.typing as npt
import pytest

import anabranch as ab

KEYS = np.random.default_rng(1).integers(0, 2**63, 5_000, dtype=np.uint64)


@pytest.mark.parametrize("technique", ["min-move", "log-rendezvous", "maglev"])
def test_each_connection_finds_a_path_below_its_bound(technique: str) -> None:
    splitter = ab.Splitter(technique, [4, 3, 2])
    own = splitter.pick(KEYS)
    loads = np.array([0, 40, 0], dtype=np.uint64)
    paths = splitter.pick_bounded(KEYS, loads, 0.125)
    counts = [0, 40, 0]
    for path, first in zip(paths.tolist(), own.tolist(), strict=True):
        # An eighth and ninths: whole numbers decide.
        bounds = [ceil(9 * weight * (sum(counts) + 1) / 72) for weight in (4, 3, 2)]
        assert counts[path] < bounds[path]
        assert path == first or counts[first] >= bounds[first]
        counts[path] += 1
    assert loads.tolist() == counts
    assert (paths != own).any()


@pytest.mark.parametrize(
    ("technique", "loads", "eps", "error"),
    [
        ("min-move", [1, 2], 0, "eps: 0 is no bound; "),
        ("min-move", [1, 2, 3], 0.5, "loads: 3 for 2 paths; "),
        ("min-move", [2**44, 0], 0.5, "loads: 17592186044416 live connections; "),
        ("deficit", [1, 2], 0.5, "pick_bounded: deficit remembers flows or counts packets"),
    ],
)
def test_what_makes_no_bound_is_refused(technique: str, loads: list[int], eps: float, error: str) -> None:
    splitter = ab.Splitter(technique, [4, 3])
    live: npt.NDArray[np.uint64] = np.array(loads, dtype=np.uint64)
    with pytest.raises(ab.AnabranchError, match=f"^{error}"):
        splitter.pick_bounded(KEYS, live, eps)
    assert live.tolist() == loads


def test_loads_are_an_array_that_can_be_written() -> None:
    read_only: npt.NDArray[np.uint64] = np.zeros(2, dtype=np.uint64)
    read_only.flags.writeable = False
    with pytest.raises(ab.AnabranchError, match=r"^loads: cannot be written; "):
        ab.Splitter("min-move", [4, 3]).pick_bounded(KEYS, read_only, 0.5)
    with pytest.raises(TypeError, match=r"^loads: list; give a NumPy array of uint64 of shape \(paths,\)"):
        ab.Splitter("min-move", [4, 3]).pick_bounded(KEYS, [1, 2], 0.5)  # type: ignore[arg-type]
