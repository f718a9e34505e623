"""`anabranch schemes new`: the crate it writes, what it refuses, and that it builds, passes its tests and runs."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from anabranch.simulate.own.crate import TEMPLATE
from support.command import anabranch

ROOT = Path(__file__).resolve().parents[3]


def test_a_crate_is_the_template_under_its_name(tmp_path: Path) -> None:
    done = anabranch("schemes", "new", "two-choices", "--into", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "cargo run --release -- SCENARIO.toml" in done.stdout
    crate = tmp_path / "two-choices"
    found = {str(path.relative_to(crate)) for path in crate.rglob("*") if path.is_file()}
    sources = {"src/lib.rs", "src/main.rs", "tests/picks.csv", "tests/picks.rs", "tests/properties.rs"}
    assert found == sources | {"Cargo.toml", "Cargo.lock", ".gitignore"}
    text = "".join((crate / name).read_text() for name in found)
    assert not re.search("blank.?scheme", text, re.IGNORECASE)
    for name in ('name = "two-choices"', "pub struct TwoChoices;", "use two_choices::{TwoChoices, Parameters};"):
        assert name in text
    paths = re.findall(r'path = "(.*)"', (crate / "Cargo.toml").read_text())
    assert len(paths) == 5
    for path in paths:
        assert (Path(path) / "Cargo.toml").is_file()
        assert Path(path).is_relative_to(ROOT)


def test_the_template_asks_for_what_the_workspace_asks_for() -> None:
    workspace, template = (ROOT / "Cargo.toml").read_text(), (TEMPLATE / "Cargo.toml").read_text()
    for key in ("edition", "rust-version", "proptest"):
        (line,) = re.findall(rf"^{key} = .*$", workspace, re.MULTILINE)
        assert line in template


def test_the_vectors_are_those_of_the_rule() -> None:
    """The rule once more, in other words."""
    with (TEMPLATE / "tests" / "picks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 8
    for row in rows:
        weights, backlogs = ([int(number) for number in row[key].split()] for key in ("weights", "backlogs"))
        entries = [member for member, weight in enumerate(weights) for _ in range(weight)]
        first, second = (entries[int(draw, 16) * len(entries) // 2**32] for draw in row["draws"].split())
        shorter = backlogs[second] + int(row["margin"]) < backlogs[first]
        assert int(row["member"]) == (second if shorter else first), row


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Foo"], "Foo: no name for a crate of one's own; use small letters"),
        (["fn"], "fn: no name for a crate"),
        (["../foo"], "no name for a crate"),
        (["anabranch-sim"], "no name for a crate"),
        (["there"], "there: exists already; choose another name"),
        (["foo", "--into", "lacks"], "lacks: there is no such directory; make it"),
        (["foo", "--source", "."], ".: no sources of anabranch, there is no crates/sim in it; give a checkout"),
    ],
)
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    done = anabranch("schemes", "new", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_a_package_without_sources_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anabranch.simulate.own.crate.sources", lambda: tmp_path)
    done = anabranch("schemes", "new", "foo", "--into", str(tmp_path))
    assert done.returncode == 2
    assert f"{tmp_path}: no sources of anabranch, there is no crates/sim in it; give a checkout" in done.stderr
    assert anabranch("schemes", "new", "foo", "--into", str(tmp_path), "--source", str(ROOT)).returncode == 0


@pytest.mark.slow
def test_the_crate_builds_passes_its_tests_and_runs() -> None:
    # Always in the same place, so that only the first time takes long.
    into = ROOT / "target" / "own-scheme"
    shutil.rmtree(into / "two-choices", ignore_errors=True)
    into.mkdir(parents=True, exist_ok=True)
    assert anabranch("schemes", "new", "two-choices", "--into", str(into)).returncode == 0
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}

    def cargo(*arguments: str) -> str:
        command = ["cargo", *arguments]
        done = subprocess.run(
            command, cwd=into / "two-choices", env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    tested = cargo("test")
    for name in ("picks_are_those_of_the_vectors", "shares_follow_weights", "a_run_survives_a_failure"):
        assert f"test {name} ... ok" in tested
    scenario = str(ROOT / "examples" / "leaf-spine.toml")
    shown = cargo("run", "--", scenario, "traffic.duration=10 ms", "routing.granularity=packet").splitlines()
    assert [line.split()[0] for line in shown[2:-1]] == ["up", "100", "above", "all"]
    flows, ecmp_us, own_us = shown[-2].split()[1:4]
    assert int(flows) > 30
    assert float(own_us) < float(ecmp_us)
    assert shown[-1] == "unfinished flows, in no mean: ecmp 0, two-choices 0"
