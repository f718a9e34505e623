"""`anabranch reproduce` from end to end, on the study itself made small."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anabranch import AnabranchError
from anabranch.files.project.studies.valo.splitting.evidence import SplitterEvidence
from anabranch.files.project.studies.valo.splitting.job import Outcome, run
from anabranch.files.project.studies.valo.splitting.outcome_record import parts, read
from anabranch.files.project.studies.valo.splitting.output import deterministic
from anabranch.files.project.studies.valo.splitting.splitting import Splitting
from anabranch.files.project.studies.valo.splitting.study import Study, Sweep, load
from anabranch.reproduce.claims.claim import Claim
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import FAILS, INCOMPARABLE, VOID, Line
from anabranch.reproduce.pages.report import record
from anabranch.reproduce.records.record import Record
from support.command import anabranch

FOLDER = Path(__file__).parents[2] / "studies" / "valo" / "splitting"
POINTS = {
    "default": ((4, 40_000),),
    "weights": ((4, 40_000),),
    "load": ((4, 1000), (4, 120_000)),
    "paths": ((2, 40_000), (8, 40_000)),
    "small": ((4, 10), (4, 100)),
}


def small() -> Study:
    study = load(FOLDER, quick=True)
    return replace(
        study,
        trials=2,
        validation=replace(study.validation, connections=2000),
        sweeps={name: Sweep(name, points) for name, points in POINTS.items()},
        cost=replace(study.cost, connections=(100, 500), paths=(4,), paths_connections=500, packets=512, repetitions=1),
        changes=replace(study.changes, per_second=(2,), connections=100, packets_per_second=200),
    )


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return run(small())


def claims() -> list[Claim]:
    return load_expected(FOLDER, True, Splitting().read_measure).claims


def judged(outcome: Outcome) -> list[Line]:
    """Every claim of the study with its verdict."""
    evidence = SplitterEvidence(outcome, claims())
    return [judge("valo/splitting", claim, evidence) for claim in evidence.claims]


def numbers(outcome: Outcome) -> str:
    """Everything that is no time, verdicts included."""
    lines = [record(line) for line in judged(outcome) if not line.timed]
    return json.dumps([deterministic(outcome), lines], allow_nan=False)


def test_the_same_seed_gives_the_same_numbers(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    again, other = run(small()), run(replace(small(), seed=2))
    first, second = numbers(outcome), numbers(again)
    assert first == second
    assert first != numbers(other).replace('"seed": 2', '"seed": 1')


def test_a_record_gives_the_same_verdicts(outcome: Outcome, tmp_path: Path) -> None:
    for name, content in parts(outcome).items():
        (tmp_path / name).write_bytes(content)
    again = read(small(), Record(tmp_path, study="", version="", model_version=0, date=""))
    assert numbers(again) == numbers(outcome)
    assert [record(line) for line in judged(again)] == [record(line) for line in judged(outcome)]


def test_trials_have_weights_and_connections_of_their_own(outcome: Outcome) -> None:
    found = outcome.measured.accuracy
    for name, points in found.items():
        assert [(point.paths, point.connections) for point in points] == list(POINTS[name])
        for point in points:
            assert len(set(point.floors.tolist())) == outcome.study.trials
            assert all(len(set(errors.tolist())) > 1 for label, errors in point.mapes.items() if "wrr" not in label)
    # Another experiment at the same point has other draws.
    assert found["default"][0].floors.tolist() != found["weights"][0].floors.tolist()


def test_errors_are_what_theory_says(outcome: Outcome) -> None:
    """Two trials resolve little: exact techniques below four floors, quotas far below, scoring well above."""
    for point in outcome.measured.accuracy["paths"] + outcome.measured.accuracy["load"]:
        for label in ("valo", "weighted-random", "min-move"):
            assert (point.mapes[label] < 4 * point.floors).all(), label
        assert (point.mapes["wfq"] < point.floors / 2).all()
        assert (point.mapes["wrr"] < point.floors / 2).all()
    eight = outcome.measured.accuracy["paths"][1]
    assert (eight.mapes["scoring"] > 30).all()
    assert (eight.byte_mapes["valo"] > eight.mapes["wfq"]).all()


def test_sizes_are_those_of_web_search(outcome: Outcome) -> None:
    assert outcome.measured.design_effect == pytest.approx(6.4, abs=0.2)


def test_scoring_counts_follow_the_volumes(outcome: Outcome) -> None:
    two, three = outcome.measured.validation
    assert (two.weights, three.weights) == ((4, 3), (4, 3, 2))
    assert two.shares == pytest.approx([5 / 8, 3 / 8])
    for case in (two, three):
        assert sum(count.value for count in case.counts) == pytest.approx(2000)
        for count, share in zip(case.counts, case.shares, strict=True):
            assert abs(count.value - 2000 * share) < (2000 * share * (1 - share)) ** 0.5


def test_eight_bits_lose_what_they_must(outcome: Outcome) -> None:
    for over in outcome.measured.hashes:
        for quality in over.qualities:
            assert quality.lost_pct == pytest.approx(98.72 if quality.bits == 8 else 0, abs=0.02), quality.name


def test_the_linear_list_costs_more_the_longer_it_is(outcome: Outcome) -> None:
    short, long = (cost for cost in outcome.measured.cost_by_load if cost.technique.endswith("cache=list"))
    table = next(cost for cost in outcome.measured.cost_by_load if cost.technique == "wrr:cache=table")
    assert (short.connections, long.connections) == (100, 500)
    assert long.state_bytes > 4 * short.state_bytes
    assert long.throughput_ns > table.throughput_ns


def test_every_claim_has_a_verdict(outcome: Outcome) -> None:
    lines = judged(outcome)
    assert len(lines) == len(claims())
    for line in lines:
        assert line.because or line.kind != INCOMPARABLE, line.what
        assert "{" not in line.because, line.because
        assert line.value is not None or line.kind == INCOMPARABLE
        assert (line.check, line.kind) != (FAILS, VOID), (line.what, line.checked_by)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with a study of its own."""
    where = tmp_path_factory.mktemp("reproduce")
    # Its record is of another study, and would be judged anew to look for contradictions.
    shutil.copytree(FOLDER, where / "studies" / "small" / "tiny", ignore=shutil.ignore_patterns("record"))
    text = (FOLDER / "study.toml").read_text()
    for pattern, value in (
        ("^name = .*", 'name = "tiny"'),
        ("^trials_quick = .*", "trials_quick = 1"),
        (r"^\[validation\]\nsource = .*\nconnections = .*", '[validation]\nsource = "datacenter"\nconnections = 2000'),
        (r"^load = .*", "load = { paths = [4], connections = [1000, 120_000] }"),
        (r"^paths = \{.*", "paths = { paths = [2, 8], connections = [40_000] }"),
        (r"^small = .*", "small = { paths = [4], connections = [50] }"),
        (r"^connections_quick = \[.*", "connections_quick = [100, 300]"),
        (r"^paths_connections_quick = .*", "paths_connections_quick = 300"),
    ):
        text, changed = re.subn(pattern, value, text, flags=re.MULTILINE)
        assert changed == 1, pattern
    (where / "studies" / "small" / "tiny" / "study.toml").write_text(text)
    return where


