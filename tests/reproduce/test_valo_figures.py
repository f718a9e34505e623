"""Every figure of the VALO paper has a study, or a stated reason; the page of VALO lists them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anabranch.reproduce.backend import backend
from anabranch.reproduce.claims_file import load_expected
from anabranch.reproduce.selection import groups

PAGE = Path(__file__).parents[2] / "crates" / "balancers" / "src" / "tables" / "valo.md"
ROW = re.compile(r"^\| ([\d, ]+) \| (.+) \|$", re.MULTILINE)
FIGURES = range(1, 18)
"""The paper has 17 figures, and no table."""


def rows() -> dict[int, str]:
    found = ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {int(figure): by for figures, by in found for figure in figures.split(",")}


def named(figure: int) -> set[str]:
    """Studies whose claims name the figure."""
    marked = re.compile(rf"Fig\. {figure}(?!\d)")
    return {
        group.label
        for group in groups()
        if group.paper == "valo"
        for claim in load_expected(group.folder, read=backend(group.backend).read_measure).claims
        if marked.search(claim.where)
    }


def test_the_page_lists_every_figure_once() -> None:
    assert sorted(rows()) == list(FIGURES)


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_has_the_studies_that_the_page_names_or_a_reason(figure: int) -> None:
    by = rows()[figure]
    listed = set(re.findall(r"valo/[\w-]+", by))
    if not listed:
        assert by.endswith("nothing is measured")
        assert named(figure) == set()
        return
    assert listed <= {group.label for group in groups()}
    claimed = named(figure) - {"valo/lab", "valo/lab-fct"}
    # The score graphs of Fig. 7 and 9 have no numbers but those of section 4.1.
    assert claimed <= listed
    assert claimed or figure in (7, 9)
