"""Verbs that print a table write the same as JSON: the command, the version, then what the table has."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from anabranch.cli import app
from anabranch.lab.calibration import ceiling
from anabranch.lab.fabric.topology import Lab
from anabranch.reproduce import lab as lab_studies
from support.command import anabranch
from support.dummy_fabric import PATIENCE_S, dummy_fabric
from support.dummy_switch import BRIDGE, dummy_switch
from support.lab_fixture import SCENARIO, need_ovs_lab, new_name
from support.needs import marks_of
from support.small_scenario import SMALL, write_small

STUDY = """
name = "two"
scenario = "small.toml"
seeds = 2
[axes]
"traffic.load" = [0.2, 0.4]
"""
CLAIM = """
fixed = 2026-11-22

[[claim]]
id = "1"
what = "load"
where = "Fig. 1"
text = "faster"
least = 0
compare = "rank"
measure = { quantity = "fct", of = { "traffic.load" = 0.2 }, over = { "traffic.load" = 0.4 }, as = "reduction" }
"""
PLAN = """
seed = 7
[[group]]
name = "all"
match = { ip_dst = "10.2.0.0/16" }
ports = ["p1", "p2", "p3"]
weights = [4, 3, 2]
"""
WORK = """\
num_ranks 2
rank 0 {
send 1000b to 1 tag 0
}
rank 1 {
recv 1000b from 0 tag 0
}
"""
CONNECTION = "10.0.0.1,10.2.0.2,tcp,40000,80"

RESULTS = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
NAMED = {
    "explain": {"steps", "path", "outcome"},
    "lab run": {"run"},
    "plan": {"recipes", "recommended", "refused", "traps"},
    "ports": {"source_port", "path"},
    "run": {"steps", "steps.parquet", "phases", "cost", "requests", "requests.parquet", "served", "interference"},
    "schemes show": {"schemes"},
}
"""Other words in a row of the page: keys of what is in a list, and verbs."""

HASHED = '[routing]\nhash = { algorithm = "crc32" }\n[transport]\nkind = "roce"\n'
GML = "graph [ node [ id 0 ] node [ id 1 ] node [ id 2 ] edge [ source 0 target 1 ] edge [ source 1 target 2 ] ]"
WITHOUT_TABLE = {
    "agent",
    "confirm",
    "install",
    "lab down",
    "lab up",
    "mark",
    "paths",
    "report",
    "schema",
    "schemes new",
    "trace",
}
"""Verbs that write files, lines about what they did, or nothing."""

World = Callable[[Path], AbstractContextManager[list[str]]]
"""The world that a verb needs, and the arguments that it takes from it."""


@contextmanager
def bridge(folder: Path) -> Iterator[list[str]]:
    """A bridge that holds the plan."""
    with dummy_switch() as switch:
        where = ["--openflow", switch.openflow(BRIDGE)]
        assert anabranch("apply", str(folder / "plan.toml"), *where).returncode == 0
        yield where


@contextmanager
def fabric(folder: Path) -> Iterator[list[str]]:
    """Bridges of a small fabric, and the controller's file of it."""
    with dummy_fabric(folder) as found:
        (folder / "fabric.toml").write_text(found.text())
        yield [str(folder / "fabric.toml")]


@contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    """A lab of `lab.toml`."""
    need_ovs_lab()
    (folder / "lab.toml").write_text(SCENARIO)
    found = Lab.up(folder / "lab.toml", new_name())
    try:
        yield found
    finally:
        found.down()


@contextmanager
def lab_to_calibrate(folder: Path) -> Iterator[list[str]]:
    """A lab by its name, measured before: tests of the lab measure."""
    with lab(folder) as found:
        paths = (ceiling.PathCeiling(1, 1e5, 8e4, 9e8, 1500.0),)
        ceiling.write(ceiling.Ceiling(paths, False, 2, 0.1, "6.1", "3.1.0", "2026-01-01T00:00:00+00:00"), found.folder)
        yield [found.name]


@contextmanager
def lab_to_list(folder: Path) -> Iterator[list[str]]:
    """A lab that is there to be listed."""
    with lab(folder):
        yield []


@contextmanager
def lab_to_run(folder: Path) -> Iterator[list[str]]:
    """A lab by its scenario and its name."""
    with lab(folder) as found:
        yield ["lab.toml", "--name", found.name]


@dataclass(frozen=True)
class Document:
    """What a verb writes: a list of rows, or one table, with a key that all of them have."""

    key: str
    inner: str
    arguments: tuple[str, ...] = ()
    world: World = lambda _: nullcontext([])