def test_a_run_leaves_table_report_and_data(tiny: Path) -> None:
    done = anabranch("reproduce", "tiny", "--quick", "--output", "here", cwd=tiny)
    assert done.returncode == 0, done.stderr
    assert "--quick: 1 trials instead of 200" in done.stdout
    for id_ in ("0.1", "0.5", "0.12", "0.17"):
        assert re.search(rf"^{re.escape(id_)} ", done.stdout, re.MULTILINE), id_
    folder = tiny / "here" / "tiny-quick"
    files = {path.name for path in folder.iterdir()}
    own = {"accuracy.csv", "cost.csv", "changes.csv", "results.json"}
    assert files == own | {"report.html", "verdicts.csv", "verdicts.json", "measured.csv", "figures"}
    report = (folder / "report.html").read_text()
    assert report.count("<figure>") == report.count("<svg") == len(list((folder / "figures").iterdir())) > 13
    assert not re.search(r'(?:src|href)="(?!#|data:)', report)
    results: dict[str, Any] = json.loads((folder / "results.json").read_text())
    with (folder / "accuracy.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["experiment"], row["technique"]) == ("weights", "valo")]
    assert len(rows) == 1
    point = results["accuracy"]["weights"][0]
    assert float(rows[0]["mape_pct"]) == point["mape_pct"]["valo"] == point["mape_max_pct"]["valo"]
    with (folder / "verdicts.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(json.loads((folder / "verdicts.json").read_text())) == 95


def test_an_unknown_study_is_answered_with_those_there_are(tiny: Path) -> None:
    done = anabranch("reproduce", "vallo", cwd=tiny)
    assert done.returncode == 2
    assert re.search("vallo: no such study; did you mean valo", done.stderr)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("trials_quick = 12", "", "trials_quick"),
        ('"random" = "equal"', '"random" = "even"', "even"),
        ("pool = 60_000 ", "pool = 6_000 ", "pool"),
        ("[hashes]", "[hashes", "study.toml"),
    ],
)
def test_a_wrong_study_is_named(tmp_path: Path, old: str, new: str, named: str) -> None:
    text = (FOLDER / "study.toml").read_text()
    assert old in text
    (tmp_path / "study.toml").write_text(text.replace(old, new))
    with pytest.raises(AnabranchError, match=named) as error:
        load(tmp_path, quick=True)
    assert str(tmp_path / "study.toml") in str(error.value)
