"""`ab.compare`: paired differences with a known truth, own schemes, results that are kept, a study that is kept."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch.report.comparison import compare as module
from anabranch.report.comparison.table import percent
from anabranch.simulate.study.study import load_study
from anabranch.simulate.study.sweep import resolve
from support.command import anabranch

SCENARIO = {
    "name": "small",
    "fabric": {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4},
    "traffic": [{"sizes": "200 KB", "load": 0.6, "duration": "2 ms"}],
    "transport": {"kind": "dctcp", "dup_ack_threshold": 1000},
}
OWN = """\
import anabranch as ab


class Random(ab.Scheme):
    def pick(self, packet, view):
        return int(view.random() * len(view.members))


class Copy(Random):
    pass


class First(ab.Scheme):
    def pick(self, packet, view):
        return 0
"""


DRAW = module.draw


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with schemes of one's own, which is the current one."""
    monkeypatch.chdir(tmp_path)
    # Drawing takes longer than all the rest.
    monkeypatch.setattr(module, "draw", lambda *_: None)
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    return path


def stamps(found: ab.Comparison) -> dict[Path, int]:
    return {cell.folder: (cell.folder / "manifest.json").stat().st_mtime_ns for cell in found.study.cells}


def test_a_copy_differs_by_nothing_and_a_worse_scheme_is_worse() -> None:
    schemes = ["mine.py:Random", "mine.py:Copy", "mine.py:First"]
    found = ab.compare(schemes, scenario=SCENARIO, seeds=3, jobs=1, progress=False)
    assert found.schemes == ["Random", "Copy", "First"]
    of = found.differences.filter(size_class="all", statistic="slowdown_mean")
    copy, first = (of.filter(scheme=scheme).row(0, named=True) for scheme in ("Copy", "First"))
    assert (copy["difference_pct"], copy["low_pct"], copy["high_pct"], copy["verdict"]) == (0, 0, 0, "equal")
    # All packets of a leaf over one of four uplinks, at twice what that link carries.
    assert (first["verdict"], first["seeds_needed"], first["seeds"]) == ("worse", None, 3)
    assert 0 < first["low_pct"] < first["difference_pct"] < first["high_pct"]
    assert "Copy" in str(found)
    assert re.search(r"^Copy +[\d.]+ ±[\d.]+ +\+0\.0 % +\+0\.0 % to \+0\.0 % equal", str(found), re.MULTILINE)


def test_spraying_beats_hashing_on_a_whole_fabric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "draw", DRAW)
    crowded = {"fabric.hosts_per_leaf": 12}
    schemes = ["ecmp", "spray"]
    found = ab.compare(schemes, scenario=SCENARIO, overrides=crowded, loads=[0.4, 0.8], seeds=4, progress=False)
    of = found.differences.filter(size_class="all", statistic="slowdown_mean", load=0.8).row(0, named=True)
    assert (of["scheme"], of["verdict"]) == ("spray", "better")
    paired = found.flows.filter(load=0.4).partition_by("scheme", as_dict=True, include_key=False)
    arrivals = ["seed", "src", "dst", "size_bytes", "start_ns"]
    assert paired["ecmp",].select(arrivals).equals(paired["spray",].select(arrivals))
    for kind in ("slowdown", "slowdown-difference", "fct-by-class"):
        assert (found.folder / "figures" / f"{kind}.pdf").read_bytes().startswith(b"%PDF")
        assert (found.folder / "figures" / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (found.folder / "figures" / f"{kind}.svg").read_text()
    with pytest.raises(ab.AnabranchError, match=r"plot: x\.gif: no format of a figure"):
        found.plot("x.gif")
    # Figures that a later comparison of the same name does not draw do not stay.
    DRAW(found, [], None)
    assert list((found.folder / "figures").iterdir()) == []


def test_results_are_kept_until_a_source_changes(own: Path) -> None:
    def run() -> ab.Comparison:
        return ab.compare(["ecmp", "mine.py:First"], scenario=SCENARIO, seeds=2, jobs=1, progress=False)

    before = stamps(run())
    assert stamps(run()) == before
    own.write_text(OWN.replace("return 0", "return 1"))
    after = stamps(run())
    assert len(after) == 4
    assert {folder for folder in after if folder not in before} == {
        folder for folder in after if "First" in folder.name
    }


def test_the_study_that_is_kept_is_the_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"whole": [], "slow": [{"link": "leaf0-spine0", "rate": "2.5 Gbps"}]}
    found = ab.compare(
        {"hashed": "ecmp", "mine": {"routing.balance": "mine.py:First", "routing.granularity": "flow"}},
        scenario=SCENARIO,
        seeds=[3],
        changes=changes,
        overrides={"traffic.duration": "2 ms"},
        jobs=1,
        progress=False,
    )
    assert found.table.filter(size_class="all").select("scheme", "change").rows() == [
        ("hashed", "whole"),
        ("hashed", "slow"),
        ("mine", "whole"),
        ("mine", "slow"),
    ]
    assert "one seed has no interval" in str(found)
    folder = found.folder.resolve()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    again = resolve(load_study(folder / "study.toml"), folder.parent)
    assert (again.folder, again.missing, len(again.jobs)) == (folder, [], 4)


