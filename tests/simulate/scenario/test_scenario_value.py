"""Scenarios made in Python: keys of the compiled reader, files and back, errors."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anabranch as ab
from anabranch import AnabranchError, _core
from anabranch.simulate.runs.load import load
from anabranch.simulate.scenario.keys import TABLE, TABLES, every_key
from anabranch.simulate.scenario.table import Table
from anabranch.simulate.scenario.tables import Fabric, Traffic
from support.small_scenario import SMALL, write_small

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.toml")) if "[[traffic]]" in path.read_text()]
KEYS: dict[str, Any] = {
    "fabric": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"sizes": "web-search", "load": 0.5, "duration": "5 ms"}],
}


def test_a_dict_an_object_attributes_and_a_file_are_the_same_scenario(tmp_path: Path) -> None:
    by_attributes = ab.Scenario()
    by_attributes.fabric.leaves = np.int64(2)
    by_attributes.fabric.spines = 2
    by_attributes.fabric.hosts_per_leaf = 2
    by_attributes.traffic.append(Traffic(sizes="web-search", duration="5 ms"))
    by_attributes.traffic[0].load = np.float64(0.5)
    by_keys = ab.Scenario(fabric=Fabric(leaves=2, spines=2, hosts_per_leaf=2), traffic=KEYS["traffic"][0])
    by_keys.to_toml(tmp_path / "scenario.toml")
    made: list[Any] = [KEYS, by_attributes, by_keys, copy.deepcopy(by_keys), tmp_path / "scenario.toml"]
    assert len({load(one).identity for one in made}) == 1
    assert by_attributes == by_keys == ab.Scenario(KEYS)
    assert ab.Scenario.from_toml(by_keys.to_toml()) == by_keys


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_survives_a_round_trip(path: Path) -> None:
    expected = load(path)
    scenario = ab.Scenario.from_toml(path)
    assert scenario.resolve().identity == expected.identity
    again = ab.Scenario.from_toml(f"\n{scenario.to_toml()}") if not expected.named_files() else scenario
    assert again == scenario


def test_the_classes_have_the_keys_of_the_reader_and_no_others() -> None:
    resolved = _core.Scenario(SMALL, "small.toml").resolved_toml()
    written = {path for path, sort, *_ in _core.scenario_keys(resolved) if sort == "value"}
    assert "fabric.leaves" in written
    assert written <= set(every_key())
    for path, key in every_key().items():
        table, _, name = path.rpartition(".")
        annotated = Table.KINDS[table].__annotations__
        assert name in annotated or f"{name}_" in annotated, path
        assert (key.sort in (TABLE, TABLES)) == (path in Table.KINDS)
    for table, kind in Table.KINDS.items():
        for name in (one for one in vars(kind).get("__annotations__", {}) if not one.isupper()):
            if name != "file" or table:
                assert f"{table}.{name.rstrip('_')}".lstrip(".") in every_key()


def test_no_key_hides_behind_a_method() -> None:
    methods = {name for name in vars(Table) if callable(getattr(Table, name))} | set(dir(dict))
    hidden = {path for path in every_key() if path.rpartition(".")[2] in methods & set(dir(Table))}
    assert not hidden
    assert not {path for path in every_key() if "." not in path} & set(vars(ab.Scenario))


def test_defaults_have_the_type_that_the_class_names() -> None:
    kinds = {"int": int, "float": float, "bool": bool, "str": str}
    compared = 0
    for path, key in every_key().items():
        table, _, name = path.rpartition(".")
        annotated = Table.KINDS[table].__annotations__.get(name)
        if key.default is not None and annotated in kinds:
            assert isinstance(key.default, kinds[annotated]), path
            compared += 1
    assert compared > 50


def test_keys_that_are_not_set_show_the_defaults_of_their_kind() -> None:
    scenario = ab.Scenario(KEYS)
    assert scenario.fabric.kind == "leaf-spine"
    assert scenario.fabric.host_link.rate == "10 Gbps"
    assert scenario.measure.from_ is None
    assert "leaves" in dir(scenario.fabric)
    assert "k" not in dir(scenario.fabric)
    scenario.fabric = {"kind": "fat-tree"}
    assert "k" in dir(scenario.fabric)
    scenario.routing.balance = "plb"
    assert "threshold" in dir(scenario.routing.scheme)
    default = scenario.routing.scheme.threshold
    scenario.routing.scheme.threshold = 0.25
    assert (scenario.routing.scheme.threshold, scenario.routing.to_dict()) == (
        0.25,
        {"balance": "plb", "scheme": {"threshold": 0.25}},
    )
    del scenario.routing.scheme.threshold
    assert scenario.routing.scheme.threshold == default != 0.25


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fabrics": {}}, "scenario: fabrics: unknown key; did you mean fabric?"),
        ({"fabric": {"leafs": 3}}, "scenario: fabric.leafs: unknown key; did you mean leaves?"),
        ({"traffic": [{"lod": 1}]}, "scenario: traffic.lod: unknown key; did you mean load?"),
        ({"fabric": {"leaves": "x"}}, "scenario: fabric.leaves: `x` is not a valid value; give a whole number"),
        ({"fabric": {"kind": "fat-tree", "leaves": 2}}, "scenario: fabric.leaves: unknown key; known here: "),
        ({"fabric": {"leaves": None}}, "scenario: fabric.leaves: None: NoneType is no value of a scenario; leave"),
        ({"seed": float("nan")}, "scenario: seed: nan: not finite; give a number"),
        ({"traffic": []}, "scenario: traffic: missing: nothing would be sent; add"),
        ({"change": {"link": "leaf0-spine9", "set": "down"}}, "scenario: change.0: the fabric has no node `spine9`"),
        ({"measure": {"from": "2 ms", "to": "1 ms"}}, "scenario: measure.to: the window would end before it starts"),
        ({"measure": {"from": "9 ms"}}, "scenario: measure.from: no flow begins in the window, and none would count"),
    ],
)
def test_an_error_names_the_key_the_value_and_a_hint(change: dict[str, Any], message: str) -> None:
    with pytest.raises(AnabranchError) as raised:
        ab.Scenario({**KEYS, **change}).resolve().flows()
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_a_bad_file_keeps_its_line_and_nothing_bad_is_written(tmp_path: Path) -> None:
    path = write_small(tmp_path)
    path.write_text(SMALL.replace("leaves = 2", 'leaves = "two"'))
    with pytest.raises(AnabranchError, match=r"small\.toml:5: fabric\.leaves: "):
        ab.Scenario.from_toml(path)
    with pytest.raises(AnabranchError, match="traffic: missing"):
        ab.Scenario().to_toml(tmp_path / "none.toml")
    assert not (tmp_path / "none.toml").exists()
    with pytest.raises(AttributeError, match=r"fabric\.leafs: unknown key; did you mean leaves"):
        _ = ab.Scenario().fabric.leafs


def test_files_that_a_scenario_names_are_found_beside_its_own(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("id,src,dst,size_bytes,start_ns\n0,0,2,3000,0\n")
    text = SMALL.replace(
        'sizes = "web-search"\nload = 0.5\nduration = "10 ms"', 'kind = "flow-list"\nfile = "flows.csv"'
    )
    (tmp_path / "listed.toml").write_text(text)
    scenario = ab.Scenario.from_toml(tmp_path / "listed.toml")
    scenario.seed = 9
    assert len(ab.Scenario(scenario).resolve().flows()["flow"]) == 1
    with pytest.raises(AnabranchError, match=r"flows\.csv"):
        ab.Scenario(scenario.to_dict()).resolve()


def test_show_prints_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    ab.Scenario(KEYS).show()
    printed = capsys.readouterr().out
    for words in ("4 hosts, 2 leaves, 2 spines", "2 shortest paths of 2 links", "offered"):
        assert words in printed


def test_notebooks_show_keys_meanings_and_errors() -> None:
    scenario = ab.Scenario(KEYS)
    page = scenario._repr_html_()
    assert "<td>traffic.0.load</td><td>0.5</td>" in page
    assert "leaf to spine" in page
    assert "<b>2</b>" in scenario.fabric._repr_html_()
    assert "<svg" in scenario.draw()._repr_svg_()
    scenario.traffic[0].load = "much"
    assert "error" in scenario._repr_html_()


def test_a_load_is_a_part_or_percent_and_more_than_the_capacity_is_remarked() -> None:
    def resolved(load: object, **more: object) -> tuple[object, list[str]]:
        given = ab.Scenario(
            fabric={"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
            traffic=[{"sizes": "20 KB", "load": load, "flows": 5, **more}],
        )
        return given.settings["traffic"][0]["load"], [text for text in given.warnings if "traffic.0.load" in text]

    assert resolved("60 %") == resolved("60%") == resolved(0.6) == (0.6, [])
    assert resolved(1.2) == (1.2, [])
    load, (warning,) = resolved("150%")
    assert load == 1.5
    assert warning.startswith("traffic.0.load: 1.5 is 1.5 times the capacity")
    with pytest.raises(ab.AnabranchError, match='60 is 60 times the capacity; give "60 %" if percent are meant'):
        resolved(60)
