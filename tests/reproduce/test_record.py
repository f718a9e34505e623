"""Records of full runs: every verdict is computed anew from their numbers, and nothing runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anabranch import AnabranchError
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.records import cell_record
from anabranch.reproduce.records.record import Record, identity, keep, recorded
from anabranch.reproduce.selection import groups
from anabranch.reproduce.values.cells import Cells
from support.command import anabranch
from support.tiny_study import EXPECTED, STUDY, write_study

RECORD = "studies/paper/fig1/record"
NEAR = pytest.approx


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a study of its own."""
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def claims(*arguments: str, status: int = 0) -> list[dict[str, Any]]:
    done = anabranch("reproduce", "paper/fig1", "--output", "out", "--json", "-", *arguments)
    assert done.returncode == status, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["claims"]
    return found


def test_a_record_gives_the_verdicts_of_its_run(where: Path) -> None:
    ran = claims("--record")
    shutil.rmtree("out")
    again = claims("--recorded")
    assert [one["kind"] for one in ran] == [one["kind"] for one in again] == ["agrees", "not run", "agrees"]
    for before, after in zip(ran, again, strict=True):
        assert before.pop("ours").split(" (")[0] == after.pop("ours").split(" (")[0]
        for number in ("value", "low", "high"):
            was, came = before.pop(number), after.pop(number)
            assert came == (None if was is None else NEAR(was, rel=1e-5))
        assert before.keys() == after.keys()
        for word in ("check", "because", "seeds", "chosen", "main"):
            assert before[word] == after[word]
    assert not (where / "out" / "cells").exists()
    assert {path.name for path in (where / RECORD).iterdir()} == {"cells.json", "cells.parquet", "record.json"}
    assert (where / "out" / "paper-fig1-recorded" / "figures" / "paper-fig1-1.png").is_file()
    shown = anabranch("reproduce", "paper/fig1", "--recorded")
    assert "paper/fig1  recorded 2" in shown.stdout
    assert "changed since" not in shown.stdout


def test_the_numbers_decide_and_no_verdict_is_stored(where: Path) -> None:
    claims("--record")
    path = where / RECORD / "cells.parquet"
    share = next(name for name in pl.read_parquet(path).columns if name.startswith("share of bytes"))
    pl.read_parquet(path).with_columns(pl.col(share) * 0.5).write_parquet(path)
    theory = claims("--recorded", status=1)[2]
    assert (theory["check"], theory["kind"]) == ("fails", "ours is wrong")
    text = (where / "studies/paper/fig1/expected.toml").read_text()
    (where / "studies/paper/fig1/expected.toml").write_text(text.replace("paper = [-80, 90]", "paper = [300, 400]"))
    assert claims("--recorded", status=1)[0]["kind"] == "differs"


def test_a_record_of_another_study_is_told(where: Path) -> None:
    claims("--record")
    study = where / "studies/paper/fig1/study.toml"
    study.write_text(STUDY.replace('note = "2 seeds, one load"', 'note = "less"'))
    assert "changed since" not in anabranch("reproduce", "paper/fig1", "--recorded").stdout
    small = where / "studies/paper/fig1/small.toml"
    small.write_text(small.read_text() + "\n# another scenario\n")
    assert "study.toml has changed since" in anabranch("reproduce", "paper/fig1", "--recorded").stdout


def test_what_is_not_recorded_is_not_run(where: Path) -> None:
    shown = anabranch("reproduce", "paper/fig1", "--recorded")
    assert shown.returncode == 0
    assert "3 claims: 3 not run" in shown.stdout
    assert "no record; `anabranch reproduce paper/fig1 --record` makes one" in " ".join(shown.stdout.split())
    assert not (where / RECORD).exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--recorded", "--quick"), "--quick: --recorded runs nothing; leave one of the two out"),
        (("--recorded", "--record"), "--record: --recorded runs nothing; leave one of the two out"),
        (("--record", "--quick"), "--quick: a record is of a full run; leave --quick or --record out"),
    ],
)
def test_options_that_contradict_each_other_are_refused(where: Path, arguments: tuple[str, ...], said: str) -> None:
    done = anabranch("reproduce", "paper/fig1", *arguments)
    assert done.returncode == 2
    assert done.stderr.strip() == f"anabranch: error: reproduce: {said}"
    assert not (where / "runs").exists()


