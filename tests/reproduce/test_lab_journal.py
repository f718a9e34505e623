"""Journal of a lab's study: pieces go on where the last one ended, without runs that the machine disturbed."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anabranch.files.errors import AnabranchError
from anabranch.files.project.studies.wino.lab.measure import Row
from anabranch.lab.calibration import contention, processor_time
from anabranch.lab.calibration.processor_time import ProcessorTime
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.backends.door import backend
from anabranch.reproduce.backends.lab.journal import RECORDED, Journal, still_missing, time_is_up
from anabranch.reproduce.backends.lab.study import LabEvidence, LabStudy
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.judge.line import INCOMPARABLE, NOT_RUN
from anabranch.reproduce.records import record
from anabranch.reproduce.selection import select
from anabranch.reproduce.session import recall
from anabranch.reproduce.values.cells import Cells

QUIET = ProcessorTime(total_s=20.0, idle_s=9.0, own_s=10.0, others_s=0.1)
BUSY = ProcessorTime(total_s=20.0, idle_s=2.0, own_s=10.0, others_s=6.0)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[str, ProcessorTime]:
    """What the machine does while runs are under way; `now` is to be set."""
    spent = {"now": QUIET}

    @contextmanager
    def running(self: processor_time.Meter, *_: str) -> Iterator[None]:
        yield
        self.spent += spent["now"]

    monkeypatch.setattr(processor_time.Meter, "running", running)
    return spent


def prepared(group: Group, output: Path) -> LabStudy:
    study = backend(group).prepare(group, False, output)
    assert isinstance(study, LabStudy)
    return study


def begun(file: Path, study: str = "a", *, busy_too: bool = False, anew: bool = False, **given: Any) -> Journal:
    made = Journal(file, study, busy_too=busy_too, **given)
    made.begin(None, anew=anew)
    return made


def keep(journal: Journal, key: str, found: object, late_ms: float = 0.1) -> None:
    with journal.running(key) as run:
        run.values, run.late_ms = found, [late_ms]


def test_a_piece_goes_on_where_the_last_one_ended(tmp_path: Path, machine: dict[str, ProcessorTime]) -> None:
    file = tmp_path / "results" / "runs.jsonl"
    first = begun(file)
    keep(first, "one", {"fct": 1.5})
    machine["now"] = BUSY
    keep(first, "two", {"fct": 9.0})
    (kept,) = gzip.decompress(first.parts()[RECORDED]).decode().splitlines()
    assert json.loads(kept)["run"] == "one"
    second = begun(file)
    assert second["one"] == {"fct": 1.5}
    assert second.lacks(["one", "two", "three"]) == ["two", "three"]
    found = second.machine(["one", "three"])
    assert found is not None
    assert (found.usable, found.runs, found.load_before) == (True, 1, None)
    assert second.machine(["three"]) is None
    assert second.disturbed(["one", "two", "three"]) == ["two"]
    # One disturbed run is the verdict, however many others were not.
    found = second.machine(["one", "two", "three"])
    assert found is not None
    assert (found.usable, found.runs) == (False, 1)
    assert still_missing("lab-x", second, ["one", "two", "three"]) == (
        "lab-x: 2 of 3 runs are missing, 1 of them because the machine disturbed them; the same command goes on"
    )
    machine["now"] = QUIET
    keep(second, "two", {"fct": 2.0})
    third = begun(file)
    assert third["two"] == {"fct": 2.0}
    assert still_missing("lab-x", third, ["one", "two"]) == ""
    assert begun(file, anew=True).lacks(["one"]) == ["one"]


def test_disturbed_runs_count_where_that_is_asked_for(tmp_path: Path, machine: dict[str, ProcessorTime]) -> None:
    machine["now"] = BUSY
    journal = begun(tmp_path / "runs.jsonl", busy_too=True)
    keep(journal, "one", 1)
    assert "one" in journal
    found = journal.machine(["one"])
    assert found is not None
    assert not found.usable
    assert journal.disturbed(["one"]) == []
    counted = begun(tmp_path / "counted.jsonl", counted=True)
    keep(counted, "one", 1)
    assert "one" in counted


def test_each_disturbed_run_fails_the_verdict(tmp_path: Path, machine: dict[str, ProcessorTime]) -> None:
    """Two runs, disturbed by unlike things, pass together for a quiet machine; a study with them is not usable."""
    study = prepared(select(["wino/lab"])[0], tmp_path)
    study.folder.mkdir()
    journal = begun(study.folder / "runs.jsonl")
    assert study.verdict(journal, ["one", "two"]) == (True, None)
    keep(journal, "quiet", 1)
    assert study.verdict(journal, ["quiet"])[0]
    machine["now"] = BUSY
    keep(journal, "one", 1)
    machine["now"] = ProcessorTime(total_s=200.0, idle_s=90.0, stolen_s=4.2, own_s=100.0)
    keep(journal, "two", 1)
    assert journal.disturbed(["one", "two"]) == ["one", "two"]
    usable, found = study.verdict(journal, ["quiet", "one", "two"])
    assert found is not None
    assert (usable, found.usable) == (False, True)
    assert (study.folder / contention.FILE).is_file()
    # Runs that are taken although they were disturbed are none that were left out.
    machine["now"] = BUSY
    taken = begun(tmp_path / "taken.jsonl", busy_too=True)
    keep(taken, "one", 1)
    assert not study.verdict(taken, ["one"])[0]


def test_a_disturbed_study_is_recorded_only_without_its_disturbed_runs(
    tmp_path: Path, machine: dict[str, ProcessorTime]
) -> None:
    assert machine["now"] is QUIET
    cells = Cells({"scheme": ["hash"]}, [1])
    assert not LabEvidence(cells, [], usable=False).recordable
    assert LabEvidence(cells, [], usable=True).recordable
    journal = begun(tmp_path / "runs.jsonl")
    evidence = LabEvidence(cells, [], usable=False, journal=journal)
    keep(journal, "late", 1, late_ms=5.1)
    assert not evidence.recordable
    keep(journal, "in time", 1)
    assert evidence.recordable


def test_late_senders_disturb_a_run(tmp_path: Path, machine: dict[str, ProcessorTime]) -> None:
    assert machine["now"] is QUIET
    journal = begun(tmp_path / "runs.jsonl")
    keep(journal, "late", 1, late_ms=5.1)
    keep(journal, "in time", 1, late_ms=4.9)
    assert journal.lacks(["late", "in time"]) == ["late"]


def test_runs_of_another_study_are_not_taken(tmp_path: Path, machine: dict[str, ProcessorTime]) -> None:
    assert machine["now"] is QUIET
    keep(begun(tmp_path / "runs.jsonl"), "one", 1)
    another = begun(tmp_path / "runs.jsonl", "another")
    assert another.lacks(["one"]) == ["one"]
    keep(another, "one", 2)
    # They are there again once the study is what it was.
    assert begun(tmp_path / "runs.jsonl")["one"] == 1
    assert begun(tmp_path / "runs.jsonl", "another")["one"] == 2
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 2
    # A record keeps those of its own study; they are not carried into the results of another.
    (tmp_path / RECORDED).write_bytes(begun(tmp_path / "runs.jsonl").parts()[RECORDED])
    elsewhere = Journal(tmp_path / "elsewhere.jsonl", "another")
    elsewhere.begin(record.Record(tmp_path, "", "", 0, ""), anew=False)
    assert (tmp_path / "elsewhere.jsonl").read_text() == ""


def test_a_killed_command_leaves_half_a_line_and_nothing_else_is_wrong(
    tmp_path: Path, machine: dict[str, ProcessorTime]
) -> None:
    assert machine["now"] is QUIET
    file = tmp_path / "runs.jsonl"
    journal = begun(file)
    keep(journal, "one", 1)
    keep(journal, "two", 2)
    whole = file.read_text()
    file.write_text(whole[:-9])
    assert begun(file).lacks(["one", "two"]) == ["two"]
    file.write_text("{}\n" + whole)
    with pytest.raises(AnabranchError, match=r"runs.jsonl:1: is no run of a study; hint: remove the line"):
        begun(file)


def test_no_run_begins_after_the_time() -> None:
    assert not time_is_up(Context([], True, print))
    assert not time_is_up(Context([], True, print, ends_at=time.monotonic() + 60))
    assert time_is_up(Context([], True, print, ends_at=time.monotonic()))


def test_a_record_takes_the_runs_along(
    tmp_path: Path, machine: dict[str, ProcessorTime], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece measures one point of Wino's; its record is judged, and another machine goes on from it."""
    assert machine["now"] is QUIET
    (named,) = select(["wino/lab"])
    folder = tmp_path / "studies" / "wino" / "lab"
    shutil.copytree(named.folder, folder, ignore=shutil.ignore_patterns("record", "__pycache__"))
    group = replace(named, folder=folder)
    wino: Any = sys.modules[type(backend(group)).__module__]
    study = prepared(group, tmp_path / "here")

    def one_run(steps: Any, _: Any, journal: Journal, __: Context) -> None:
        point, scheme = steps[0]
        row: dict[str, Any] = dict.fromkeys(Row.__dataclass_fields__, 1.0)
        row |= {"where": "lab", "scheme": scheme.name, "fabric": point.asymmetry.name, "workload": point.workload.name}
        row |= {"load": point.load, "seed": point.seed, "flows": 10, "unfinished": 0}
        keep(journal, wino._key(point, scheme), [row])

    monkeypatch.setattr(wino, "_run_lab", one_run)
    monkeypatch.setattr(wino, "write", lambda *_: None)
    monkeypatch.setattr(wino, "_drawn", lambda *_: [])
    said: list[str] = []
    machine["now"] = BUSY
    disturbed = study.run(Context(["pytest"], True, said.append))
    assert (disturbed.usable, disturbed.recordable) == (False, False)
    assert not disturbed.cells.numbers
    machine["now"] = QUIET
    evidence = study.run(Context(["pytest"], True, said.append))
    assert evidence.usable
    total = len(study.settings.steps(folder))
    assert f"{total - 2} of {total} runs are missing" in evidence.missing
    record.keep(group, evidence.parts())
    (recalled,) = recall([group])
    assert recalled.evidence.usable
    assert isinstance(recalled.evidence, CellEvidence)
    # One seed of five is no cell of a record: no claim is judged by less than was planned.
    assert not recalled.evidence.cells.numbers
    assert {line.kind for line in recalled.lines} == {NOT_RUN, INCOMPARABLE}
    elsewhere = prepared(group, tmp_path / "elsewhere")
    steps = [wino._key(*step) for step in elsewhere.settings.steps(folder)]
    journal = elsewhere.journal(Context(["pytest"], True, said.append))
    assert len(journal.lacks(steps)) == total - 2
    assert json.loads((tmp_path / "elsewhere" / "lab-wino" / "runs.jsonl").read_text().splitlines()[0])["quiet"]
