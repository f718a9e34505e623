"""Luopan's studies tested by mutation: where its probes are ignored, every verdict that names it must turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.simulator import BACKEND
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import FAILS, NOT_RUN, VOID

FIG9 = Path(__file__).parents[2] / "studies" / "luopan" / "fig9"
TABLE1 = FIG9.parent / "table1"
COMPARED = '["luopan", "random", "presto"]'
EXPRESS = 'luopan = { routing.balance = "luopan", routing.scheme.probing = "express" }'


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
                'stop.at = "120 ms"': 'stop.at = "20 ms"',
                'traffic-of = ["load 0.3", "load 0.5", "long flows"]': 'traffic-of = ["long flows"]',
            },
        ),
    ],
    ids=["fig9", "table1"],
)
def test_ignored_probes_turn_every_verdict_of_luopan(tmp_path: Path, study: Path, smaller: dict[str, str]) -> None:
    """The studies themselves, with fewer flows: what names Luopan names a theory that finds it out."""
    runs = tmp_path / "runs"
    lines = {}
    for name, scheme in (("whole", EXPRESS), ("broken", 'luopan = { routing.balance = "flowcell" }')):
        folder = tmp_path / name
        folder.mkdir()
        text = (study / "study.toml").read_text()
        for old, new in {**smaller, EXPRESS: scheme}.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (folder / "study.toml").write_text(text)
        (folder / "expected.toml").write_text((study / "expected.toml").read_text())
        prepared = BACKEND.prepare(Group("tiny", "tiny", "tiny", folder, "simulator"), True, runs)
        evidence = prepared.run(Context(["pytest"], True, lambda text: pytest.fail(text)))
        lines[name] = [(claim, judge("tiny", claim, evidence)) for claim in prepared.expected.claims]
    named = [bool(claim.theories) and "luopan" in str(claim.measure) for claim, _ in lines["whole"]]
    assert sum(named) >= 5
    assert FAILS not in {line.check for _, line in lines["whole"]}
    for (claim, line), is_named in zip(lines["broken"], named, strict=True):
        if is_named and line.kind != NOT_RUN:
            assert line.kind == VOID, (claim.what, line)
    assert sum(line.kind == VOID for _, line in lines["broken"]) >= 4
