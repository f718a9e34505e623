"""`anabranch report` on folders with known contents."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import anabranch as ab
from anabranch import AnabranchError
from anabranch.report.page.figures import FABRICS_MAX, draw
from anabranch.report.page.material import differences, flatten, gather
from anabranch.simulate.stats.lazily import collected
from anabranch.simulate.stats.size_classes import size_classes
from anabranch.simulate.stats.tier_load import port_utilization
from anabranch.simulate.study.criteria import Asked
from anabranch.simulate.study.outcome import open_study
from support.command import anabranch
from support.synthetic import write_run
from support.synthetic_results import FABRIC, write_study, write_two_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_two_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two schemes at two loads with three seeds."""
    return write_study(tmp_path_factory.mktemp("study"))


def test_the_page_needs_nothing_else_and_shows_every_figure(runs: list[Path], tmp_path: Path) -> None:
    out, figures = tmp_path / "page.html", tmp_path / "figures"
    done = anabranch("report", *map(str, runs), "--out", str(out), "--figures", str(figures), "--format", "pdf")
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    names = {path.stem for path in figures.iterdir()}
    assert text.count("<figure>") == text.count("<svg") == len(names)
    assert {path.suffix for path in figures.iterdir()} == {".pdf"}
    for path in figures.iterdir():
        # Publishers refuse fonts of Type 3.
        assert b"/FontFile2" in path.read_bytes(), path.name
        assert b"/Type3" not in path.read_bytes(), path.name
    assert {
        "cdf-fct-ns",
        "classes-slowdown",
        "slowdown-by-size",
        "queues-stretch-1.0",
        "windows-stretch-1.0",
        "rates-stretch-1.0",
    } < names
    assert sum(name.startswith("fabric") for name in names) == 2
    assert "one &lt;warning&gt;" in text
    assert "traffic.stretch" in text
    for word in ("ideal_fct_ns", "slowdown", "quantile"):
        assert f"<dt><code>{word}</code></dt>" in text


