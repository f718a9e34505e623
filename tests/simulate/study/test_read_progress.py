"""Progress of reading runs, where the terminal is a real one and where nobody wants to see it."""

from __future__ import annotations

import pytest

from anabranch.files.terminal import bar
from anabranch.files.terminal.read_progress import each

CELLS = ["first", "second", "third"]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bar, "SHOWN_AFTER_SECONDS", 0.0)
    # Rich takes the stream for a terminal then.
    monkeypatch.setenv("FORCE_COLOR", "1")


def test_the_reading_of_runs_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(each(CELLS, "sizes", quiet=False)) == CELLS
    told = capsys.readouterr()
    assert "sizes: tables" in told.err
    assert "2 of 3 runs read" in told.err
    assert not told.out


def test_nothing_is_drawn_if_it_is_not_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(each(CELLS, "sizes", quiet=True)) == CELLS
    assert capsys.readouterr() == ("", "")
