"""The registry as Python sees it."""

import numpy as np
import pytest

import anabranch as ab


def test_every_technique_says_what_it_is() -> None:
    for technique in ab.techniques():
        assert technique.granularity in {"stateless", "flow", "packet"}
        assert technique.summary
        assert technique.source


@pytest.mark.parametrize("technique", [t.name for t in ab.techniques()])
def test_every_technique_fills_every_path_and_no_other(technique: str) -> None:
    splitter = ab.Splitter(technique, [1, 1, 1, 1], up=[True, True, True, False])
    keys = np.random.default_rng(1).integers(0, 2**64, 10_000, dtype=np.uint64)
    assert set(splitter.pick(keys).tolist()) == {0, 1, 2}


def test_an_unknown_technique_is_refused_by_name() -> None:
    with pytest.raises(ab.AnabranchError, match="`maglevv` is unknown"):
        ab.Splitter("maglevv", [1, 1])
