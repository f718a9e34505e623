"""Spot checks of records: cells that run again give the same numbers, and what does not is named."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from anabranch._core import MODEL_VERSION
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.records.spot_check import compared, draw
from anabranch.reproduce.selection import select
from anabranch.reproduce.session import spot_check
from anabranch.reproduce.values.cells import Cells
from support.command import anabranch
from support.tiny_study import STUDY, record_study

RECORD = "studies/paper/fig1/record"
SAMPLED = ("valo/deep-learning", "wino/ablation", "dbb/fig8", "tdlb/fig3", "luopan/table1", "reps/fig3")
"""A study of short cells of each paper."""


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a study of its own, and its record."""
    monkeypatch.chdir(tmp_path)
    record_study(tmp_path)
    return tmp_path


def said(*arguments: str, status: int = 0) -> str:
    done = anabranch("reproduce", "paper/fig1", "--spot-check", "6", *arguments)
    assert done.returncode == status, done.stderr
    return done.stdout


def test_a_record_that_holds_says_so_from_then_on(where: Path) -> None:
    path = where / RECORD / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_version": 1}))
    assert said() == "paper/fig1: 6 of 20 cells: the same 18 numbers, to the bit\n"
    assert "same" not in json.loads(path.read_text())
    said("--record")
    shown = " ".join(anabranch("reproduce", "paper/fig1", "--recorded").stdout.split())
    assert f"model 1 (6 of 20 cells, drawn by chance, are the same in model {MODEL_VERSION})" in shown
    done = anabranch("reproduce", "paper/fig1", "--spot-check", "20", "--record")
    assert done.returncode == 0, done.stderr
    shown = " ".join(anabranch("reproduce", "paper/fig1", "--recorded").stdout.split())
    assert f"model 1 (all 20 cells are the same in model {MODEL_VERSION})" in shown
    # What was checked under an older model says nothing of this one.
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, "same": {**written["same"], "model_version": 2}}))
    shown = " ".join(anabranch("reproduce", "paper/fig1", "--recorded").stdout.split())
    assert f"model 1 (now {MODEL_VERSION}: results may differ)" in shown


def test_a_number_that_differs_is_named_and_the_record_is_left(where: Path) -> None:
    path = where / RECORD / "cells.parquet"
    table = pl.read_parquet(path)
    fct = next(name for name in table.columns if name.startswith("mean FCT"))
    slower = pl.when((pl.col("scheme") == "spray") & (pl.col("traffic.load") == "0.6")).then(1.001).otherwise(1.0)
    table.with_columns((pl.col(fct) * slower).cast(pl.Float32)).write_parquet(path)
    done = anabranch("reproduce", "paper/fig1", "--spot-check", "100", "--record")
    assert done.returncode == 1
    first, *others = done.stdout.splitlines()
    began = "paper/fig1: 20 of 20 cells: 5 of 60 numbers differ: scheme spray, traffic.load 0.6, seed 1: mean FCT, ms: "
    assert first.startswith(began)
    assert len(others) == 4
    assert "same" not in json.loads((where / RECORD / "record.json").read_text())


def test_flows_that_are_left_are_compared_too() -> None:
    quantity = Quantity("fct")
    key = (("spray",), 1, quantity)
    cells = [Cells({"scheme": ["spray"]}, [1], {key: 2.0}, {key: left}) for left in ((0, 9), (1, 9), (0, 9))]
    group = Group("paper", "fig1", "fig1", Path("fig1"), "simulator")
    assert not compared(group, cells[0], cells[2], 1).differing
    assert compared(group, cells[0], cells[1], 1).differing == (
        "scheme spray, seed 1: mean FCT, ms: 2 and 1 of 9 flows unfinished there, 2 and 0 of 9 flows unfinished here",
    )


def test_what_cannot_be_checked_says_why(where: Path) -> None:
    study = where / "studies/paper/fig1/study.toml"
    study.write_text(STUDY.replace("seeds = 5", "seeds = 6"))
    assert said() == "paper/fig1: 0 of 0 cells: not checked: study.toml has changed since\n"
    for other in ("--quick", "--recorded", "--json=-", "--output=out"):
        done = anabranch("reproduce", "paper/fig1", "--spot-check", "1", other)
        assert done.returncode == 2
        assert "--spot-check prints one line a study; leave one of the two out" in done.stderr


def test_cells_are_drawn_by_chance_and_always_the_same() -> None:
    known = list(range(1000))
    drawn = draw(known, 50, "a study")
    assert drawn == sorted(set(drawn)) == draw(known, 50, "a study") != draw(known, 50, "another")
    assert len(drawn) == 50
    assert draw(known, 2000, "a study") == known


def test_records_of_the_repository_hold() -> None:
    """A change of what is simulated, without another number of the model, turns this."""
    for one in spot_check(select(SAMPLED), 1, Context([], quiet=True, report=lambda _: None)):
        assert one.cells
        assert one.differing == ()
