"""Verbs that print a table write the same as JSON: the command, the version, then what the table has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.command import anabranch
from support.small_scenario import write_small

STUDY = """
name = "two"
scenario = "small.toml"
seeds = 2
[axes]
"traffic.load" = [0.2, 0.4]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_small(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "key", "inner"),
    [
        (["schemes"], "schemes", "granularity"),
        (["doctor"], "findings", "hint"),
        (["show", "small.toml"], "links", "capacity_bps"),
        (["run", "small.toml"], "classes", "slowdown_p99"),
        (["sweep", "study.toml"], "summary", "slowdown_mean"),
        (["split", "--generate", "datacenter:2000", "--weights", "4,3,2"], "techniques", "got_connections"),
        (["split", "hashes", "--generate", "datacenter:2000"], "hashes", "lost_pct"),
        (["plan", "--weights", "4,3,2"], "targets", "recommended"),
        (["explain", "10.0.0.1,10.0.0.2,tcp,40000,80", "--weights", "4,3,2"], "connections", "path"),
    ],
)
def test_json_on_stdout_stands_in_place_of_the_table(folder: Path, arguments: list[str], key: str, inner: str) -> None:
    done = anabranch(*arguments, "--json", "-")
    found: dict[str, Any] = json.loads(done.stdout)
    assert list(found)[:2] == ["command", "made_by"]
    assert found[key]
    assert inner in found[key][0]
    beside = anabranch(*arguments, "--json", "found.json")
    written = json.loads((folder / "found.json").read_text())
    assert written[key][0].keys() == found[key][0].keys()
    assert beside.stdout
    assert not beside.stdout.startswith("{")


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
