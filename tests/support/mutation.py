"""Tiny studies in which a paper's technique can be broken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.simulator import BACKEND
from anabranch.reproduce.claims.claim import LEAST_SEEDS
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import NOT_RUN, Line


@dataclass(frozen=True)
class Mutation:
    """A tiny study, the technique as a value of its axis `scheme`, and what stands in its place when it is broken."""

    study: str
    expected: str
    whole: str
    broken: str


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


def judged(folder: Path, mutation: Mutation, scheme: str) -> list[Line]:
    """Verdicts of a study whose technique is `scheme`."""
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(mutation.study + scheme + "\n")
    (folder / "expected.toml").write_text(mutation.expected)
    prepared = BACKEND.prepare(Group("tiny", "tiny", "tiny", folder, "simulator"), False, folder / "runs")
    evidence = prepared.run(Context(["pytest"], True, lambda text: pytest.fail(text)))
    return [judge("tiny", claim, evidence, LEAST_SEEDS) for claim in prepared.expected.claims]


def changed(folder: Path, study: Path, changes: Mapping[str, str]) -> list[Line]:
    """Verdicts of a study as `--quick` runs it, with parts of its file replaced; those that need more are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (study / "study.toml").read_text()
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    (folder / "study.toml").write_text(text)
    (folder / "expected.toml").write_text((study / "expected.toml").read_text())
    prepared = BACKEND.prepare(Group("tiny", "tiny", "tiny", folder, "simulator"), True, folder / "runs")
    evidence = prepared.run(Context(["pytest"], True, lambda text: pytest.fail(text)))
    lines = [judge("tiny", claim, evidence) for claim in prepared.expected.claims]
    return [line for line in lines if line.kind != NOT_RUN]
