"""The table of labs, where records are not as they were a moment ago: needs no privilege."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from anabranch.lab.fabric import overview, record
from anabranch.lab.fabric.record import Record

SCENARIO = '[fabric]\nkind = "dumbbell"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No labs but the test's."""
    labs = tmp_path / "anabranch" / "lab"
    monkeypatch.setattr(record, "LABS", labs)
    return labs


def written(name: str) -> Record:
    (record.LABS / name).mkdir(parents=True)
    mark, http = f"{record.MARK}={name}.1", "127.0.0.1:10001"
    lab = Record(name, "s.toml", SCENARIO, 1.0, True, None, mark, http, (f"anabranch.{name}",), complete=True)
    record.write(lab)
    return lab


def states() -> dict[str, str]:
    return {row["lab"]: row["state"] for row in overview.labs()}


@pytest.mark.parametrize("moment", ["names", "read"])
def test_a_lab_that_goes_while_labs_are_listed_is_left_out(moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written("stays")
    written("goes")
    both = states()
    assert sorted(both) == ["goes", "stays"]
    known = getattr(record, moment)

    def removed_after(*arguments: str) -> object:
        found = known(*arguments)
        if arguments in ((), ("goes",)):
            record.forget("goes")
        return found

    monkeypatch.setattr(record, moment, removed_after)
    assert states() == {"stays": both["stays"]}


def test_a_record_of_another_user_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    written("another")

    def refused(name: str) -> Record:
        raise PermissionError(name)

    monkeypatch.setattr(record, "read", refused)
    assert states() == {"another": "not readable"}


def test_a_record_that_is_none_has_a_row(folder: Path) -> None:
    (folder / "made").mkdir(parents=True)
    written("old")
    (folder / "old" / record.FILE).write_text('{"name": "old"}')
    written("odd")
    record.write(Record(**vars(record.read("odd")) | {"scenario": "[fabric"}))
    assert states() == {"made": "empty", "odd": "not readable", "old": "not readable"}
    out = io.StringIO()
    overview.show(overview.labs(), Console(file=out, width=200))
    assert [line.split()[0] for line in out.getvalue().splitlines()] == ["lab", "made", "odd", "old"]
