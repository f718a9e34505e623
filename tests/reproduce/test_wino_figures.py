"""The Wino paper's figures, tables and algorithm: each is named on the scheme's page, with a study that there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "crates" / "balancers" / "src" / "wino" / "page.md"
LABELS = ("Algorithm 1", *(f"Fig. {number}" for number in range(1, 8)), "Table I")


def rows() -> dict[str, str]:
    """What stands on the page beside each figure."""
    lines = PAGE.read_text(encoding="utf-8").partition("## Where the paper's figures are")[2].splitlines()
    cells = [line.strip("|").split("|") for line in lines if line.startswith("| ")]
    return {first.strip(): second for first, second in cells}


@pytest.mark.parametrize("label", LABELS)
def test_every_figure_is_somewhere(label: str) -> None:
    assert rows()[label].strip()


def test_the_studies_named_are_those_that_there_are() -> None:
    named = set(re.findall(r"`wino/([a-z0-9-]+)`", " ".join(rows().values())))
    assert named == {folder.name for folder in (ROOT / "studies" / "wino").iterdir() if folder.is_dir()}