def test_a_fabric_is_replaced_as_a_whole_and_what_cannot_be_is_left_out_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "slow.toml").write_text(
        'name = "slow"\n[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n'
        '[[change]]\nlink = "leaf0-spine0"\nrate = "2.5 Gbps"\n'
    )
    found = ab.compare(
        ["ecmp", "conga"],
        scenario=SCENARIO,
        seeds=1,
        fabrics=["slow.toml", "fat-tree"],
        overrides={"traffic.duration": "2 ms"},
        progress=False,
    )
    assert [(cell.point["scheme"], cell.point["fabric"]) for cell in found.study.cells] == [
        ("ecmp", "slow"),
        ("ecmp", "fat-tree"),
        ("conga", "slow"),
    ]
    slow = ab.Run(found.study.cells[0].folder).scenario
    assert (slow["fabric"]["spines"], slow["change"][0]["rate"]) == (2, "2500 Mbps")
    assert '"conga"' in (found.folder / "study.json").read_text().partition("left_out")[2].partition("cells")[0]
    assert capsys.readouterr().out == ""


SCRIPT = """\
import math

import anabranch as ab

MEMBERS = 2


def place(number):
    return math.floor(number * MEMBERS)


class Base(ab.Scheme):
    pass


class Half(Base):
    def pick(self, packet, view):
        return place(view.random())


found = ab.compare(["ecmp", Half], scenario=SCENARIO, seeds=2, jobs=1, progress=False)
print(found.schemes)
""".replace("SCENARIO", repr(SCENARIO))


def test_a_class_of_a_script_needs_no_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "['ecmp', 'Half']\n"), done.stderr
    folder = tmp_path / "runs" / "comparison"
    kept = (folder / "schemes" / "Half.py").read_text()
    assert "MEMBERS = 2" in kept
    assert "ab.compare" not in kept
    assert resolve(load_study(folder / "study.toml"), folder.parent).missing == []


class Inner(ab.Scheme):
    """A scheme of this module."""


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"schemes": ["ecmp", "sprey"]}, "schemes: sprey: unknown load balancer; did you mean spray"),
        ({"schemes": ["ecmp", "ecmp"]}, "schemes: ecmp: is named twice"),
        ({"schemes": ["ecmp"]}, "schemes: 1: nothing to compare"),
        ({"schemes": ["ecmp", Inner()]}, "schemes: Inner: is an object; give its class"),
        ({"schemes": ["ecmp", 3]}, "schemes: 3: is no scheme"),
        ({"schemes": ["ecmp", "letflow,gap"]}, "schemes: gap: not KEY=VALUE"),
        ({"schemes": ["ecmp", "letflow,routing.gapp=1us"]}, "compare: at scheme letflow, seed 1: .*gapp.*did you mean"),
        ({"schemes": ["ecmp", "gone.py:First"]}, "schemes: gone.py:First: .*No such file"),
        ({"schemes": ["ecmp", "mine.py:Frist"]}, "schemes: mine.py:Frist: there is no class Frist; did you mean First"),
        ({"fabrics": ["gone.toml"]}, "gone.toml: No such file"),
        ({"fabrics": ["fat-tre"]}, "compare: at scheme ecmp, fabric fat-tre, seed 1: .*did you mean `fat-tree`"),
        ({"fabrics": ["fat-tree", "fat-tree"]}, "fabrics: fat-tree: is named twice"),
        ({"overrides": {"routing.balance": "ecmp"}}, "routing.balance: the axis routing.balance of this comparison"),
        ({"loads": [0.3], "overrides": {"traffic": []}}, "traffic: the axis traffic.load of this comparison"),
        ({"seeds": 0}, "seeds: none"),
        ({"name": "a/b"}, "name: a/b: names a folder"),
    ],
)
def test_what_cannot_be_compared_is_refused_and_nothing_is_written(
    tmp_path: Path, changed: dict[str, object], message: str
) -> None:
    given: dict[str, object] = {"schemes": ["ecmp", "spray"], "scenario": SCENARIO, "seeds": 1, **changed}
    with pytest.raises(ab.AnabranchError, match=message):
        ab.compare(given.pop("schemes"), progress=False, **given)  # type: ignore[arg-type]
    assert not (tmp_path / "runs").exists()


