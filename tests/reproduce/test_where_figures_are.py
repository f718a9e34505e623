"""Figures, tables and algorithms of the papers: each has a study, a test or a reason, on the scheme's page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from anabranch.reproduce.backends.door import backend
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.selection import groups

ROOT = Path(__file__).parents[2]
PAGES = {
    "valo": "tables/valo.md",
    "wino": "wino/page.md",
    "dbb": "dbb/page.md",
    "tdlb": "tdlb/page.md",
    "luopan": "luopan/page.md",
    "reps": "reps/page.md",
}
# Counted in the papers' text; of REPS in its artefact.
FIGURES = {"valo": 17, "wino": 7, "dbb": 10, "tdlb": 15, "luopan": 21, "reps": 14}
OTHERS = {
    "valo": set(),
    "wino": {"Algorithm 1", "Table I"},
    "dbb": {"Algorithm 1", "Table I", "Table II", "Table III", "Table IV"},
    "tdlb": {"Algorithm 1", "Algorithm 2"},
    "luopan": {"Table 1", "Proposition 1"},
    "reps": set(),
}
LABELLED = re.compile(r"(Fig\.|Table|Algorithm|Proposition) (\w+(?:, \w+)*)")
TEST = re.compile(r"`([a-z]\w*_\w+)`")


@cache
def rows(paper: str) -> dict[str, str]:
    """What the page says of each label: `Fig. 1a`, `Table I`."""
    page = (ROOT / "crates" / "balancers" / "src" / PAGES[paper]).read_text(encoding="utf-8")
    table = page.partition("## Where the paper's figures are\n\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for first, here in (line.strip("|").split("|") for line in table.splitlines()[2:]):
        for kind, numbers in LABELLED.findall(first):
            for number in numbers.split(", "):
                label = f"{kind} {number}"
                assert label not in found, f"{paper}: {label} is there twice"
                found[label] = here
    return found


def studies(paper: str, text: str) -> set[str]:
    """Studies of the paper that a text names."""
    return set(re.findall(rf"`({paper}/[\w-]+)`", text))


@cache
def claimed(paper: str) -> dict[str, str]:
    """Where the claims of each study say that they are from."""
    return {
        group.label: "; ".join(
            claim.where for claim in load_expected(group.folder, read=backend(group).read_measure).claims
        )
        for group in groups()
        if group.paper == paper
    }


@cache
def functions() -> set[str]:
    """Names of all functions in tests, and beside the code that they test."""
    sources = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "crates").rglob("*.rs")]
    return {name for file in sources for name in re.findall(r"\b(?:def|fn) (\w+)\(", file.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("paper", PAGES)
def test_the_page_has_every_figure_table_and_algorithm(paper: str) -> None:
    figures = {int(re.sub(r"\D", "", label)) for label in rows(paper) if label.startswith("Fig.")}
    assert figures == set(range(1, FIGURES[paper] + 1))
    assert {label for label in rows(paper) if not label.startswith("Fig.")} == OTHERS[paper]


@pytest.mark.parametrize(("paper", "label"), [(paper, label) for paper in PAGES for label in rows(paper)])
def test_each_is_measured_or_tested_or_nothing_is_to_be(paper: str, label: str) -> None:
    here = rows(paper)[label]
    named, checks = studies(paper, here), TEST.findall(here)
    assert named <= claimed(paper).keys()
    assert set(checks) <= functions()
    assert named or checks or "nothing is measured" in here
    # `Fig. 14, 15` names both.
    number = re.escape(label.removeprefix("Fig. ")) if label.startswith("Fig.") else None
    mark = re.compile(rf"Fig\. (?:\w+, )*{number}(?!\d)" if number else rf"{label}\b")
    of = {study for study, where in claimed(paper).items() if mark.search(where)}
    assert of <= named or "drawing" in here, f"claims of {of - named} name it"
    assert of or not named or "drawing" in here, "no claim of these studies names it"


@pytest.mark.parametrize("paper", PAGES)
def test_the_page_names_every_study_of_the_paper(paper: str) -> None:
    page = (ROOT / "crates" / "balancers" / "src" / PAGES[paper]).read_text(encoding="utf-8")
    table = page.partition("## Where the paper's figures are")[2]
    assert studies(paper, table) == claimed(paper).keys()
