"""VALO's studies tested by mutation: their theory must find out gravities that are the weights themselves, or equal.

The studies themselves, with fewer schemes and points. Under VMS and Clove the weights move and make good for a wrong
splitter, so that few verdicts would turn by themselves.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.reproduce.judge.line import FAILS, HOLDS, VOID
from support.mutation import changed

STUDIES = Path(__file__).parents[2] / "studies" / "valo"
CAPACITY = 'routing.balance = "valo", routing.weights = "capacity"'
FIXED = f'"valo, fixed weights" = {{ {CAPACITY} }}'
GIVEN = 'valo = { routing.balance = "valo" }'
SMALLER = {
    "fig17": {
        'weights = ["81:25:39:55"] }': 'weights = ["81:25:39:55"], workload = ["cache"], '
        'scheme = ["vms", "vms+valo", "clove", "clove+valo", "valo, fixed weights"] }',
    },
    "length": {},
}
BREAKS = {
    "fig17": {
        "plain": {FIXED: FIXED.replace('"valo", r', '"scoring", r')},
        "equal": {FIXED: FIXED.replace("capacity", "equal")},
    },
    "length": {
        "plain": {GIVEN: 'valo = { routing.balance = "scoring" }'},
        "equal": {GIVEN: 'valo = { routing.balance = "valo", routing.weights = "equal" }'},
    },
}


@pytest.mark.parametrize("study", BREAKS)
def test_the_theory_holds(tmp_path: Path, study: str) -> None:
    lines = changed(tmp_path, STUDIES / study, SMALLER[study])
    assert HOLDS in {line.check for line in lines}
    assert FAILS not in {line.check for line in lines}


@pytest.mark.parametrize(("study", "broken"), [(study, broken) for study in BREAKS for broken in BREAKS[study]])
def test_every_verdict_that_names_valo_turns(tmp_path: Path, study: str, broken: str) -> None:
    lines = changed(tmp_path, STUDIES / study, {**SMALLER[study], **BREAKS[study][broken]})
    named = [line for line in lines if "VALO" in line.what]
    assert named
    assert {(line.kind, line.check) for line in named} == {(VOID, FAILS)}
