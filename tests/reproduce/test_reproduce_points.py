"""Points of a measure: a growth beside another, and a theory that holds at each of its points."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.measure import read_classes, read_measure
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import FAILS, HOLDS, VOID
from anabranch.reproduce.values.cells import Cells
from anabranch.reproduce.values.evaluate import evaluate

FCT = read_measure({"quantity": "fct", "of": "x"}, read_classes({})).quantity
TIMES = {("good", 0.2): [1.0, 1.0], ("good", 0.8): [1.0, 3.0], ("bad", 0.2): [2.0, 2.0], ("bad", 0.8): [12.0, 12.0]}
EXPECTED = """
source = "a test"
fixed = 2026-11-27

[[claim]]
id = "1"
what = "w"
where = "here"
text = "1.5"
paper = 1.5
compare = "value"
tolerance = 2
theory = "time"
measure = { quantity = "fct", of = "good" }

[[theory]]
name = "time"
what = "time of good"
source = "arithmetic"
between = [1, 1.6]
measure = { quantity = "fct", of = "good", across = "ACROSS" }
"""


def cells() -> Cells:
    """Two schemes at two loads, two seeds each."""
    made = Cells({"scheme": ["good", "bad"], "traffic.load": [0.2, 0.8]}, [1, 2])
    for cell, row in TIMES.items():
        made.numbers.update({(cell, seed, FCT): number for seed, number in enumerate(row, start=1)})
    return made


def measure(**given: Any) -> Any:
    return read_measure(
        {"quantity": "fct", **{key.rstrip("_"): value for key, value in given.items()}}, read_classes({})
    )


def test_a_growth_is_divided_by_another() -> None:
    grown = {"of": {"scheme": "bad", "traffic.load": 0.8}, "over": {"scheme": "bad", "traffic.load": 0.2}}
    other = {"of": {"scheme": "good", "traffic.load": 0.8}, "over": {"scheme": "good", "traffic.load": 0.2}}
    mean = evaluate(measure(**grown, beside=other), cells()).mean
    # 6 and 6 beside 1 and 3.
    assert mean is not None
    assert mean.value == pytest.approx(math.sqrt(6 * 2))
    for wrong in ({"beside": {"of": "good"}}, {"beside": other, "as_": "difference"}):
        with pytest.raises(ValueError, match="beside"):
            measure(**grown, **wrong)


@pytest.mark.parametrize(("across", "fails"), [("mean", False), ("least", False), ("most", True), ("each", True)])
def test_a_theory_holds_at_the_points_that_it_names(tmp_path: Path, across: str, fails: bool) -> None:
    (tmp_path / "expected.toml").write_text(EXPECTED.replace("ACROSS", across))
    (claim,) = load_expected(tmp_path).claims
    # 1 at load 0.2 and 2 at 0.8, so 1.5 on average.
    line = judge("p/f", claim, CellEvidence(cells()))
    assert (line.kind == VOID, line.check) == (fails, FAILS if fails else HOLDS)