def test_a_damaged_record_is_refused_by_name(where: Path) -> None:
    claims("--record")
    folder = where / RECORD
    for name, content in [
        ("cells.parquet", None),
        ("cells.parquet", (folder / "cells.parquet").read_bytes()[:-100]),
        ("cells.json", b"{"),
        ("cells.json", b'{"axes": {"scheme": 1}, "seeds": [1]}'),
        ("cells.json", b'{"axes": {}}'),
        ("record.json", b"[]"),
        ("record.json", b'{"study": "x"}'),
    ]:
        kept = (folder / name).read_bytes()
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(content)
        done = anabranch("reproduce", "paper/fig1", "--recorded")
        assert done.returncode == 2, (name, content)
        assert done.stderr.startswith(f"anabranch: error: {folder}: damaged record: "), done.stderr
        assert "record the study again, or take the folder from the repository" in done.stderr
        (folder / name).write_bytes(kept)
    assert anabranch("reproduce", "paper/fig1", "--recorded").returncode == 0


def test_a_record_of_an_older_model_is_told(where: Path) -> None:
    claims("--record")
    manifest = where / RECORD / "record.json"
    written = json.loads(manifest.read_text())
    assert "results may differ" not in anabranch("reproduce", "paper/fig1", "--recorded").stdout
    manifest.write_text(json.dumps({**written, "model_version": 1}))
    shown = " ".join(anabranch("reproduce", "paper/fig1", "--recorded").stdout.split())
    assert f"model 1 (now {written['model_version']}: results may differ)" in shown


def test_a_file_in_the_place_of_a_record_is_left_alone(where: Path) -> None:
    (where / RECORD).write_text("mine")
    done = anabranch("reproduce", "paper/fig1", "--record", "--output", "out")
    assert done.returncode == 2
    assert f"{RECORD}: is no folder; hint: move it away, or write elsewhere" in done.stderr
    assert (where / RECORD).read_text() == "mine"


def test_a_claim_that_measures_more_than_the_record_has_is_refused(where: Path) -> None:
    claims("--record")
    text = EXPECTED.replace('quantity = "reordered"', 'quantity = "retransmitted"')
    (where / "studies/paper/fig1/expected.toml").write_text(text)
    done = anabranch("reproduce", "paper/fig1", "--recorded")
    assert done.returncode == 2
    assert "it has no retransmitted, %, which a claim measures; record the study again" in done.stderr


def test_a_claim_at_a_value_that_the_record_lacks_is_refused_and_keeps_no_quick_run_from_its_end(where: Path) -> None:
    claims("--record")
    study = where / "studies/paper/fig1/study.toml"
    study.write_text(STUDY.replace("[axes]", 'drill = { routing.balance = "drill" }\n\n[axes]'))
    (where / "studies/paper/fig1/expected.toml").write_text(EXPECTED.replace('over = "ecmp"', 'over = "drill"', 1))
    done = anabranch("reproduce", "paper/fig1", "--recorded")
    assert done.returncode == 2
    assert "paper/fig1: study.toml has changed since its record, which the claims do not fit: " in done.stderr
    assert "`anabranch reproduce paper/fig1 --record` makes another" in done.stderr
    # A quick run is of the study as it stands, and has no such record to contradict.
    assert contradicted() == []


def test_a_theory_that_is_newer_than_the_record_is_reported_as_not_checked(where: Path) -> None:
    claims("--record")
    theory = """
[[theory]]
name = "backlog"
what = "most that waited, in KB"
source = "a test"
between = [0, 1000]
measure = { quantity = "peak backlog", ports = ["leaf0>spine0"], of = "spray" }
"""
    file = where / "studies/paper/fig1/expected.toml"
    file.write_text(EXPECTED.replace('theory = "in turn"', 'theory = ["in turn", "backlog"]') + theory)
    shown = anabranch("reproduce", "paper/fig1", "--recorded", "--output", "out")
    assert shown.returncode == 0, shown.stderr
    said = "most that waited, in KB: not checked, for the record is older than this theory"
    assert said in (where / "out" / "paper-fig1-recorded" / "verdicts.csv").read_text()
    # What ran is checked.
    claims("--record")
    assert anabranch("reproduce", "paper/fig1", "--recorded", "--output", "out").returncode == 0
    assert said not in (where / "out" / "paper-fig1-recorded" / "verdicts.csv").read_text()


