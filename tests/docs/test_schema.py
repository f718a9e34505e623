"""JSON Schemas of files: they take what the readers take, and refuse what the readers refuse."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from anabranch import AnabranchError, _core
from anabranch.cli.reference import fabric_file
from anabranch.cli.reference.schema.files import schemas
from anabranch.cli.reference.schema.value import schema_of
from anabranch.deploy.control import file as control
from anabranch.deploy.targets.registry import plan_forms
from anabranch.simulate.runs.literal import file_text
from anabranch.simulate.scenario.keys import VALUE, keys_of
from anabranch.simulate.study.study import load_study
from support.command import anabranch

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = (ROOT / "examples" / "leaf-spine.toml").read_text()
STUDY = """\
seeds = 2
[scenario]
traffic = [{ sizes = "web-search", load = 0.5 }]
[axes]
routing.balance = ["ecmp", "conga"]
"""
KINDS = {"plan.toml": "plan-ovs", "plan-ebpf.toml": "plan-ebpf"} | dict.fromkeys(
    ("fabric.toml", "p4-fig2.toml", "bgp.toml", "remote-kernels.toml"), "fabric"
)
"""Examples that are neither scenarios nor studies."""
FILES = sorted(path for name in ("examples", "studies") for path in (ROOT / name).rglob("*.toml"))
VALIDATORS = {name: jsonschema.Draft7Validator(schema) for name, schema in schemas().items()}


def kind_of(path: Path, document: dict[str, Any]) -> str:
    is_study = path.name == "study.toml" or "axes" in document
    return "study" if is_study else KINDS.get(path.name, "scenario")


def problems(kind: str, document: Any) -> list[str]:
    found = VALIDATORS[kind].iter_errors(document)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in found]


@pytest.mark.parametrize("kind", VALIDATORS)
def test_schemas_are_schemas_and_the_command_prints_them(kind: str) -> None:
    jsonschema.Draft7Validator.check_schema(VALIDATORS[kind].schema)
    assert json.loads(anabranch("schema", kind).stdout) == VALIDATORS[kind].schema
    assert kind in anabranch("schema").stdout.split()


def test_an_unknown_kind_of_file_is_refused() -> None:
    done = anabranch("schema", "plan-ovz")
    assert done.returncode == 2
    assert "schema: plan-ovz: unknown; did you mean plan-ovs?" in done.stderr


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.name not in ("expected.toml", "papers.toml")],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_files_of_the_repository_are_as_their_schemas_say(path: Path) -> None:
    document = tomllib.loads(path.read_text())
    assert problems(kind_of(path, document), document) == []


def test_what_the_reader_of_scenarios_takes_the_schema_takes() -> None:
    """Scenarios of the fuzzing corpus, most of them damaged."""
    taken = 0
    for path in sorted((ROOT / "fuzz" / "corpus" / "scenario").iterdir()):
        try:
            text = path.read_text()
            _core.Scenario(text, path.name)
            document = tomllib.loads(text)
        except (AnabranchError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            continue
        taken += 1
        assert problems("scenario", document) == [], path.name
    assert taken > 15


def changed(text: str, path: str, value: object) -> dict[str, Any]:
    """A document with another value at a key; the last of several tables is meant."""
    document: dict[str, Any] = tomllib.loads(text)
    *tables, last = path.split(".")
    at: Any = document
    for name in tables:
        at = at.setdefault(name, [{}] if name in ("change", "traffic") else {})
        at = at[-1] if isinstance(at, list) else at
    at[last] = value
    return document


def refuses_scenario(document: dict[str, Any]) -> bool:
    return refused(lambda: _core.Scenario(file_text(document, "test"), "test.toml"))


def refused(read: Callable[[], object]) -> bool:
    try:
        read()
    except AnabranchError:
        return True
    return False


@pytest.mark.parametrize(
    "transport",
    [
        {"kind": "roce", "control": "timely", "rtt_low": "50 us"},
        {"kind": "roce", "recovery": "selective", "rto_low": "1 ms"},
        {"kind": "uec", "control": "rccc", "grant": "1024 B"},
        {"kind": "uec", "control": "nscc+rccc", "credit_share": 0.5, "target": "9 us"},
    ],
)
def test_keys_of_a_choice_within_a_kind_are_taken_by_both(transport: dict[str, Any]) -> None:
    document: dict[str, Any] = tomllib.loads(SCENARIO) | {"transport": transport}
    assert not refuses_scenario(document)
    assert problems("scenario", document) == []
    document["transport"] = transport | {"subflows": 3}
    assert refuses_scenario(document)
    assert problems("scenario", document)


@pytest.mark.parametrize("path", [path for path, key in keys_of(SCENARIO).items() if key.sort == VALUE])
def test_a_value_of_no_type_is_refused_by_both(path: str) -> None:
    document = changed(SCENARIO, path, [[{"no": [True]}]])
    assert refuses_scenario(document)
    assert problems("scenario", document)


@pytest.mark.parametrize(
    ("path", "good", "bad"),
    [
        ("fabric.leaves", 3, "3"),
        ("fabric.leaves", 3, 0),
        ("fabric.leafs", None, 3),
        ("fabric.kind", "leaf-spine", "leafspine"),
        ("fabric.k", None, 4),  # a key of fat-trees
        ("fabric.link.rate", "2.5 Gbit/s", "2.5 parsecs"),
        ("fabric.link.rate", "25 Gbps", 25),
        ("fabric.link.delay", "1us", "1"),
        ("fabric.link.buffer", "200 packets", "200 frames"),
        ("fabric.link.ecn", {"low": "30 KB", "high": "90 KB", "probability": 0.1}, {"low": "30 KB"}),
        ("traffic.load", 0.5, -0.5),
        ("traffic.load", 1, "0.5"),
        ("traffic.sizes", "100 KB", "web-serach"),
        ("traffic.pattern", {"stride": 8}, {"strides": 8}),
        ("traffic.iterations", None, 2),  # a key of ring-all-reduce
        ("routing.balance", "conga", "congo"),
        ("routing.weights", {"leaf0>spine0": 4, "leaf0>spine1": 3}, {"leaf0>spine0": "4"}),
        ("routing.scheme.level_bits", None, 3),  # a parameter of another load balancer
        ("transport.kind", "cubic", "cubik"),
        ("measure.from", "1 ms", True),
        ("colour", None, "red"),
    ],
)
def test_scenarios_are_refused_by_both(path: str, good: object, bad: object) -> None:
    if good is not None:
        fine = changed(SCENARIO, path, good)
        assert not refuses_scenario(fine)
        assert problems("scenario", fine) == []
    wrong = changed(SCENARIO, path, bad)
    assert refuses_scenario(wrong)
    assert problems("scenario", wrong)


@pytest.mark.parametrize(
    ("path", "bad"),
    [("seeds", 0), ("seeds", [1, 1]), ("axis", {}), ("axes", 3), ("quick", {"sedes": 1}), ("name", "a/b")],
)
def test_studies_are_refused_by_both(path: str, bad: object) -> None:
    assert not refused(lambda: load_study(tomllib.loads(STUDY)))
    assert problems("study", tomllib.loads(STUDY)) == []
    wrong = changed(STUDY, path, bad)
    assert refused(lambda: load_study(wrong))
    assert problems("study", wrong)


@pytest.mark.parametrize(
    ("target", "old", "new"),
    [
        ("ovs", "owner = 1", "owner = 256"),
        ("ovs", "owner = 1", "onwer = 1"),
        ("ovs", 'recipe = "multipath"', 'recipe = "multi"'),
        ("ovs", "slots = 512", "slots = 500"),
        ("ovs", "tcp_dst = 443", "tcp_dst = 70000"),
        ("ovs", "tcp_dst = 443", "tcp_destination = 443"),
        ("ovs", 'error = "1%"', "error = 1"),
        ("ovs", 'name = "leaf2"', ""),
        ("linux", 'idle_timer = "60 s"', "idle_timer = 60"),
        ("linux", "buckets = 256", "buckets = 257"),
        ("linux", "gateways", "gateway"),
        ("ebpf", 'hook = "ingress"', 'hook = "in"'),
        ("ebpf", "values = [10, 12]", 'values = ["10", "12"]'),
        ("table", 'folder = "tables"', "folder = 1"),
        ("table", "weights = [4, 3]", 'weights = "4,3"'),
    ],
)
def test_plans_are_refused_by_both(target: str, old: str, new: str) -> None:
    form = plan_forms()[target]
    sample = form.example
    form.parse(sample, "plan.toml")
    assert problems(f"plan-{target}", tomllib.loads(sample)) == []
    wrong = sample.replace(old, new)
    assert wrong != sample
    assert refused(lambda: form.parse(wrong, "plan.toml"))
    assert problems(f"plan-{target}", tomllib.loads(wrong))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("leaves = 2", "leaves = true"),
        ("smoothing = 0.3", "smoothing = 3"),
        ("smoothing", "smoothness"),
        ('weights = "load"', 'weights = "loud"'),
        ('datapath_id = "0000000000000a01"', "datapath_id = 2561"),
        ('prefixes = ["10.1.0.0/24"]', "prefixes = 10"),
        ('scheme = "slots"', 'scheme = "slot"'),
        ("[listen]", "[listens]"),
    ],
)
def test_fabric_files_are_refused_by_both(old: str, new: str) -> None:
    for sample in fabric_file.samples():
        control.parse(sample, "fabric.toml")
        assert problems("fabric", tomllib.loads(sample)) == []
    wrong = fabric_file.SAMPLE.replace(old, new)
    assert wrong != fabric_file.SAMPLE
    assert refused(lambda: control.parse(wrong, "fabric.toml"))
    assert problems("fabric", tomllib.loads(wrong))


def test_an_editor_can_show_meaning_and_default_of_a_key() -> None:
    fabric = VALIDATORS["scenario"].schema["properties"]["fabric"]["properties"]
    assert fabric["leaves"]["description"] == keys_of(SCENARIO)["fabric.leaves"].meaning
    assert fabric["leaves"]["default"] == 4
    group = VALIDATORS["plan-ovs"].schema["properties"]["group"]["items"]["properties"]
    assert group["weights"]["description"].startswith("The split that is desired")


def test_words_that_no_rule_knows_are_an_error() -> None:
    with pytest.raises(ValueError, match="a colour such as red: no schema is known"):
        schema_of("a colour such as red")
