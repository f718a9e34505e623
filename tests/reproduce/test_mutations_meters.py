"""Wino's studies tested by mutation: their theory must find out meters that are ignored, and slices that are one.

The studies themselves, with fewer flows, schemes and points.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.reproduce.judge.line import FAILS, HOLDS, VOID
from support.mutation import changed

STUDIES = Path(__file__).parents[2] / "studies" / "wino"
PATIENT = 'loss = ["300 duplicates"] }'
SMALLER = {
    "fig2": {
        "traffic.flows = 400": "traffic.flows = 200",
        "traffic.load = [0.4, 0.8] }": f'traffic.load = [0.8], scheme = ["conga", "wino"], {PATIENT}',
    },
    "testbed-web": {"traffic.load = [0.4, 0.8] }": f"traffic.load = [0.8], {PATIENT}"},
    "ablation": {
        'fabric = ["10G-5G"] }': f'fabric = ["10G-5G"], scheme = ["wino", "unmetered", "spray"], {PATIENT}',
    },
}
WINO = 'wino = { routing.balance = "wino"'
BREAKS = {
    "no meters": {WINO: f'{WINO}, routing.scheme.meter = "off"'},
    "one slice": {WINO: f"{WINO}, routing.scheme.label_bits = 1"},
}


@pytest.mark.parametrize("study", SMALLER)
def test_the_theory_holds(tmp_path: Path, study: str) -> None:
    assert {line.check for line in changed(tmp_path, STUDIES / study, SMALLER[study])} == {HOLDS}


@pytest.mark.parametrize("study", SMALLER)
@pytest.mark.parametrize("broken", BREAKS)
def test_every_verdict_turns_without_meters_or_with_one_slice(tmp_path: Path, study: str, broken: str) -> None:
    lines = changed(tmp_path, STUDIES / study, {**SMALLER[study], **BREAKS[broken]})
    assert {(line.kind, line.check) for line in lines} == {(VOID, FAILS)}
