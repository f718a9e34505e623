"""Charts of a split's page in a real browser: their numbers are those of the document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.split.stats.mape import mape_expected, mape_floor, path_errors
from support.browser import Browser, Page, need_browser, running
from support.command import anabranch


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running(need_browser(), tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """The page of a split, and its techniques in the document."""
    folder = tmp_path_factory.mktemp("split")
    options = ["--weights", "4,3,2", "--report", str(folder / "page.html"), "--json", str(folder / "split.json")]
    done = anabranch("split", "--generate", "nat:3000", *options)
    assert done.returncode == 0, done.stderr
    return folder / "page.html", json.loads((folder / "split.json").read_text())["techniques"]


def lines(page: Page, chart: str) -> tuple[list[float], dict[str, list[float | None]]]:
    """Values along of a chart, and each line by its label."""
    found = page.evaluate(f"""(() => {{
        const chart = document.getElementById({chart!r}).chart;
        const lines = chart.series.slice(1).map((one, index) => [one.label, Array.from(chart.data[index + 1])]);
        return [Array.from(chart.data[0]), lines];
    }})()""")
    return found[0], dict(found[1])


def test_charts_have_the_numbers_of_the_document(browser: Browser, split: tuple[Path, list[dict[str, Any]]]) -> None:
    file, techniques = split
    page = browser.open(file)
    numbers, drawn = lines(page, "against-connections")
    here = numbers.index(sum(techniques[0]["got_connections"]))
    asked = techniques[0]["asked"]
    assert drawn.pop("ideal hash") == pytest.approx([mape_floor(asked, int(number)) for number in numbers], rel=1e-6)
    known = {one["label"]: one for one in techniques if one["expected_pct"] is not None and one["shares"] is not None}
    assert set(drawn) == set(known)
    for label, values in drawn.items():
        assert values[here] == pytest.approx(known[label]["expected_pct"], rel=1e-6)
        assert values[0] == pytest.approx(mape_expected(known[label]["shares"], asked, int(numbers[0])), rel=1e-6)
    _, paths = lines(page, "by-path")
    assert list(paths) == [one["label"] for one in techniques]
    page.choose("amount", "bytes")
    _, of_bytes = lines(page, "by-path")
    for one in techniques:
        for amount, by_label in (("got_connections", paths), ("got_bytes", of_bytes)):
            assert by_label[one["label"]] == pytest.approx(path_errors(asked, one[amount]).tolist(), rel=1e-5, abs=1e-5)
    page.choose("technique", "1")
    assert list(lines(page, "by-path")[1]) == [techniques[1]["label"]]
    assert page.complaints == page.requests == []


def test_without_scripts_figures_stand_alone(browser: Browser, split: tuple[Path, list[dict[str, Any]]]) -> None:
    page = browser.open(split[0], scripts=False)
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    assert page.evaluate("document.getElementById('explore').checkVisibility()") is False
    assert page.evaluate("[...document.querySelectorAll('figure svg')].every((one) => one.checkVisibility())")
