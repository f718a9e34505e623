"""Studies of which every mechanism is broken on purpose, one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.judge.line import NOT_RUN, Line
from anabranch.reproduce.session import Evaluated, run

FABRIC = """\
name = "tiny"
seeds = 5

[scenario]
name = "tiny"

[scenario.fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
link = { rate = "1 Gbps", delay = "5 us", buffer = "BUFFER" }

[[scenario.change]]
link = "leaf0-spine1"
rate = "SLOW"

[[scenario.traffic]]
sizes = "SIZES"
pattern = "left-to-right"
load = LOAD
capacity = "CAPACITY"
flows = FLOWS

[scenario.transport]
kind = "newreno"
min_rto = "5 ms"
initial_rto = "5 ms"

[scenario.stop]
at = "100 s"

[scenario.record]
interval = "0 s"

[axes.scheme]
"""


def fabric(**words: object) -> str:
    text = FABRIC
    for word, value in words.items():
        text = text.replace(word.upper(), str(value))
    return text


def broken(folder: Path, study: str, expected: str, *, quick: bool = False) -> Evaluated:
    """A study that has run as it is, and under each of its mutations."""
    return _evaluated(folder, study, expected, quick, mutations=True)


def changed(folder: Path, study: Path, changes: Mapping[str, str]) -> list[Line]:
    """Verdicts of a study as `--quick` runs it, with parts of its file replaced; those that need more are left out."""
    expected = (study / "expected.toml").read_text()
    lines = _evaluated(folder, small(study, changes), expected, quick=True, mutations=False).lines
    return [line for line in lines if line.kind != NOT_RUN]


def _evaluated(folder: Path, study: str, expected: str, quick: bool, mutations: bool) -> Evaluated:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(study)
    (folder / "expected.toml").write_text(expected)
    group = Group("tiny", "tiny", "tiny", folder, "simulator")
    (evaluated,) = run([group], folder / "runs", quick, Context(["pytest"], True, lambda _: None), mutations)
    return evaluated


def turned(evaluated: Evaluated) -> dict[str, dict[str, str]]:
    """Verdicts that each mutation turns, and what they turn to, by the claim's name."""
    table = evaluated.mutations
    assert table is not None
    return {name: {one.id: one.broken[name].kind for one in table.turned(name)} for name in table.mutations}


def small(study: Path, smaller: Mapping[str, str]) -> str:
    """The text of a study with some of it made smaller."""
    text = (study / "study.toml").read_text()
    for old, new in smaller.items():
        assert old in text, old
        text = text.replace(old, new)
    return text
