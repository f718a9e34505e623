"""`anabranch plan --target ebpf`: the shares that the kernel's programs give, before anything is installed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch import AnabranchError, Splitter
from anabranch.deploy.targets.forecast import plan
from anabranch.deploy.targets.plan.group import group
from anabranch.deploy.targets.plan.recipe import Recipe


def recipes(weights: str, *fail: int) -> dict[str, Recipe]:
    (found,) = plan(group(weights, fail), ["ebpf"]).targets
    return {recipe.name: recipe for recipe in found.recipes}


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 1000), min_size=2, max_size=24))
def test_shares_are_those_of_the_same_scheme_in_the_library(weights: list[int]) -> None:
    found = recipes(",".join(map(str, weights)))
    for name, splitter in (
        ("weighted", Splitter("min-move", weights, slots=4096)),
        ("valo", Splitter("valo", weights)),
        ("log-rendezvous", Splitter("log-rendezvous", weights)),
    ):
        shares = splitter.shares()
        assert shares is not None
        assert found[name].achieved == pytest.approx(shares.tolist(), abs=2e-7), name


def test_turns_are_exact_and_counted() -> None:
    found = recipes("4,3,2")["weighted-spray"]
    assert found.achieved == pytest.approx([4 / 9, 3 / 9, 2 / 9], abs=1e-15)
    assert (found.used, found.limit, found.unit) == (9, 1024, "turns")


def test_a_dead_path_loses_its_share_until_it_is_masked() -> None:
    found = recipes("4,3,2", 2)["log-rendezvous"]
    assert found.lost == pytest.approx(1 / 3, abs=1e-6)
    assert found.replanned == pytest.approx([4 / 6, 0, 2 / 6], abs=1e-6)


def test_the_lines_are_a_plan_that_apply_takes() -> None:
    lines = recipes("4,3,2")["valo"].lines
    assert lines[0] == "cat >plan.toml <<'END'"
    assert 'scheme = "valo"' in lines
    assert "weights = [4, 3, 2]" in lines


def test_the_lines_of_the_finer_table_ask_for_it() -> None:
    found = recipes("100,50,10,1")
    small, large = found["weighted"], found["weighted-65536"]
    (error,) = (line for line in large.lines if line.startswith("error = "))
    assert large.mape_pct < float(error.split('"')[1].rstrip("%")) < small.mape_pct
    assert not any(line.startswith("error = ") for line in small.lines)


def test_what_no_program_takes_is_refused_with_the_mend() -> None:
    with pytest.raises(AnabranchError, match="65 paths: the kernel's programs take 64"):
        recipes(",".join(["1"] * 65))
    with pytest.raises(AnabranchError, match="over the 4294967295 of 32 bits; divide them all"):
        recipes("5000000000,3")
    # Among all targets it stops no other.
    found = plan(group("5000000000,3"), ()).targets
    assert "ebpf" not in {target.name for target in found}
