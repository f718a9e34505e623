"""Wino's north-south study broken: its theory must find out whatever keeps slices from what is left.

The study itself, with fewer seconds: Wino's own mechanisms, and north-south traffic that is not sent at its rate.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.reproduce.judge.line import FAILS, HOLDS, NOT_RUN, VOID
from support.mutation import broken, changed, small

STUDY = Path(__file__).parents[2] / "studies" / "wino" / "north-south"
SMALLER = {
    '"traffic.0.duration" = "8 s", stop.at = "12 s"': '"traffic.0.duration" = "4 s", stop.at = "7 s"',
    'scheme = ["conga", "wino", "literal"] }': 'scheme = ["conga", "wino", "literal"], loss = ["300 duplicates"] }',
    'file = "demand-': f'file = "{STUDY}/demand-',
}
FASTER = {'rate = "400 Mbps"': 'rate = "480 Mbps"', 'rate = "800 Mbps"': 'rate = "960 Mbps"'}
SLOWER = {'rate = "400 Mbps"': 'rate = "40 Mbps"', 'rate = "800 Mbps"': 'rate = "80 Mbps"'}


def test_what_keeps_slices_from_what_is_left_turns_every_verdict(tmp_path: Path) -> None:
    one = broken(tmp_path / "study", small(STUDY, SMALLER), (STUDY / "expected.toml").read_text(), quick=True)
    assert one.mutations is not None
    run = [turns for turns in one.mutations.claims if turns.whole.kind != NOT_RUN]
    assert [turns.whole.check for turns in run] == [HOLDS, HOLDS]
    for mutation in ("meters-ignored", "equal-slices", "residuals-ignored"):
        assert [turns.broken[mutation].kind for turns in run] == [VOID, VOID], mutation


@pytest.mark.parametrize("rates", [SLOWER, FASTER], ids=["UDP at a tenth of its rate", "UDP a fifth too fast"])
def test_udp_at_another_rate_turns_every_verdict(tmp_path: Path, rates: dict[str, str]) -> None:
    lines = changed(tmp_path / "study", STUDY, {**SMALLER, **rates})
    assert [(line.kind, line.check) for line in lines] == [(VOID, FAILS)] * 2
