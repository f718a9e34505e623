"""Schemes of one's own where a scenario in Python names a load balancer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch import AnabranchError
from anabranch._core import Group, Member
from support.command import anabranch

TEXT = """\
import anabranch as ab


class Lopsided(ab.Scheme):
    epoch = "100 us"

    def weights(self, group, stats):
        return [1000 if index == 0 else 1 for index, _ in enumerate(stats)]
"""

SCENARIO_FILE = """\
fabric = { leaves = 2, spines = 2, hosts_per_leaf = 4 }
traffic = [{ sizes = "20 KB", load = "50 %", duration = "3 ms" }]

[routing]
balance = "mine.py:Lopsided"
table = "min-move"
"""


class Lopsided(ab.Scheme):
    """All to the first member."""

    epoch = "100 us"
    version = "1"

    def weights(self, group: Group, stats: Sequence[Member]) -> Sequence[float]:  # noqa: ARG002, D102
        return [1000 if index == 0 else 1 for index, _ in enumerate(stats)]


def scenario(**routing: Any) -> dict[str, Any]:
    return {
        "fabric": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4},
        "traffic": [{"sizes": "20 KB", "load": 0.5, "duration": "3 ms"}],
        "routing": {"table": "min-move", **routing},
    }


def test_a_scheme_stands_wherever_a_load_balancer_is_named(tmp_path: Path) -> None:
    options: dict[str, Any] = {"runs": tmp_path, "progress": False}
    expected = ab.run(scenario(), scheme=Lopsided(), **options)
    assert not ab.run(scenario(), **options).flows.equals(expected.flows)
    (tmp_path / "mine.py").write_text(TEXT)
    text = f"{tmp_path / 'mine.py'}:Lopsided"
    for balance in (Lopsided, Lopsided(), text):
        given = scenario(balance=balance)
        typed = ab.Scenario(given)
        for run in (
            ab.run(given, again=True, **options),
            ab.run(typed, again=True, **options),
            ab.run(scenario(), {"routing.balance": balance}, again=True, **options),
            ab.run(scenario(balance="letflow"), {"routing.balance": balance}, again=True, **options),
        ):
            assert run.flows.equals(expected.flows)
        assert given["routing"]["balance"] is balance
    # What changes a key counts more than the scenario.
    named = ab.run(scenario(balance=Lopsided), {"routing.balance": "ecmp"}, **options)
    assert named.flows.equals(ab.run(scenario(), **options).flows)
    assert ab.run(scenario(), [("routing.balance", f'"{text}"')], **options).flows.equals(expected.flows)


def test_a_scenario_file_names_a_scheme_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"runs": tmp_path / "runs", "progress": False}
    expected = ab.run(scenario(), scheme=Lopsided(), **options).flows
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.py").write_text(TEXT)
    file = own / "own.toml"
    file.write_text(SCENARIO_FILE)
    monkeypatch.chdir(tmp_path)
    assert ab.run("own/own.toml", **options).flows.equals(expected)
    assert ab.run("own/own.toml", {"seed": 2}, **options).manifest["seed"] == 2
    assert ab.run("own/own.toml", [("seed", "2")], **options).manifest["scheme"]["name"] == "Lopsided"
    assert ab.run(ab.Scenario.from_toml("own/own.toml"), **options).flows.equals(expected)
    anabranch("run", "own/own.toml", "--runs", str(tmp_path / "cli"))
    (folder,) = (tmp_path / "cli").iterdir()
    assert ab.open(folder).flows.equals(expected)  # type: ignore[union-attr]
    assert "own" in anabranch("show", "own/own.toml").stdout
    # An override counts more, and need not be there: the file's own scheme is not even looked for.
    (own / "mine.py").unlink()
    plain = ab.run(scenario(), **options).flows
    assert ab.run("own/own.toml", {"routing.balance": "ecmp"}, **options).flows.equals(plain)
    line = 1 + SCENARIO_FILE.splitlines().index('balance = "mine.py:Lopsided"')
    with pytest.raises(AnabranchError, match=rf"^own/own\.toml:{line}: routing\.balance: mine\.py:Lopsided: "):
        ab.run("own/own.toml", **options)


def test_where_no_scheme_can_stand_the_error_says_where_one_can(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(SCENARIO_FILE)
    (tmp_path / "study.toml").write_text('scenario = "own.toml"\n[axes]\ntraffic.load = [0.3]\n')
    done = anabranch("sweep", str(tmp_path / "study.toml"), "--runs", str(tmp_path / "runs"))
    assert done.returncode == 2
    assert "on the axis `routing.balance` of a study" in done.stderr


def test_two_schemes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AnabranchError, match=r"^routing\.balance: names a load balancer of one's own, and scheme=Lops"):
        ab.run(scenario(balance=Lopsided), scheme=Lopsided(), runs=tmp_path)
    assert not list(tmp_path.iterdir())
