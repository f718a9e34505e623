"""`anabranch lab reproduce`: its status and its record, whatever an experiment measures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anabranch.files.errors import AnabranchError
from anabranch.reproduce import lab
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.claims.claim import Expected
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.judge.line import BOUNDED, DIFFERS, FAILS, Line
from anabranch.reproduce.records import record
from anabranch.reproduce.session import Evaluated
from anabranch.reproduce.values.cells import Cells
from support.command import anabranch


def evaluated(folder: Path, check: str, *, usable: bool = True) -> Evaluated:
    """A study with one cell and one claim."""
    group = Group("paper", "lab", "paper-lab", folder, "lab")
    cells = Cells({"scheme": ["hash"]}, [1])
    line = Line("paper/lab", "1.1", "what", "Fig. 1", "5", "6", DIFFERS, "", check=check)
    return Evaluated(group, Expected([], []), replace(CellEvidence(cells), usable=usable), [line])


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text('backend = "lab"\n')
    return tmp_path


@pytest.mark.parametrize(
    ("check", "usable", "options", "status", "recorded"),
    [
        (BOUNDED, True, (), 0, False),
        (BOUNDED, True, ("--record",), 0, True),
        (FAILS, True, (), 1, False),
        (FAILS, True, ("--record",), 1, False),
        (FAILS, True, ("--allow-busy",), 1, False),
        (BOUNDED, False, ("--record",), 1, False),
        (BOUNDED, False, ("--record", "--allow-busy"), 0, True),
    ],
)
def test_status_and_record(
    study: Path,
    monkeypatch: pytest.MonkeyPatch,
    check: str,
    usable: bool,
    options: tuple[str, ...],
    status: int,
    recorded: bool,
) -> None:
    def reproduce(*given: Any) -> list[Evaluated]:
        one = evaluated(study, check, usable=usable)
        given[-1](one)
        return [one]

    monkeypatch.setattr(lab, "reproduce", reproduce)
    assert anabranch("lab", "reproduce", "paper", *options).returncode == status
    assert (study / record.FOLDER / record.MANIFEST).is_file() == recorded


def test_a_study_is_recorded_before_the_next_one_fails(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reproduce(*given: Any) -> list[Evaluated]:
        given[-1](evaluated(study, BOUNDED))
        raise AnabranchError("load: 174 Mb/s offered")

    monkeypatch.setattr(lab, "reproduce", reproduce)
    assert anabranch("lab", "reproduce", "paper", "--record").returncode == 2
    assert (study / record.FOLDER / record.MANIFEST).is_file()


def test_a_quick_run_is_not_recorded() -> None:
    done = anabranch("lab", "reproduce", "dbb", "--quick", "--record")
    assert done.returncode == 2
    assert "lab reproduce: --quick: a record is of a full run" in done.stderr
