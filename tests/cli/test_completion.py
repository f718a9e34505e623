"""Completion of the shell: verbs, and the words that an argument can be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "anabranch"


def completed(line: str) -> list[str]:
    """Words that bash would show after `line`."""
    words = line.split(" ")
    environment = {"_ANABRANCH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run([PROGRAM], env=os.environ | environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("anabranch s", ["schemes", "show", "split", "sweep"]),
        ("anabranch schemes ", ["show", "new"]),
        ("anabranch schemes show cong", ["conga"]),
        ("anabranch split flows.csv --technique ma", ["maglev"]),
        ("anabranch split flows.csv --hash xx", ["xxh3"]),
    ],
)
def test_words_are_completed(line: str, expected: list[str]) -> None:
    assert completed(line) == expected


def test_completion_can_be_installed(tmp_path: Path) -> None:
    shown = subprocess.run(
        [PROGRAM, "--show-completion", "bash"], env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert "complete -o default -F _anabranch_completion anabranch" in shown.stdout
