"""Pages of reports in a real browser: what a reader does changes what it must, to the numbers of the files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import anabranch as ab
from anabranch.files.units import amount, bit_rate, count, duration, nanoseconds, pct, ratio, significant
from anabranch.report.page.explore.cells import cells_of
from anabranch.report.page.explore.curves import BYTES_MAX, LEVELS, _resolution
from anabranch.report.page.material import gather
from anabranch.report.page.web_page import source
from anabranch.simulate.stats.fct import quantile
from anabranch.simulate.stats.size_classes import size_classes
from anabranch.simulate.study.outcome import open_study
from anabranch.split.stats.confidence import half_width
from support.browser import Browser, Page, need_browser, running
from support.command import anabranch
from support.synthetic import write_run
from support.synthetic_results import FABRIC, write_study, write_two_runs

BYTES_OF_A_PAGE_MAX = 5_000_000
NASTY = "</script><img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running(need_browser(), tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def page_of_study(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(tmp_path_factory.mktemp("page") / "study.html", study)


@pytest.fixture(scope="module")
def page_of_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("runs")
    return page_of(where / "runs.html", *write_two_runs(where))


def page_of(out: Path, *folders: Path) -> Path:
    """Page of some runs, or of one study."""
    done = anabranch("report", *map(str, folders), "--out", str(out))
    assert done.returncode == 0, done.stderr
    return out


def quiet(page: Page) -> None:
    """Sees that the page has complained of nothing, and asked nobody."""
    assert page.complaints == []
    assert page.requests == []


def plotted(page: Page, chart: str) -> list[list[float | None]]:
    """What a chart has drawn: values along, then those of each line."""
    found: list[list[float | None]] = page.evaluate(
        f"document.getElementById({chart!r}).chart.data.map((values) => Array.from(values))"
    )
    return found


def column(page: Page, table: str, number: int) -> list[str]:
    """Texts of a column of a table."""
    found: list[str] = page.evaluate(
        f"[...document.querySelector({table!r}).tBodies[0].rows].map((row) => row.cells[{number}].textContent)"
    )
    return found


def texts(page: Page, selector: str) -> list[str]:
    """Texts of all elements that a selector names."""
    found: list[str] = page.evaluate(
        f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.textContent)"
    )
    return found


def within(page: Page, script: str, expression: str) -> Any:
    """Value of an expression that calls functions of a script."""
    return page.evaluate(f"(() => {{ {source(script)}; return {expression}; }})()")


def test_the_page_opens_without_a_complaint_or_a_request(
    browser: Browser, page_of_study: Path, page_of_runs: Path, tmp_path: Path
) -> None:
    split = tmp_path / "split.html"
    run = anabranch("split", "--generate", "nat:500", "--weights", "4,3", "--add", "2", "--report", str(split))
    assert run.returncode == 0, run.stderr
    for path in (page_of_study, page_of_runs, split):
        for width, dark in ((1400, False), (400, True)):
            page = browser.open(path, width=width, dark=dark)
            assert page.evaluate("document.getElementById('theme').checkVisibility()")
            assert page.evaluate("document.documentElement.scrollWidth") == width
            small = page.evaluate("""[...document.querySelectorAll("body *")].filter((one) => one.checkVisibility()
                && !one.closest("figure") && [...one.childNodes].some((part) => part.nodeType === 3 && part.data.trim())
                && parseFloat(getComputedStyle(one).fontSize) < 12).map((one) => one.outerHTML)""")
            assert small == []
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert paper == ("rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
            quiet(page)


def test_a_request_would_be_refused_and_noticed(browser: Browser, page_of_runs: Path) -> None:
    """The policy forbids what this check looks for, and the check sees it."""
    page = browser.open(page_of_runs)
    page.evaluate("fetch('https://anabranch.invalid/').catch(() => null)")
    assert any("Content Security Policy" in text for text in page.complaints)
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), { text: 'window.owned = 1' }))")
    assert page.evaluate("window.owned") is None


def test_headers_sort(browser: Browser, page_of_study: Path, study: Path) -> None:
    page = browser.open(page_of_study)
    table = "table.sortable:has(button.sort)"
    mine = f"[aria-label='means over seeds'] {table}"
    button = f"{mine} th:nth-child(8) button"
    header = f"document.querySelector({json.dumps(mine)}).tHead.rows[0].cells[7].getAttribute('aria-sort')"
    means = open_study(study).summary["slowdown_mean"].to_list()
    written = [float(text.split(" ")[0]) for text in column(page, mine, 7)]
    assert written == pytest.approx(means, rel=5e-3)
    page.click(button)
    assert page.evaluate(header) == "ascending"
    assert [float(text.split(" ")[0]) for text in column(page, mine, 7)] == sorted(written)
    # By keyboard: the button has the focus.
    page.press("Enter")
    assert page.evaluate(header) == "descending"
    assert [float(text.split(" ")[0]) for text in column(page, mine, 7)] == sorted(written, reverse=True)
    page.press("Enter")
    assert page.evaluate(header) == "none"
    assert [float(text.split(" ")[0]) for text in column(page, mine, 7)] == written
    quiet(page)


def test_sorting_knows_every_format_of_a_number(browser: Browser, page_of_runs: Path) -> None:
    page = browser.open(page_of_runs)
    random = np.random.default_rng(1)
    values = np.concatenate([10 ** random.uniform(-3.5, 11, 300), [0, 1, 999.6, 9.995, 1023, 1024, 999_500]])
    # Each with the last digit that it writes at least.
    digits = {
        duration: 1,
        bit_rate: 1,
        amount: 1,
        count: 1,
        pct: 1e-3,
        ratio: 1e-2,
        significant: 1e-2,
        nanoseconds: 1e-2,
    }
    for write, digit in digits.items():
        written = [write(value) for value in values]
        keys = within(page, "sort_key.js", f"{json.dumps(written)}.map(sortKey)")
        told = values >= digit
        assert np.array(keys, dtype=float)[told] == pytest.approx(values[told], rel=0.06, abs=0.51 * digit), write
        order = np.argsort(values, kind="stable")
        assert (np.diff(np.array(keys, dtype=float)[order]) >= 0).all(), write
    odd = ["-", "", "1.2 ms ±30 us", "<0.001", "0.001", "ecmp", "10 Gbps", "2 of 3", "1.00x\n0.98 - 1.02", "-0.5"]
    keys = within(page, "sort_key.js", f"{json.dumps(odd)}.map((text) => String(sortKey(text)))")
    assert keys == ["null", "null", "1200000", "0.000999", "0.001", "NaN", "10000000000", "NaN", "1", "-0.5"]


def test_scripts_write_numbers_as_the_house_does(browser: Browser, page_of_runs: Path) -> None:
    page = browser.open(page_of_runs)
    values = (10 ** np.random.default_rng(2).uniform(-1, 11, 500)).tolist()
    for name, write in (("duration", duration), ("significant", significant), ("count", count), ("bitRate", bit_rate)):
        written = within(page, "quantity.js", f"{json.dumps(values)}.map({name})")
        chosen = [value for value in values if name != "bitRate" or value >= 1000]
        assert [text for value, text in zip(values, written, strict=True) if value in chosen] == list(
            map(write, chosen)
        )


def test_a_chooser_changes_the_curves_to_those_of_the_files(browser: Browser, page_of_study: Path, study: Path) -> None:
    page = browser.open(page_of_study)
    before = plotted(page, "distribution")
    for name, value in (("measure", "slowdown"), ("class", "1"), ("seed", "2"), ("axis-0", "0")):
        page.choose(name, value)
    levels, *lines = plotted(page, "distribution")
    assert levels == LEVELS.tolist()
    assert lines != before[1:]
    one = size_classes()[1]
    for scheme, line in zip(("ecmp", "spray"), lines, strict=True):
        flows = ab.Run(study / f"{scheme}-0.3-2").flows.filter(one.holds() & pl.col("finished"))
        values = flows["slowdown"].to_numpy()
        for level, drawn in zip(LEVELS, line, strict=True):
            expected = float(values.max()) if level == 1 else quantile(values, level)
            assert drawn == (None if expected is None else float(np.float32(expected)))
    # By keyboard: 40 steps up from p50, and what stands beside the lines.
    page.evaluate("document.querySelector('#distribution .plot').focus()")
    for _ in range(40):
        page.press("ArrowUp")
    where = page.evaluate("document.querySelector('#distribution .where').textContent")
    said = texts(page, "#distribution output")
    assert where == "p90 of slowdown"
    assert said == [significant(float(line[LEVELS.tolist().index(0.9)] or 0)) for line in lines]
    # The table beside it is of the same choice.
    assert column(page, "#percentiles table", 5) == [
        significant(float(line[LEVELS.tolist().index(0.95)] or 0)) for line in lines
    ]
    quiet(page)


def test_the_tail_is_drawn_by_nines(browser: Browser, page_of_study: Path) -> None:
    page = browser.open(page_of_study)
    _, whole, *_ = plotted(page, "distribution")
    page.choose("fractions", "tail")
    nines, tail, *_ = plotted(page, "distribution")
    assert nines == pytest.approx(-np.log10(1 - LEVELS[:-1]))
    assert tail == whole[:-1]
    page.evaluate("document.querySelector('#distribution .plot').focus()")
    for _ in range(49):
        page.press("ArrowUp")
    assert texts(page, "#distribution .where") == ["p99 of FCT"]
    assert texts(page, "#distribution output")[0] == duration(tail[99] or 0)
    quiet(page)


def test_all_seeds_are_their_flows_together(browser: Browser, page_of_study: Path, study: Path) -> None:
    page = browser.open(page_of_study)
    _, *lines = plotted(page, "distribution")
    cells = [cell for cell in open_study(study).cells if cell.point == {"load": 0.6, "scheme": "ecmp"}]
    together = pl.concat([ab.Run(cell.folder).flows for cell in cells]).filter(pl.col("finished"))
    p99 = quantile(together["fct_ns"].to_numpy(), 0.99)
    assert lines[0][LEVELS.tolist().index(0.99)] == float(np.float32(p99 or 0))


def test_the_statistic_against_the_load_is_that_of_the_seeds(
    browser: Browser, page_of_study: Path, study: Path
) -> None:
    page = browser.open(page_of_study)
    page.choose("measure", "slowdown")
    page.choose("statistic", "p95")
    loads, ecmp, low, high, *_ = plotted(page, "against-axis")
    assert loads == [0.3, 0.6]
    table = open_study(study).table
    for number, load in enumerate((0.3, 0.6)):
        each = table.filter(load=load, scheme="ecmp", size_class="all")["slowdown_p95"].to_numpy()
        assert ecmp[number] == pytest.approx(each.mean())
        assert (high[number] or 0) - (low[number] or 0) == pytest.approx(2 * (half_width(each) or 0))
    page.choose("seed", "3")
    _, ecmp, *_ = plotted(page, "against-axis")
    of_seed = table.filter(scheme="ecmp", size_class="all", seed=3).sort("load")["slowdown_p95"].to_list()
    assert ecmp == pytest.approx(of_seed, rel=1e-6)
    # Lines for the other axis: one for each load.
    page.choose("compared", "0")
    labels = texts(page, "#distribution .legend button")
    assert labels == ["0.3", "0.6"]
    quiet(page)


def test_a_statistic_that_too_few_flows_tell_is_words(browser: Browser, page_of_study: Path, study: Path) -> None:
    page = browser.open(page_of_study)
    page.choose("class", "3")
    table = open_study(study).table
    (column_name,) = (name for name in table.columns if name.startswith("fct") and name.endswith("_p99.9"))
    assert table.filter(size_class=size_classes()[3].label)[column_name].is_null().all()
    page.choose("statistic", "p99.9")
    assert texts(page, "#against-axis") == ["Nothing to draw: too few flows finished for this choice."]
    page.choose("statistic", "mean")
    assert len(plotted(page, "against-axis")) == 1 + 2 * 3
    quiet(page)


def test_the_legend_hides_a_line(browser: Browser, page_of_study: Path) -> None:
    page = browser.open(page_of_study)
    shown = "document.getElementById('distribution').chart.series.slice(1).map((one) => one.show)"
    page.click("#distribution .legend li:nth-child(2) button")
    assert page.evaluate(shown) == [True, False]
    # It stays hidden when something else is chosen.
    page.choose("class", "2")
    assert page.evaluate(shown) == [True, False]
    page.click("#distribution .legend li:nth-child(2) button")
    assert page.evaluate(shown) == [True, True]


def test_of_many_lines_the_one_pointed_at_has_its_interval(browser: Browser, page_of_study: Path) -> None:
    page = browser.open(page_of_study)
    fills = """(() => { const chart = document.getElementById('against-axis').chart;
        return chart.bands.map((band) => band.fill(chart)); })()"""
    assert all(fill.startswith("rgba") for fill in page.evaluate(fills)), "two lines have both"

    def shown(hidden: str, focused: str) -> Any:
        spec = (
            f"{{ lines: ['a', 'b', 'c'].map((label) => ({{ label }})), hidden: new Set({hidden}), focused: {focused} }}"
        )
        return within(page, "line_chart.js", f"[0, 1, 2].map((number) => bandShown({spec}, number))")

    assert shown("[]", "null") == [False, False, False]
    assert shown("[]", "1") == [False, True, False]
    assert shown("['b']", "null") == [True, True, True]
    # The legend points at a line, too.
    focused = page.evaluate("""(() => { const button = document.querySelectorAll("#against-axis .legend button")[1];
        button.focus(); return document.activeElement === button; })()""")
    assert focused
    quiet(page)


@pytest.mark.parametrize("which", ["page_of_study", "page_of_runs"])
def test_every_column_is_on_the_printed_sheet(browser: Browser, which: str, request: pytest.FixtureRequest) -> None:
    page = browser.open(request.getfixturevalue(which), width=700)
    page.call("Emulation.setEmulatedMedia", media="print")
    wide = page.evaluate("""[...document.querySelectorAll("table")].filter((one) => one.checkVisibility()
        && one.getBoundingClientRect().right > 701).map((one) => one.textContent.slice(0, 60))""")
    assert wide == []


def test_the_mouse_moves_the_cursor(browser: Browser, page_of_study: Path) -> None:
    page = browser.open(page_of_study)
    x, y, width, height = page.evaluate("""(() => {
        const over = document.querySelector("#distribution .u-over");
        over.scrollIntoView({ block: "center" });
        const box = over.getBoundingClientRect();
        return [box.x, box.y, box.width, box.height];
    })()""")
    page.mouse("mouseMoved", x + width / 2, y + 0.25 * height)
    where = page.evaluate("""new Promise((done) => {
        const look = () => {
            const text = document.querySelector("#distribution .where").textContent;
            if (text.startsWith("p50")) requestAnimationFrame(look);
            else done(text);
        };
        look();
    })""")
    assert re.fullmatch(r"p7[456] of FCT", where)


def test_traces_show_the_samples_of_the_files(browser: Browser, page_of_runs: Path) -> None:
    page = browser.open(page_of_runs)
    times, high, low, _ = plotted(page, "trace")
    queue = ab.Run(page_of_runs.parent / "first").queues
    # Five thousand samples in 800 steps: the peak of each, and where it was lowest.
    assert len(times) == 800
    assert max(value or 0 for value in high) == queue["backlog_bytes"].max()
    steps = [*times[1:], float(queue["time_ns"].max() or 0) + 1]  # type: ignore[arg-type]
    for number in (0, 400, 799):
        step = queue.filter(pl.col("time_ns").is_between(times[number], steps[number], closed="left"))["backlog_bytes"]
        assert (low[number], high[number]) == (step.min(), step.max())
    options = texts(page, "select[name=trace] option")
    assert options == ["backlog: leaf0 to spine0 (port 64)", "congestion window: flow 3", "allowed rate: flow 3"]
    for option, most in zip(options[1:], (89_000, 4_999_000_000), strict=True):
        page.choose("trace", option)
        times, high, *_ = plotted(page, "trace")
        # The page has 24 bits of each value.
        assert max(value or 0 for value in high) == pytest.approx(most, rel=1e-7)
    quiet(page)


def test_without_scripts_the_page_shows_figures_and_tables(browser: Browser, page_of_study: Path) -> None:
    page = browser.open(page_of_study, scripts=False)
    quiet(page)
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    visible = "[...document.querySelectorAll({})].filter((one) => one.checkVisibility()).length"
    assert page.evaluate(visible.format("'figure svg'")) == 9
    assert page.evaluate(visible.format("'#explore, #theme, canvas'")) == 0
    assert page.evaluate(visible.format("'table.sortable td'")) > 100
    # With scripts, what they draw stands for those figures, except on paper.
    page = browser.open(page_of_study)
    drawn = "'.drawn figure'"
    assert page.evaluate(visible.format(drawn)) == 0
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.evaluate(visible.format(drawn)) > 0
    assert page.evaluate(visible.format("'#explore, #theme'")) == 0


def test_the_theme_is_switched_and_charts_follow(browser: Browser, page_of_study: Path) -> None:
    page = browser.open(page_of_study)
    ink = "getComputedStyle(document.body).color"
    stroke = "document.getElementById('distribution').chart.series[1].stroke()"
    light = page.evaluate(f"[{ink}, {stroke}]")
    page.click("#theme")
    page.click("#theme")
    assert page.evaluate("document.getElementById('theme').textContent") == "Theme: dark"
    dark = page.evaluate(f"[{ink}, {stroke}]")
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    page.click("#theme")
    assert page.evaluate(f"[{ink}, {stroke}]") == light


def test_names_are_text_whatever_they_say(browser: Browser, tmp_path: Path) -> None:
    folders = [write_run(tmp_path / name, FABRIC, 1, flow_count=200) for name in ("first", "second")]
    for folder, name in zip(folders, (NASTY, f"{NASTY} again"), strict=True):
        scenario = folder / "scenario.toml"
        scenario.write_text(f"label = {json.dumps(name)}\n" + scenario.read_text())
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest |= {"name": name, "warnings": [name]}
        (folder / "manifest.json").write_text(json.dumps(manifest))
    page = browser.open(page_of(tmp_path / "page.html", *folders))
    assert page.evaluate("document.title") == f"anabranch: {NASTY}, {NASTY} again"
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    labels = texts(page, "#distribution .legend button")
    assert labels == [NASTY, f"{NASTY} again"]
    quiet(page)


def test_runs_stand_on_the_settings_that_make_a_grid(tmp_path: Path) -> None:
    """A setting that follows from another is no axis; where a combination is missing, runs are told by labels."""

    def of(name: str, **settings: object) -> Path:
        folder = write_run(tmp_path / name, FABRIC, 1, flow_count=20)
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in settings.items()]
        (folder / "scenario.toml").write_text("".join(lines) + (folder / "scenario.toml").read_text())
        return folder

    grid = [
        of(f"{balance}-{load}", load=load, balance=balance, granularity=granularity)
        for load in (0.6, 0.3)
        for balance, granularity in (("spray", "packet"), ("ecmp", "flow"))
    ]
    whole = cells_of(gather(grid))
    assert whole.axes == {"load": [0.3, 0.6], "balance": ["spray", "ecmp"]}
    assert (whole.compared, whole.swept) == ("balance", "load")
    assert sorted(whole.points) == [(0.3, "ecmp"), (0.3, "spray"), (0.6, "ecmp"), (0.6, "spray")]
    assert cells_of(gather(grid[:2])).axes == {"balance": ["spray", "ecmp"]}
    (labels,) = cells_of(gather(grid[:3])).axes.values()
    assert len(set(labels)) == 3
    assert cells_of(gather(grid[:1])).axes == {}


def test_a_page_of_sixty_cells_is_small(tmp_path: Path) -> None:
    study = write_study(
        tmp_path / "study", (0.3, 0.6, 0.9), ("ecmp", "spray", "letflow", "conga"), range(1, 6), flow_count=3000
    )
    assert len(open_study(study).cells) == 60
    assert page_of(tmp_path / "page.html", study).stat().st_size < BYTES_OF_A_PAGE_MAX


@pytest.mark.parametrize(("points", "seeds", "most"), [(12, 5, True), (120, 5, True), (400, 10, False)])
def test_curves_are_thinned_where_there_are_many(points: int, seeds: int, most: bool) -> None:
    rows = points * 8
    levels, by_seed = _resolution(rows, seeds)
    assert by_seed is most
    assert rows * (1 + seeds * by_seed) * len(levels) * 4 <= BYTES_MAX


def test_a_page_is_drawn_again_to_the_same_bytes(page_of_study: Path, study: Path) -> None:
    before = page_of_study.read_bytes()
    assert page_of(page_of_study, study).read_bytes() == before


def test_the_library_is_what_its_authors_published() -> None:
    """Files of uPlot have the checksums that stand beside their version, and the licence is among them."""
    import hashlib
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    said: dict[str, Any] = tomllib.loads(source("uplot/source.toml"))
    assert f"v{said['version']}" in source("uplot/uPlot.iife.min.js")[:200]
    assert {"LICENSE", "uPlot.iife.min.js", "uPlot.min.css"} == set(said["sha256"])
    for name, digest in said["sha256"].items():
        assert hashlib.sha256(source(f"uplot/{name}").encode()).hexdigest() == digest, name