def test_what_is_wrong_is_not_recorded() -> None:
    cells = Cells({"scheme": ["a"]}, [1], broken={(("a",), 1): "flow 1 took 1 ns"})
    with pytest.raises(AnabranchError, match="ours is wrong: flow 1 took 1 ns"):
        cell_record.parts(cells)


def test_cells_come_back_as_they_were(tmp_path: Path) -> None:
    fct, share = Quantity("fct", statistic="p99"), Quantity("share of bytes", ports=("a>b",), out_of=("a>b", "a>c"))
    axes: dict[str, list[Any]] = {"scheme": ["x", "y"], "traffic.load": [0.3, 1]}
    cells = Cells(axes, [3, 7], bounded=True)
    for number, (scheme, load, seed) in enumerate([("x", 0.3, 3), ("y", 1, 7), ("x", 1, 3)]):
        cells.numbers[(scheme, load), seed, fct] = None if number == 1 else 0.1 * number
        cells.numbers[(scheme, load), seed, share] = 50.0 + number
        cells.unfinished[(scheme, load), seed, fct] = (number, 10)
    cells.missing[("y", 0.3), 3] = "it has not run"
    for seed, why in ((3, "a"), (7, "a")):
        cells.missing[("x", 1), seed] = why
        cells.missing[("y", 1), seed] = why if seed == 3 else "b"
    for name, content in cell_record.parts(cells).items():
        (tmp_path / name).write_bytes(content)
    told = json.loads((tmp_path / cell_record.AXES).read_text())["missing"]
    assert [one["seed"] for one in told] == [3, None, 3, 7]
    back = cell_record.read(Record(tmp_path, "", "", 0, ""), [fct, share])
    assert (back.axes, back.seeds, back.missing, back.bounded) == (axes, [3, 7], cells.missing, True)
    assert back.unfinished == cells.unfinished
    assert back.numbers == {
        key: None if number is None else NEAR(number, rel=1e-6) for key, number in cells.numbers.items()
    }


def test_records_of_the_repository_are_of_its_studies() -> None:
    kept = {group.label: record for group in groups() if (record := recorded(group)) is not None}
    assert kept
    for group in groups():
        if group.label in kept:
            again = f"anabranch reproduce {group.label} --record"
            assert kept[group.label].study == identity(group), f"study.toml has changed; {again}"


def test_causes_of_recorded_verdicts_have_all_their_numbers() -> None:
    pages = list((Path(__file__).parents[2] / "docs" / "reproduced").glob("*.md"))
    assert pages
    for page in pages:
        assert not re.findall(r"\{[a-z_]+\}", page.read_text(encoding="utf-8")), page


def test_a_quick_run_that_contradicts_the_record_says_so(where: Path) -> None:
    claims("--record")
    assert contradicted() == []
    path = where / RECORD / "cells.parquet"
    whole = pl.read_parquet(path)
    fct = next(name for name in whole.columns if name.startswith("mean FCT"))
    slower = pl.when(pl.col("scheme") == "spray").then(10.0).otherwise(1.0)
    whole.with_columns(pl.col(fct) * slower).write_parquet(path)
    (one,) = contradicted()
    assert (one["id"], one["quick"], one["record"]) == ("9.1", "agrees", "differs")
    shown = anabranch("reproduce", "paper/fig1", "--quick")
    assert "contradicts the record: paper/fig1 9.1 spraying: agrees here, differs in full" in shown.stdout


def contradicted() -> list[dict[str, Any]]:
    done = anabranch("reproduce", "paper/fig1", "--quick", "--output", "out", "--json", "-")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["contradictions"]
    return found


@pytest.mark.slow
def test_quick_runs_do_not_contradict_the_records(tmp_path: Path) -> None:
    kept = [group.label for group in groups() if group.backend != "lab" and recorded(group) is not None]
    done = anabranch("reproduce", *kept, "--quick", "--output", str(tmp_path), "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["contradictions"] == []


@pytest.mark.usefixtures("where")
def test_a_record_takes_the_place_of_an_older_one() -> None:
    (group,) = (group for group in groups() if group.label == "paper/fig1")
    keep(group, {"a": b"1", "b": b"2"})
    folder = keep(group, {"b": b"3"})
    assert {path.name for path in folder.iterdir()} == {"b", "record.json"}
    assert (folder / "b").read_bytes() == b"3"
    assert recorded(group) is not None