def test_an_error_of_a_fabric_file_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "deg.toml"
    file.write_text('[fabric]\nkind = "leaf-spine"\n\n[[change]]\nlink = "leaf1-spine3"\nstate = "down"\n')
    with pytest.raises(ab.AnabranchError, match=rf"^{file}:6: change\.0\.state: unknown key; did you mean `set`\?$"):
        ab.compare(["ecmp", "spray"], fabrics=[file], seeds=1, progress=False)


def test_the_command_announces_runs_prints_the_table_and_resumes(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(
        '[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n'
        '[[traffic]]\nsizes = "web-search"\nduration = "5 ms"\nload = 0.5\n'
    )
    wanted = ("compare", "ecmp", "letflow,routing.gap=200us", "letflow,routing.gap=50us", "--scenario", "base.toml")
    asked = (*wanted, "--load", "0.4:0.6:0.2", "--seeds", "2", "--change", "none", "--change", "leaf0-spine0=2.5Gbps")
    done = anabranch(*asked)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "3 schemes x 2 changes x 2 loads x 2 seeds = 24 runs, ecmp is the baseline"
    assert any(re.match(r"about \d+ million packet-hops, \d+ s with \d+ at once", line) for line in lines)
    assert sum("letflow, gap 200us" in line for line in lines) == 2 * 4 + 2 - 1
    assert "24 cells, 24 complete, 0 to run" in anabranch(*asked).stdout
    refused = anabranch("compare", "ecmp", "spray", "--change", "leaf0")
    assert refused.returncode == 2
    assert "change: leaf0: give LINK=down, LINK=RATE" in refused.stderr


def test_shards_of_a_comparison_are_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(
        '[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n'
        '[[traffic]]\nsizes = "200 KB"\nduration = "1 ms"\nload = 0.5\n'
    )
    wanted = ("compare", "ecmp", "spray", "--scenario", "base.toml", "--seeds", "11:12")
    for part, said in (("2/2", "2 cells are left for other shards"), ("1/2", "over 1 point, against ecmp:")):
        done = anabranch(*wanted, "--shard", part)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
        assert (tmp_path / "runs" / "comparison" / "study.toml").is_file()
    found = ab.open(tmp_path / "runs" / "comparison")
    assert isinstance(found, ab.StudyOutcome)
    assert [(cell.point["scheme"], cell.seed) for cell in found.cells] == [
        ("ecmp", 11),
        ("spray", 11),
        ("ecmp", 12),
        ("spray", 12),
    ]


def test_bounds_beyond_ten_times_are_not_written_out() -> None:
    # Two seeds that differ much have an interval of Student's t with one degree of freedom.
    assert [percent(value) for value in (-12.34, 99.95, 400, 1000, 946e6)] == [
        "-12.3 %", "+100.0 %", "+400 %", "+1,000 %", "over +1,000 %",
    ]  # fmt: skip


def test_a_scheme_with_other_flows_is_not_paired() -> None:
    """Other sizes or another load are other flows; another transport is not."""
    schemes: dict[str, str | dict[str, Any]] = {
        "ecmp": "ecmp",
        "cubic": {"routing.balance": "ecmp", "transport.kind": "cubic"},
        "small": {"routing.balance": "ecmp", "traffic.sizes": "50 KB"},
        "idle": {"routing.balance": "ecmp", "traffic.load": 0.2},
    }
    found = ab.compare(schemes, scenario=SCENARIO, seeds=2, jobs=1, progress=False)
    of = found.differences.filter(size_class="all", statistic="slowdown_mean")
    verdicts = dict(of.select("scheme", "verdict").rows())
    assert verdicts["cubic"] in ("better", "worse", "undecided")
    assert (verdicts["small"], verdicts["idle"]) == ("not paired", "not paired")
    assert of.filter(scheme="idle").select("low_pct", "high_pct", "seeds_needed").row(0) == (None, None, None)
    shown = str(found)
    assert "not paired: small, idle: keys of these schemes change which flows there are" in shown
    assert re.search(r"^idle .*not paired: other flows", shown, re.MULTILINE)
    # Nor do they count among what is decided.
    assert "of 2 differences above" in shown or "of 1 differences above" in shown


def test_a_key_of_a_scheme_that_is_an_axis_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ab.AnabranchError, match=r"schemes: idle: traffic\.load: the axis traffic\.load of this"):
        ab.compare(
            {"ecmp": "ecmp", "idle": {"routing.balance": "ecmp", "traffic.load": 0.2}},
            scenario=SCENARIO,
            loads=[0.5],
            progress=False,
        )
    with pytest.raises(ab.AnabranchError, match=r"seed: the axis seed of this comparison changes it"):
        ab.compare(["ecmp", "spray"], scenario=SCENARIO, overrides={"seed": 7}, progress=False)
    assert not (tmp_path / "runs").exists()


