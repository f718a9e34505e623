"""Points with more seeds than the others, in claims and figures; and records that grow by them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.claims.claim import FigureRequest
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.measure import CellMeasure
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import UNDECIDED
from anabranch.reproduce.values.cells import NOT_RECORDED, Cells
from anabranch.reproduce.values.evaluate import evaluate
from anabranch.reproduce.values.ranking import rank
from support.command import anabranch
from support.tiny_study import STUDY, record_study

RECORD = "studies/paper/fig1/record"
FCT = Quantity("fct")
MORE = """seeds = 6

[[more_seeds]]
seeds = 8
at = { scheme = ["spray", "ecmp"], traffic.load = [0.6] }
"""
NEAR = pytest.approx


def cells(**numbers: list[float]) -> Cells:
    """Schemes `a` and `b` at loads 1 and 2; each list is of the first seeds, as many as it has."""
    made = Cells({"scheme": ["a", "b"], "load": [1, 2]}, [1, 2, 3, 4])
    for name, row in numbers.items():
        made.numbers.update({((name[0], int(name[1])), seed, FCT): one for seed, one in enumerate(row, start=1)})
    return made


UNEQUAL = cells(a1=[1.0, 3.0], a2=[2.0, 4.0, 6.0, 12.0], b1=[1.0, 1.0], b2=[1.0, 1.0, 1.0])


def test_each_point_is_over_its_own_seeds_and_a_mean_over_those_of_all() -> None:
    found = evaluate(CellMeasure(FCT, of={"scheme": "a"}), UNEQUAL)
    assert [(one.value, one.seeds) for one in found.points] == [(2.0, 2), (6.0, 4)]
    assert found.mean is not None
    assert (found.mean.value, found.seeds, found.missing) == (2.5, 2, [])
    at_two = evaluate(CellMeasure(FCT, of={"scheme": "a"}, at={"load": [2]}), UNEQUAL)
    assert at_two.seeds == 4


def test_pairs_are_of_the_seeds_that_both_have() -> None:
    ratio = evaluate(CellMeasure(FCT, of={"scheme": "a"}, over={"scheme": "b"}, form="ratio"), UNEQUAL)
    assert [one.value for one in ratio.points] == NEAR([3**0.5, 48 ** (1 / 3)])
    assert [one.seeds for one in ratio.points] == [2, 3]
    assert ratio.seeds == 2
    ranking = rank(CellMeasure(FCT, order=[["b"], ["a"]], at={"load": [2]}), UNEQUAL)
    # The spread of three seeds, though `a` has four.
    assert (ranking.pairs, ranking.missing, ranking.needed) == (1, [], 7)


def test_a_verdict_on_one_point_is_over_the_seeds_of_that_point(tmp_path: Path) -> None:
    claim = """
fixed = 2026-12-01

[[claim]]
id = "1"
what = "w"
where = "here"
text = "up to 6"
paper = 6
compare = "value"
tolerance = 3
measure = { quantity = "fct", of = "a", across = "most" }
"""
    (tmp_path / "expected.toml").write_text(claim)
    (read,) = load_expected(tmp_path).claims
    line = judge("p/f", read, CellEvidence(UNEQUAL))
    # A standard deviation of 4.3 over four seeds: Student's half width is below 3 from 11 seeds on.
    assert (line.kind, line.seeds, line.needed) == (UNDECIDED, 4, 11)


def test_a_quantity_that_a_record_lacks_is_still_missing() -> None:
    other = evaluate(CellMeasure(Quantity("slowdown"), of={"scheme": "a"}), UNEQUAL)
    assert (other.mean, other.missing) == (None, [NOT_RECORDED])


def test_a_figure_takes_no_seed_that_only_some_of_its_cells_have() -> None:
    request = FigureRequest("times", FCT, "load", None, {})
    ((_, _, drawn),) = CellEvidence(UNEQUAL, [request]).figures()
    (line,) = drawn.axes[0].get_lines()
    # The fourth seed of `a` at load 2 has nothing of `b` beside it.
    assert np.asarray(line.get_ydata()).tolist() == NEAR([1.5, 2.5])


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a study of five seeds, and its record; the study has asked for more since."""
    monkeypatch.chdir(tmp_path)
    record_study(tmp_path)
    (tmp_path / "studies/paper/fig1/study.toml").write_text(STUDY.replace("seeds = 5\n", MORE))
    return tmp_path


