"""Completion of the shell: verbs, and the words that an argument can be."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from anabranch.deploy.targets.registry import TARGETS, WRITTEN
from anabranch.simulate.runs.pair_plan import planners
from support.completion import PROGRAM, completed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("anabranch s", ["schema", "schemes", "show", "split", "sweep"]),
        ("anabranch schemes ", ["show", "new"]),
        ("anabranch schemes show cong", ["conga"]),
        ("anabranch split flows.csv --technique ma", ["maglev"]),
        ("anabranch split flows.csv --hash xx", ["xxh3"]),
        ("anabranch explain --weights 1,1 --technique rej", ["rejection-cells"]),
        ("anabranch explain --weights 1,1 --hash toe", ["toeplitz"]),
        *(
            (f"anabranch {verb} --target o", ["ovs"])
            for verb in ("apply", "diff", "explain", "plan", "remove", "verify")
        ),
        ("anabranch plan --target ", [*TARGETS, *WRITTEN, *planners()]),
        ("anabranch plan --target db", ["dbb"]),
        ("anabranch lab up small.toml --switch e", ["ebpf"]),
        ("anabranch lab reproduce w", ["wino"]),
        ("anabranch reproduce luo", ["luopan"]),
        ("anabranch reproduce valo luopan/t", ["luopan/table1"]),
    ],
)
def test_words_are_completed(line: str, expected: list[str]) -> None:
    assert completed(line) == expected


def test_completion_can_be_installed(tmp_path: Path) -> None:
    shown = subprocess.run(
        [PROGRAM, "--show-completion", "bash"], env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert "complete -o default -F _anabranch_completion anabranch" in shown.stdout
