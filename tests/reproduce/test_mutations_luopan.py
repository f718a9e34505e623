"""Luopan's studies with its mechanism broken: where its samples are ignored, every verdict that names it must turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.reproduce.judge.line import FAILS, NOT_RUN, VOID
from support.mutation import broken, small

FIG9 = Path(__file__).parents[2] / "studies" / "luopan" / "fig9"
TABLE1 = FIG9.parent / "table1"
COMPARED = '["luopan", "random", "presto"]'


@pytest.mark.parametrize(
    ("study", "smaller"),
    [
        (
            FIG9,
            {
                "traffic.flows = 700": "traffic.flows = 300",
                "axes = { traffic.load = [0.4, 0.8] }": f"axes = {{ traffic.load = [0.8], scheme = {COMPARED} }}",
            },
        ),
        (
            TABLE1,
            {
                "traffic.flows = 500": "traffic.flows = 200",
                'stop.at = "120 ms"': 'stop.at = "30 ms"',
            },
        ),
    ],
    ids=["fig9", "table1"],
)
def test_ignored_samples_turn_every_verdict_of_luopan(tmp_path: Path, study: Path, smaller: dict[str, str]) -> None:
    """The studies themselves, with fewer or shorter flows: whatever names Luopan and a theory sees it."""
    one = broken(tmp_path / "study", small(study, smaller), (study / "expected.toml").read_text(), quick=True)
    assert one.mutations is not None
    assert FAILS not in {line.check for line in one.lines}
    named = [
        turns
        for claim, turns in zip(one.expected.claims, one.mutations.claims, strict=True)
        if claim.theories and "luopan" in str(claim.measure) and turns.whole.kind != NOT_RUN
    ]
    assert len(named) >= 4
    for turns in named:
        assert "samples-ignored" in turns.turned_by, turns
    assert sum(turns.broken["samples-ignored"].kind == VOID for turns in named) >= 3