OF_PLAN = ("plan.toml", "--target", "table", "--folder", "tables")
BRIEFLY = ("--unchecked", "--allow-busy", "-o", "traffic.duration=100 ms")
DOCUMENTS = {
    "apply": Document("lines", "", OF_PLAN),
    "compare": Document("table", "slowdown_mean", ("ecmp", "spray", "--scenario", "small.toml", "--seeds", "1")),
    "control": Document("switches", "differences", ("--dry-run", "--timeout", f"{PATIENCE_S:g}"), fabric),
    "diff": Document("lines", "", OF_PLAN),
    "doctor": Document("findings", "hint"),
    "examples": Document("examples", "about"),
    "explain": Document("connections", "path", (CONNECTION, "--weights", "4,3,2")),
    "graph": Document("graph", "messages", ("work.goal",)),
    "import": Document("import", "assumed", ("two.gml",)),
    "lab calibrate": Document("paths", "tcp_bps", (), lab_to_calibrate),
    "lab list": Document("labs", "state", (), lab_to_list),
    "lab reproduce": Document("groups", "", ("paper",)),
    "lab run": Document("classes", "slowdown_p50", BRIEFLY, lab_to_run),
    "plan": Document("targets", "recommended", ("--weights", "4,3,2")),
    "ports": Document("ports", "source_port", ("hashed.toml", "host0", "host2", "--queue-pairs", "2")),
    "remove": Document("lines", "", OF_PLAN),
    "reproduce": Document("claims", "kind", ("paper",)),
    "run": Document("classes", "slowdown_p99", ("small.toml",)),
    "schemes": Document("schemes", "granularity"),
    "schemes show": Document("scheme", "parameters", ("conga",)),
    "show": Document("links", "capacity_bps", ("small.toml",)),
    "split": Document("techniques", "got_connections", ("--generate", "datacenter:2000", "--weights", "4,3,2")),
    "split hashes": Document("hashes", "lost_pct", ("--generate", "datacenter:2000")),
    "split table": Document("paths", "slots", ("--weights", "4,3,2")),
    "sweep": Document("summary", "slowdown_mean", ("study.toml",)),
    "tolerance": Document("members", "least", ("--members", "8", "--flows", "1000")),
    "verify": Document("groups", "paths", ("plan.toml", "--seconds", "0.01"), bridge),
}


def verbs(group: Any = None, words: tuple[str, ...] = ()) -> dict[str, Any]:
    """Every command by the words that call it; of `split` the nameless one, which takes a trace."""
    group = group or get_command(app)
    context = group.context_class(group)
    found: dict[str, Any] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        path = words if command.hidden else (*words, name)
        if hasattr(command, "list_commands"):
            found |= verbs(command, path)
        if not hasattr(command, "list_commands") or command.invoke_without_command:
            found[" ".join(path)] = command
    return found


def keys_by_verb() -> dict[str, set[str]]:
    """Keys of the documents as the page of results has them."""
    rows = re.findall(
        r"^\| (`[a-z ]+`(?:, `[a-z ]+`)*) \| (.*) \|$", RESULTS.partition("## Documents")[2], re.MULTILINE
    )
    return {
        verb: set(re.findall(r"`([a-z_]+)`", text.partition("With `--")[0])) - NAMED.get(verb, set())
        for verbs, text in rows
        for verb in re.findall(r"`([^`]+)`", verbs)
    }


DOCUMENTED = keys_by_verb()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    group = tmp_path / "studies" / "paper" / "fig1"
    group.mkdir(parents=True)
    for where in (tmp_path, group):
        write_small(where)
        (where / "study.toml").write_text(STUDY)
    (group / "study.toml").write_text(STUDY.replace("seeds = 2", "seeds = 5"))
    (group / "expected.toml").write_text(CLAIM)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "work.goal").write_text(WORK)
    (tmp_path / "hashed.toml").write_text(SMALL + HASHED)
    (tmp_path / "two.gml").write_text(GML)
    (tmp_path / "tables").mkdir()
    monkeypatch.chdir(tmp_path)
    # The real ones take minutes; what `lab reproduce` writes of them is what `reproduce` writes.
    monkeypatch.setattr(lab_studies, "reproduce", lambda *_: [])
    return tmp_path


def test_every_verb_that_prints_a_table_has_json() -> None:
    found = verbs()
    assert {"split", "schemes", "lab run"} < set(found)
    options = {name: {option for one in command.params for option in one.opts} for name, command in found.items()}
    assert {name for name in found if "--json" not in options[name]} == WITHOUT_TABLE
    assert set(DOCUMENTS) == set(found) - WITHOUT_TABLE


@pytest.mark.parametrize("verb", [pytest.param(verb, marks=marks_of(one.world)) for verb, one in DOCUMENTS.items()])
def test_json_on_stdout_stands_in_place_of_the_table(verb: str, folder: Path) -> None:
    one = DOCUMENTS[verb]
    with one.world(folder) as given:
        arguments = (*verb.split(), *given, *one.arguments)
        done = anabranch(*arguments, "--json", "-")
        # `import` takes a new folder only.
        shutil.rmtree(folder / "imported", ignore_errors=True)
        beside = anabranch(*arguments, "--json", "found.json")
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert list(found)[:2] == ["command", "made_by"]
    assert found["command"] == ["anabranch", *arguments, "--json", "-"]
    rows = found[one.key] if isinstance(found[one.key], list) else [found[one.key]]
    assert all(one.inner in row for row in rows)
    documented = DOCUMENTED[verb]
    assert documented <= set(found)
    assert set(found) - {"command", "made_by"} <= documented or verb == "control"
    written = json.loads((folder / "found.json").read_text())
    assert written.keys() == found.keys()
    assert beside.returncode == done.returncode
    assert not beside.stdout.startswith("{")
    assert beside.stdout or verb == "lab reproduce"


def test_two_documents_do_not_share_stdout(folder: Path) -> None:
    done = anabranch("split", "--generate", "datacenter:2000", "--weights", "4,3,2", "--json", "-", "--csv", "-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "json, csv: -: all of them to stdout" in done.stderr
    assert folder.is_dir()


def test_settings_and_json_do_not_share_stdout(folder: Path) -> None:
    done = anabranch("show", "small.toml", "--settings", "--json", "-")
    assert done.returncode == 2
    assert "json: -: stdout has the settings" in done.stderr
    assert folder.is_dir()