def test_what_went_wrong_stands_below_the_table() -> None:
    """A scheme of one's own that sends into a dead port loses packets, and a command shows the run."""
    changes = {"dead": [{"link": "leaf0-spine0", "set": "down"}]}
    found = ab.compare(["ecmp", "mine.py:First"], scenario=SCENARIO, changes=changes, seeds=2, jobs=1, progress=False)
    shown = str(found)
    assert re.search(r"^First: .*[\d,]+ (dropped packets|packets lost to failures)", shown, re.MULTILINE)
    assert re.search(r"look closer: anabranch report runs\S+First\S*", shown)


def test_keys_that_leave_the_flows_as_they_are_keep_them_paired() -> None:
    """Buffers of uplinks are of the fabric and change no flow; a window of measurement changes which of them count."""
    schemes: dict[str, str | dict[str, Any]] = {
        "ecmp": "ecmp",
        "deep": {"routing.balance": "ecmp", "fabric.uplink.buffer": "1 MB"},
        "late": {"routing.balance": "ecmp", "measure.from": "1 ms"},
    }
    found = ab.compare(schemes, scenario=SCENARIO, seeds=2, jobs=1, progress=False)
    verdicts = dict(
        found.differences.filter(size_class="all", statistic="slowdown_mean").select("scheme", "verdict").rows()
    )
    assert verdicts["deep"] in ("better", "worse", "equal", "undecided")
    assert verdicts["late"] == "not paired"


GRAPHS = {
    "name": "graphs",
    "fabric": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4},
    "traffic": [
        {"kind": "graph", "collective": "all-to-all", "size": "400 KB", "compute": "20 us", "iterations": 3},
        {"kind": "graph", "collective": "all-to-all", "size": "100 KB", "hosts": ["0-1"], "idle": True},
    ],
    "transport": {"kind": "dctcp"},
}


def test_training_is_judged_by_its_steps_and_jobs() -> None:
    """The measures of workload graphs are the usual ones, and are those of the runs' own tables, over all seeds."""
    found = ab.compare(["mine.py:Random", "mine.py:First"], scenario=GRAPHS, seeds=3, jobs=1, progress=False)
    kept = {cell.folder: ab.Run(cell.folder).steps for cell in found.study.cells if cell.point["scheme"] == "First"}
    kinds = [steps.with_columns(pl.col("kind").cast(pl.String)).drop_nulls("start_ns") for steps in kept.values()]
    row = found.table.filter(scheme="First", size_class="all").row(0, named=True)
    assert (row["jobs"], row["unfinished_jobs"], row["steps"], row["unfinished_steps"]) == (3, 0, 9, 0)
    for measure, column in (("job", "job_ns_mean"), ("step", "step_ns_mean")):
        means = [steps.filter(kind=measure)["time_ns"].mean() for steps in kinds]
        assert row[column] == pytest.approx(sum(means) / 3)  # type: ignore[arg-type]
        verdict = found.differences.filter(size_class="all", statistic=column)["verdict"].item()
        # All packets of a leaf over one of two uplinks.
        assert verdict == "worse"
    shown = str(found)
    assert re.search(r"^scheme +mean step time +to Random", shown, re.MULTILINE)
    assert "mean job time over 1 point, against Random:" in shown
    assert "slowdown" not in shown
    assert [one["statistic"] for one in found.record["shown"]] == ["step_ns_mean", "job_ns_mean"]


