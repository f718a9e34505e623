"""Study files: axes, seeds, shards, and what is wrong with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import AnabranchError
from anabranch.simulate.runs.literal import document, literal
from anabranch.simulate.study.changed import changed
from anabranch.simulate.study.study import Study, load_study, parse_shard

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_what_is_written_as_toml_reads_back(table: dict[str, Any]) -> None:
    assert tomllib.loads(document(table)) == table


def test_what_toml_scenarios_do_not_have_is_refused() -> None:
    for value in (None, float("nan"), float("inf"), object()):
        with pytest.raises(AnabranchError):
            literal(value)


def study(where: Path, text: str) -> Study:
    (where / "study.toml").write_text(text)
    return load_study(where / "study.toml")


def test_axes_become_cells_seed_by_seed(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        seeds = 2
        [scenario]
        name = "base"
        [axes]
        traffic.load = [0.3, 0.6]
        [axes.failure]
        none = {}
        slow = { change = [{ link = "leaf0-spine1", rate = "2 Gbps" }], routing.delay = "1 ms" }
        """,
    )
    assert found.name == "study"
    assert tomllib.loads(found.scenario_text) == {"name": "base"}
    cells = list(found.points())
    assert [(cell.labels["traffic.load"], cell.labels["failure"], cell.seed) for cell in cells] == [
        (load, failure, seed) for seed in (1, 2) for load in (0.3, 0.6) for failure in ("none", "slow")
    ]
    assert cells[0].overrides == [("traffic.load", "0.3"), ("seed", "1")]
    assert cells[3].overrides == [
        ("traffic.load", "0.6"),
        ("change", '[{ link = "leaf0-spine1", rate = "2 Gbps" }]'),
        ("routing.delay", '"1 ms"'),
        ("seed", "1"),
    ]


def test_points_may_have_more_seeds_than_the_others(tmp_path: Path) -> None:
    text = """
        scenario = {}
        seeds = "4:5"
        [axes]
        traffic.load = [0.3, 0.6]
        routing.balance = ["ecmp", "spray"]
        [[more_seeds]]
        seeds = "5:6"
        at = { traffic.load = [0.6] }
        [[more_seeds]]
        seeds = [6, 1]
        at = { traffic.load = [0.3, 0.6], routing.balance = ["spray"] }
        [quick]
        note = "less"
        """
    found = study(tmp_path, text)
    assert (found.seeds, found.all_seeds) == ([4, 5], [4, 5, 6, 1])
    cells = [(one.seed, one.labels["traffic.load"], one.labels["routing.balance"]) for one in found.points()]
    every = [(load, balance) for load in (0.3, 0.6) for balance in ("ecmp", "spray")]
    assert cells == [
        *((seed, *one) for seed in (4, 5) for one in every),
        *((6, *one) for one in every[1:]),
        *((1, *one) for one in every[1::2]),
    ]
    for fewer in (
        load_study(tmp_path / "study.toml", quick=True),
        changed(found, seeds=[5]),
        changed(found, loads=[0.4]),
    ):
        assert fewer.all_seeds == fewer.seeds


def test_tables_named_by_links_are_values_in_themselves(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        seeds = [7]
        scenario = {}
        [axes.scheme]
        given = { routing = { weights = { "agg2.1>core3" = 2 }, table = "wcmp" } }
        """,
    )
    cell, *others = found.points()
    assert (others, cell.seed) == ([], 7)
    assert cell.overrides[:-1] == [("routing.weights", '{ "agg2.1>core3" = 2 }'), ("routing.table", '"wcmp"')]


def test_a_scenario_is_found_beside_its_study(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("seed = 3\n")
    found = study(tmp_path, 'scenario = "base.toml"')
    assert (found.scenario_text, found.scenario_file) == ("seed = 3\n", str(tmp_path / "base.toml"))
    assert [cell.overrides for cell in found.points()] == [[("seed", "1")]]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("scenario = {}\nseed = 5", "seed: unknown key; did you mean seeds"),
        ("seeds = 5", "scenario: missing; give scenario"),
        ("scenario = 5", "scenario: neither a file nor a table"),
        ('scenario = "lacks.toml"', "lacks.toml: No such file"),
        ("scenario = {}\nseeds = 0", "seeds: 0: no seeds"),
        ("scenario = {}\nseeds = [1, 1]", "twice"),
        ("scenario = {}\naxes = 3", "axes: 3: not a table"),
        ("scenario = {}\n[axes]\nload = []", "axes.load: no values"),
        ("scenario = {}\n[axes]\nload = 0.3", "axes.load: no values; give a list"),
        ("scenario = {}\n[axes]\nload = [0.3, 0.3]", "axes.load: .*twice"),
        ("scenario = {}\n[axes]\nseed = [1, 2]", "axes.seed: .*give seeds = 5"),
        ('scenario = {}\nseeds = "5:3"', "seeds: 5:3: no seeds; give how many, as in 10, or which"),
        ("scenario = {}\nmore_seeds = 3", "more_seeds.0: 3: not a table"),
        ("scenario = {}\n[[more_seeds]]\nseed = 3", "more_seeds.0.seed: unknown key; did you mean seeds"),
        ("scenario = {}\n[[more_seeds]]\nseeds = 3", "more_seeds.0.at: missing; give lists of values by axis"),
        ("scenario = {}\n[[more_seeds]]\nseeds = 3\nat = { x = [1] }", "more_seeds.0.at.x: no such axis"),
        ("scenario = {}\naxes.x = [1]\n[[more_seeds]]\nseeds = 3\nat.x = 1", "more_seeds.0.at.x: 1: give a list"),
        (
            "scenario = {}\naxes.x = [1]\n[[more_seeds]]\nseeds = 3\nat.x = [2]",
            "at.x: 2: no value of the axis; it has 1",
        ),
        ("scenario = {}\n[[more_seeds]]\nseeds = 3\nat = {}", "more_seeds.0.at: {}: names no point; give lists"),
        (
            "scenario = {}\nseeds = 4\naxes.x = [1]\n[[more_seeds]]\nseeds = 4\nat.x = [1]",
            "seeds: all points have these",
        ),
        ("scenario = {}\naxes.x = [1]\n[[more_seeds]]\nat.x = [1]", "more_seeds.0.seeds: missing; give how many"),
        ('scenario = {}\nname = "../x"', "name: ../x"),
        ("scenario = {", "not TOML"),
    ],
)
def test_a_wrong_study_is_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(AnabranchError, match=named) as error:
        study(tmp_path, text)
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


def test_shards_are_counted_from_one() -> None:
    assert parse_shard("3/4") == (3, 4)
    for wrong in ("0/4", "5/4", "1", "a/b", "1/0", ""):
        with pytest.raises(AnabranchError, match="shard"):
            parse_shard(wrong)


def test_texts_are_json_texts_too() -> None:
    """TOML's basic strings and JSON's agree where both are defined."""
    assert literal('a"b\n') == json.dumps('a"b\n')
