"""Wino's north-south study tested by mutation: its theory must find out whatever keeps slices from what is left.

The study itself, with fewer seconds. What is broken is north-south traffic that is not sent at its rate, measurements
that the controller never gets, and slices that are none.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.reproduce.judge.line import FAILS, HOLDS, VOID
from support.mutation import changed

STUDY = Path(__file__).parents[2] / "studies" / "wino" / "north-south"
SMALLER = {
    '"traffic.0.duration" = "8 s", stop.at = "12 s"': '"traffic.0.duration" = "4 s", stop.at = "7 s"',
    'scheme = ["conga", "wino", "literal"] }': 'scheme = ["conga", "wino", "literal"], loss = ["300 duplicates"] }',
    'file = "demand-': f'file = "{STUDY}/demand-',
}
WINO = 'wino = { routing.balance = "wino" }'
BREAKS = {
    "UDP at a tenth of its rate": {'rate = "400 Mbps"': 'rate = "40 Mbps"', 'rate = "800 Mbps"': 'rate = "80 Mbps"'},
    "UDP a fifth too fast": {'rate = "400 Mbps"': 'rate = "480 Mbps"', 'rate = "800 Mbps"': 'rate = "960 Mbps"'},
    "nothing measured": {WINO: 'wino = { routing.balance = "wino", routing.scheme.poll = "1000 s" }'},
    "no slices": {WINO: 'wino = { routing.balance = "spray" }'},
    "no meters": {WINO: 'wino = { routing.balance = "wino", routing.scheme.meter = "off" }'},
}


def test_the_theory_holds(tmp_path: Path) -> None:
    assert [line.check for line in changed(tmp_path / "whole", STUDY, SMALLER)] == [HOLDS, HOLDS]


@pytest.mark.parametrize("changes", BREAKS.values(), ids=list(BREAKS))
def test_what_keeps_slices_from_what_is_left_turns_every_verdict(tmp_path: Path, changes: dict[str, str]) -> None:
    lines = changed(tmp_path / "broken", STUDY, {**SMALLER, **changes})
    assert [(line.kind, line.check) for line in lines] == [(VOID, FAILS)] * 2