def test_more_throughput_is_better_and_each_class_has_its_own_verdict() -> None:
    found = ab.compare(
        ["mine.py:Random", "mine.py:First"],
        scenario=SCENARIO,
        sizes=["20 KB", "200 KB"],
        seeds=3,
        measures=["fct", "throughput"],
        statistics="p50",
        size_classes=["upto100KB", "all"],
        jobs=1,
        progress=False,
    )
    of = found.differences.filter(size_class="all", sizes="200 KB")
    verdicts = {one: of.filter(statistic=one)["verdict"].item() for one in ("fct_ns_p50", "throughput_bps_p50")}
    assert verdicts == {"fct_ns_p50": "worse", "throughput_bps_p50": "worse"}
    assert of.filter(statistic="throughput_bps_p50")["difference_pct"].item() < 0
    flows = found.flows.filter(scheme="First", seed=1, sizes="20 KB", finished=True)
    cells = found.study.table.filter(scheme="First", seed=1, size_class="up to 100 KB")
    row = cells.filter(pl.col("traffic.sizes") == "20 KB").row(0, named=True)
    assert row["throughput_bps_mean"] == pytest.approx((8e9 * flows["size_bytes"] / flows["fct_ns"]).mean())
    shown = str(found)
    assert re.search(r"^ +p50 FCT\b.*\n.* of flows up to 100 KB", shown, re.MULTILINE)
    # No flow of 200 KB is in the class up to 100 KB.
    assert re.search(r"^200 KB Random +- ", shown, re.MULTILINE)
    assert "-: a p50 needs 2 flows in each run" in shown


def test_jobs_of_incasts_stand_beside_the_slowdown_of_other_flows() -> None:
    mixed = {
        **SCENARIO,
        "traffic": [
            *SCENARIO["traffic"],
            {"kind": "incast", "servers": 3, "response": "20 KB", "jobs": 4, "jobs_per_s": 4000},
        ],
    }
    found = ab.compare(["ecmp", "spray"], scenario=mixed, seeds=2, jobs=1, progress=False)
    assert [one.words for one in found.frames.criteria] == [
        "mean slowdown of all flows",
        "p99 slowdown of all flows",
        "mean job time",
    ]
    run = ab.Run(found.study.cells[0].folder)
    jobs = run.flows.drop_nulls("job").group_by("job")
    spans = jobs.agg((pl.col("start_ns") + pl.col("fct_ns")).max() - pl.col("start_ns").min())
    cell = found.study.table.filter(scheme="ecmp", seed=1, size_class="all")
    assert cell["job_ns_mean"].item() == pytest.approx(spans["start_ns"].mean())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"measures": "fcts"}, "measure: fcts: unknown; did you mean fct"),
        ({"statistics": ["p90"]}, "statistic: p90: unknown; did you mean p99"),
        ({"size_classes": "up to 10 KB"}, "class: up to 10 KB: unknown; did you mean up to 100 KB"),
        ({"sizes": ["web-serch"]}, "compare: at scheme ecmp, traffic.sizes web-serch, .*web-serch"),
        ({"sizes": ["none.csv"]}, "traffic.sizes none.csv, .*none.csv` cannot be read: No such file"),
        ({"sizes": ["20 KB"], "overrides": {"traffic.sizes": "1 KB"}}, "traffic.sizes: the axis traffic.sizes"),
    ],
)
def test_what_cannot_be_shown_is_refused_before_anything_runs(
    tmp_path: Path, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(ab.AnabranchError, match=message):
        ab.compare(["ecmp", "spray"], scenario=SCENARIO, seeds=1, progress=False, **asked)
    assert not (tmp_path / "runs").exists()


def test_a_measure_that_no_run_has_is_refused_by_name() -> None:
    with pytest.raises(ab.AnabranchError, match=r"measure: step: no run has steps; hint: traffic of kind"):
        ab.compare(["ecmp", "spray"], scenario=SCENARIO, seeds=1, measures="step", progress=False)
