"""Counts that pages state: each is that of the list it speaks of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.simulate.load_balancers import schemes

ROOT = Path(__file__).parents[2]
# MPTCP is a transport: scenarios name it under `transport.kind`.
LOAD_BALANCERS = sum(1 for one in schemes() if one.name != "mptcp")
NUMBERS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
]


def kinds_of_fabric() -> int:
    text = (ROOT / "docs" / "schema" / "scenario.json").read_text()
    (names,) = re.findall(r'"enum": \[\s*"leaf-spine",(.*?)\]', text, re.DOTALL)
    return 1 + len(re.findall(r'"', names)) // 2


@pytest.mark.parametrize(
    ("page", "pattern", "count"),
    [
        ("README.md", r"(\d+) load balancers from", LOAD_BALANCERS),
        ("docs/tutorials/ai-fabrics.md", r"(\d+) load balancers\.", LOAD_BALANCERS),
        ("README.md", r"# (\d+) techniques on", len(ab.techniques())),
        ("README.md", r"(\w+) kinds of fabric", kinds_of_fabric()),
    ],
)
def test_a_page_counts_as_the_code_does(page: str, pattern: str, count: int) -> None:
    (stated,) = re.findall(pattern, (ROOT / page).read_text())
    assert (int(stated) if stated.isdigit() else NUMBERS.index(stated) + 1) == count