def grow(status: int = 0) -> str:
    """Lets the record grow, and gives what was said of it."""
    done = anabranch("reproduce", "paper/fig1", "--record", "--grow", "3", "--output", "more")
    assert done.returncode == status, done.stderr
    return done.stderr if status else " ".join(done.stdout.split())


def test_a_record_that_has_grown_has_the_numbers_of_one_that_ran_whole(where: Path) -> None:
    """The oracle: every cell runs anew into another record."""
    said = grow()
    assert "paper/fig1: 3 of 20 cells of the record: the same 9 numbers, to the bit" in said
    # Two schemes at two loads with a sixth seed, and at one load with two more.
    assert "paper/fig1: 8 cells, 0 complete, 8 to run" in said
    grown = {name: (where / RECORD / name).read_bytes() for name in ("cells.parquet", "cells.json")}
    kept = json.loads((where / RECORD / "record.json").read_text())["kept"]
    assert (kept["cells"], kept["of"], kept["checked"]) == (20, 28, 3)
    assert "(20 of 28 cells ran before, from 2" in " ".join(
        anabranch("reproduce", "paper/fig1", "--recorded").stdout.split()
    )
    done = anabranch("reproduce", "paper/fig1", "--record", "--output", "anew")
    assert done.returncode == 0, done.stderr
    assert "kept" not in json.loads((where / RECORD / "record.json").read_text())
    assert {name: (where / RECORD / name).read_bytes() for name in grown} == grown
    seeds = [
        one["seeds"]
        for one in json.loads(anabranch("reproduce", "paper/fig1", "--recorded", "--json", "-").stdout)["claims"]
    ]
    assert seeds == [6, 0, 6]


def test_a_record_that_grows_again_says_when_its_oldest_cells_ran(where: Path) -> None:
    manifest, about = where / RECORD / "record.json", where / RECORD / "cells.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "date": "2026-01-01"}))
    about.write_text(json.dumps({**json.loads(about.read_text()), "bounded": False}))
    for cells in (20, 28):
        grow()
        kept = json.loads(manifest.read_text())["kept"]
        assert (kept["cells"], kept["of"], kept["date"]) == (cells, 28, "2026-01-01")
    # What was not checked then is not checked now.
    assert not json.loads(about.read_text())["bounded"]


def test_a_record_does_not_grow_where_a_cell_is_another_today(where: Path) -> None:
    path = where / RECORD / "cells.parquet"
    table = pl.read_parquet(path)
    fct = next(name for name in table.columns if name.startswith("mean FCT"))
    table.with_columns((pl.col(fct) * 1.001).cast(pl.Float32)).write_parquet(path)
    was = path.read_bytes()
    said = grow(status=2)
    assert "paper/fig1: --grow: 3 of 9 numbers differ: scheme " in said
    assert "hint: without --grow all cells run" in said
    assert path.read_bytes() == was


def test_a_record_of_other_cells_does_not_grow(where: Path) -> None:
    study, manifest = where / "studies/paper/fig1/study.toml", where / RECORD / "record.json"
    text = study.read_text()
    study.write_text(text.replace("[0.3, 0.6]", "[0.3, 0.5, 0.6]"))
    assert "--grow: study.toml has changed in more than its seeds since its record; hint: " in grow(status=2)
    study.write_text(text)
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "model_version": 1}))
    assert "--grow: its record is of model 1, and this is model " in grow(status=2)
    manifest.unlink()
    assert "paper/fig1: --grow: no record; leave --grow out" in grow(status=2)


@pytest.mark.usefixtures("where")
def test_only_a_record_grows() -> None:
    for others in ((), ("--record", "--mutations"), ("--quick",), ("--recorded",)):
        done = anabranch("reproduce", "paper/fig1", "--grow", "3", *others)
        assert done.returncode == 2
        assert "--grow: a record grows; give --record, and neither --quick nor --mutations" in done.stderr


@pytest.mark.parametrize(
    ("study", "why"),
    [
        ("wino/fig4", "it is short, and runs as a whole"),
        ("dbb/lab", "its values are of real switches, and repeat only by chance"),
    ],
)
def test_what_has_no_cells_of_the_simulator_does_not_grow(study: str, why: str) -> None:
    done = anabranch("reproduce", study, "--record", "--grow", "3")
    assert done.returncode == 2
    assert done.stderr == f"anabranch: error: {study}: --grow: {why}; leave --grow out\n"
