"""Studies of meters: errors held against counts of frames worked out by hand, and a study file that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.files.errors import AnabranchError
from anabranch.files.project.studies.wino.fig4.meters import Meters
from anabranch.files.project.studies.wino.fig4.windows import ERROR
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.claims.group import Group

STUDY = """
backend = "meter"
name = "small"
[settings]
rates_kbps = [1000]
windows_ms = [1, 15]
bursts_ms = [1]
offered_mbps = 10_000
frame_bytes = 1522
duration_ms = 6000
parts = 2
"""


def group(folder: Path, text: str) -> Group:
    (folder / "study.toml").write_text(text)
    (folder / "expected.toml").write_text('source = "none"\nfixed = 2026-11-23\nclaim = []\n')
    return Group("wino", "small", "small", folder, "meter")


def test_errors_are_those_of_whole_frames(tmp_path: Path) -> None:
    prepared = Meters().prepare(group(tmp_path, STUDY), quick=False, output=tmp_path)
    evidence = prepared.run(Context((), True, print))
    assert isinstance(evidence, CellEvidence)
    numbers = evidence.cells.numbers
    # 1 Mb/s passes a frame every 12.176 ms. In the second half of the run a window of 15 ms has one, or two in 23 of
    # 100, which are 62.3 % too many; one of 1 ms has one in 12, which is 1117.6 % too many.
    assert numbers[(1000, 15, 1), 2, ERROR] == pytest.approx((15 / 12.176 - 1) * 62.347, rel=0.03)
    assert numbers[(1000, 1, 1), 2, ERROR] == pytest.approx(1117.6 / 12.176, rel=0.03)
    # Two frames at once at the start.
    first, second = (numbers[(1000, 1, 1), part, ERROR] for part in (1, 2))
    assert first is not None
    assert second is not None
    assert first > second


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("parts = 2", "part = 2", "settings.part: unknown key; did you mean parts?"),
        ("parts = 2", "", "settings: parts: missing"),
        ('name = "small"', 'names = "small"', "study.toml:3: names: unknown key; did you mean name?"),
        ("parts = 2", "parts = 0", "settings.parts: 0; give whole numbers from 1"),
        ("bursts_ms = [1]", "bursts_ms = [1.5]", "settings.bursts_ms: 1.5; give whole numbers from 1"),
        ("bursts_ms = [1]", "bursts_ms = []", "settings.bursts_ms: empty; give a number at least"),
        ("windows_ms = [1, 15]", "windows_ms = [3001]", "study.toml:10: settings.duration_ms: 6000: 2 parts"),
    ],
)
def test_a_wrong_file_is_refused(before: str, after: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(AnabranchError, match=message.replace("?", r"\?")):
        Meters().prepare(group(tmp_path, STUDY.replace(before, after)), quick=False, output=tmp_path)