def test_numbers_of_the_page_are_those_of_the_flows(runs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert anabranch("report", str(runs[0]), "--out", str(out)).returncode == 0
    flows = ab.Run(runs[0]).flows
    finished = flows.filter(pl.col("finished"))
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", out.read_text().partition("All numbers")[2])
    assert cells[0] == "all"
    assert cells[1:3] == ["2,000", "20"]
    assert float(cells[8]) == pytest.approx(float(finished["slowdown"].to_numpy().mean()), rel=5e-3)


def test_a_study_is_drawn_against_its_load(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = anabranch("report", str(study), "--out", str(out))
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    assert text.count("<figure>") == text.count("<svg") == 9
    assert re.findall(r"<h2>(.*)</h2>", text.rpartition("</section>")[2])[:2] == ["Against load", "By size class"]
    assert re.search(r"\d ±\d", text)
    assert "Compared with scheme ecmp" in text
    assert re.findall(r"<h3>(.*: .*)</h3>", text) == ["FCT: below 1 is better", "slowdown: below 1 is better"]


def test_a_report_shows_what_is_asked_for(study: Path, runs: list[Path], tmp_path: Path) -> None:
    page, figures = tmp_path / "report.html", tmp_path / "figures"
    wanted = ("--measure", "throughput,fct", "--statistic", "p50", "--class", "up to 100KB")
    done = anabranch("report", str(study), "--out", str(page), "--figures", str(figures), "--format", "svg", *wanted)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in figures.glob("curves*")} == {"curves-throughput.svg", "curves-fct.svg"}
    text = page.read_text()
    assert re.findall(r"<h3>(.*: .*)</h3>", text) == ["throughput: above 1 is better", "FCT: below 1 is better"]
    # A row for each point in the table of means: one class of four.
    means = text.partition('aria-label="means over seeds"')[2].partition("</table>")[0]
    assert means.count("up to 100 KB") == 4
    assert "above 10 MB" not in means
    refused = anabranch("report", str(study), "--out", str(page), "--measure", "step")
    assert "measure: step: no run has steps" in refused.stderr
    refused = anabranch("report", str(runs[0]), "--out", str(page), "--measure", "fct")
    assert "--measure, --statistic, --class: a study has these, single runs do not" in refused.stderr


def test_a_summary_is_the_mean_over_seeds(study: Path) -> None:
    found = open_study(study)
    assert (found.swept_axis, found.compared_axis) == ("load", "scheme")
    row = found.summary.filter(load=0.6, scheme="spray", size_class="all").row(0, named=True)
    each = found.table.filter(load=0.6, scheme="spray", size_class="all")["slowdown_mean"].to_numpy()
    assert (row["seeds"], row["flows"], row["unfinished"]) == (3, 6000, 60)
    assert row["slowdown_mean"] == pytest.approx(each.mean())
    # t(2, 0.975) = 4.303, from any table.
    assert row["slowdown_mean_ci95"] == pytest.approx(4.3027 * each.std(ddof=1) / 3**0.5, rel=1e-4)
    large = found.summary.filter(load=0.6, scheme="spray", size_class="above 10 MB").row(0, named=True)
    assert large["slowdown_p99"] is large["slowdown_p99_ci95"] is None


def test_schemes_are_compared_seed_by_seed(study: Path) -> None:
    """Slowdown - 1 of the made flows is the stretch times the same numbers: the ratio is known at every seed."""
    found = open_study(study)
    table, chosen = found.table, {"load": 0.6, "size_class": "all"}
    ecmp, spray = (table.filter(**chosen, scheme=name)["slowdown_mean"].to_numpy() for name in ("ecmp", "spray"))
    row = found.comparison.filter(**chosen, statistic="slowdown_mean").row(0, named=True)
    assert row["scheme"] == "spray"
    assert row["ratio"] == pytest.approx(np.prod(spray / ecmp) ** (1 / 3))
    assert spray / ecmp == pytest.approx((1 + (ecmp - 1) / 2) / ecmp)
    assert row["ratio_low"] < min(spray / ecmp) < max(spray / ecmp) < row["ratio_high"]
    # The pairs leave less to luck than the two means do.
    each = found.summary.filter(**chosen, scheme="spray").row(0, named=True)
    assert row["ratio_high"] / row["ratio"] - 1 < each["slowdown_mean_ci95"] / each["slowdown_mean"]


def test_series_of_a_study_hold_all_seeds(study: Path) -> None:
    material = gather([study])
    (group,) = material.groups
    assert group.point == {"load": 0.6}
    assert [(one.label, collected(one.flows).height) for one in group.series] == [("ecmp", 6000), ("spray", 6000)]
    criteria = Asked().of_report(open_study(study).summary)
    names = {drawn.name for drawn in draw(material, size_classes(), criteria)}
    assert {
        "curves-fct",
        "curves-slowdown",
        "fabric-ecmp-load-0.6",
        "fabric-spray-load-0.6",
        "cdf-fct-ns-load-0.6",
    } < names


def test_utilisation_is_that_of_each_port(runs: list[Path]) -> None:
    run = ab.Run(runs[0])
    by_port = dict(run.ports.select("port", "utilization").iter_rows())
    assert port_utilization(run.topology, run.ports).tolist() == pytest.approx(
        [by_port[port] for port in range(len(by_port))]
    )


def test_runs_are_named_by_what_differs(runs: list[Path]) -> None:
    material = gather(runs)
    assert [one.label for one in material.groups[0].series] == ["stretch 1.0", "stretch 2.0"]
    assert material.differing == {"traffic.stretch": ["1.0", "2.0"]}


def test_runs_that_differ_in_the_seed_alone_are_one_series(tmp_path: Path) -> None:
    """Three seeds at two stretches, given in any order, are two series of three runs."""
    folders = [
        write_run(tmp_path / f"{stretch}-{seed}", FABRIC, seed, stretch) for seed in (1, 2, 3) for stretch in (1.0, 2.0)
    ]
    material = gather(folders)
    (group,) = material.groups
    assert [(one.label, collected(one.flows).height) for one in group.series] == [
        ("stretch 1.0", 6000),
        ("stretch 2.0", 6000),
    ]
    assert [run.scenario["seed"] for run in group.runs] == [1, 1]
    assert material.pooled
    one = pl.concat([ab.Run(folder).flows for folder in folders[::2]])
    assert collected(group.series[0].flows)["fct_ns"].to_list() == one["fct_ns"].to_list()
    assert not gather(folders[:2]).pooled


def test_a_run_given_twice_is_not_counted_twice(tmp_path: Path) -> None:
    first, again = (write_run(tmp_path / name, FABRIC, 1) for name in ("first", "again"))
    (group,) = gather([first, again]).groups
    assert [(one.label, collected(one.flows).height) for one in group.series] == [("first", 2000), ("again", 2000)]


def test_many_differences_are_labelled_by_the_fewest_that_tell_apart(tmp_path: Path) -> None:
    """All runs have one name, and four settings differ: the first that differs everywhere is the label."""
    folders = []
    for index in range(3):
        folder = write_run(tmp_path / f"run-{index}", FABRIC, 1)
        with (folder / "scenario.toml").open("a") as scenario:
            scenario.write(f'a = "{"x" if index else "y"}"\nb = {10 * index}\nc = {index}\nd = {index}\n')
        folders.append(folder)
    assert [one.label for one in gather(folders).groups[0].series] == ["b 0", "b 10", "b 20"]


def test_settings_are_flattened_with_lists_of_tables() -> None:
    settings = flatten({"a": {"b": True, "c": [1, 2]}, "d": [{"x": 1}, {"x": 2}]})
    assert settings == {"a.b": "true", "a.c": "1, 2", "d[0]": "x = 1", "d[1]": "x = 2"}
    assert differences([settings, {**settings, "a.b": "false"}]) == {"a.b": ["true", "false"]}


def test_frames_of_a_folder(runs: list[Path]) -> None:
    run = ab.Run(runs[0])
    assert (run.flows.height, run.queues.height, run.scenario["seed"]) == (2000, 5000, 1)
    assert run.flows.filter(~pl.col("finished"))["fct_ns"].null_count() == 20
    assert run._repr_html_().count("<tr>") == 5
    with pytest.raises(AnabranchError, match="no queues were recorded"):
        _ = ab.Run(runs[1]).queues


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("report", "nowhere"), "nowhere: no complete run"),
        (("report", "RUN", "--out", "lacks/page.html"), "lacks/page.html: there is no directory lacks"),
        (("report", "RUN", "--format", "gif"), "format: gif: unknown; use pdf, svg, png"),
        (("report", "RUN", "--classes", "big"), "classes: big: no size"),
        (("report", "RUN", "STUDY"), "a study beside other folders"),
    ],
)
def test_what_cannot_be_reported_is_named(
    runs: list[Path], study: Path, arguments: tuple[str, ...], named: str
) -> None:
    given = [{"RUN": str(runs[0]), "STUDY": str(study)}.get(word, word) for word in arguments]
    done = anabranch(*given)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("number", [0, 1, 2, 30])
def test_a_report_of_few_flows_is_a_report(tmp_path: Path, number: int) -> None:
    run = write_run(tmp_path / "run", FABRIC, 1, flow_count=number)
    done = anabranch("report", str(run), "--out", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").read_text().count("<figure>") == (1 if number < 2 else 6)


def test_files_of_figures_have_the_links_of_every_series(tmp_path: Path) -> None:
    """The page has room for some; `--figures` writes all."""
    folders = [write_run(tmp_path / f"{stretch}", FABRIC, 1, float(stretch)) for stretch in range(1, FABRICS_MAX + 3)]
    material = gather(folders)
    for every, number in ((False, FABRICS_MAX), (True, FABRICS_MAX + 2)):
        drawn = [one for one in draw(material, size_classes(), every=every) if one.name.startswith("fabric")]
        assert len(drawn) == number
        assert sum(one.on_page for one in drawn) == FABRICS_MAX
