"""`anabranch split table`: readers of the files pick what the library picks, and states keep the history."""

from __future__ import annotations

import csv
import io
import json
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import anabranch as ab
from support.command import anabranch

HASHES = np.random.default_rng(7).integers(0, 2**32, 50_000, dtype=np.uint64)
BACKENDS = np.array([11, 400_000_000, 13])


def table(folder: Path, *options: str) -> None:
    run = anabranch("split", "table", "--backends", ",".join(map(str, BACKENDS)), *options, "--quiet", cwd=folder)
    assert (run.returncode, run.stderr) == (0, "")


def slots(file: Path) -> npt.NDArray[np.uint32]:
    """The unsigned numbers of a file, as a program in C reads them."""
    data = file.read_bytes()
    return np.array(struct.unpack(f"={len(data) // 4}I", data), dtype=np.uint32)


@pytest.mark.parametrize(
    ("reader", "length", "options"),
    [
        ("katran", 65537, ()),
        ("cilium", 16381, ()),
        ("cilium", 1021, ("--technique", "min-move:slots=1021")),
        ("katran", 65537, ("--technique", "maglev")),
    ],
)
def test_a_reader_of_the_file_picks_what_the_library_picks(
    tmp_path: Path, reader: str, length: int, options: tuple[str, ...]
) -> None:
    files = ("--state", "state", f"--{reader}", "ring")
    table(tmp_path, "--weights", "4,3,2", *files, *options)
    table(tmp_path, "--weights", "4,3,5", "--fail", "2", *files, *options)
    ring = slots(tmp_path / "ring")
    assert ring.size == length
    splitter = ab.Splitter.restore((tmp_path / "state").read_bytes())
    assert splitter.asked().tolist() == pytest.approx([4 / 9, 0, 5 / 9])
    picked = BACKENDS[splitter.pick(HASHES)]
    assert np.array_equal(ring[HASHES % np.uint64(length)], picked)
    # Katran has the rings of all virtual addresses one after the other.
    rings = np.concatenate([np.zeros(length, np.uint32), ring])
    assert np.array_equal(rings[length + (HASHES % np.uint64(length)).astype(np.int64)], picked)


def test_tables_of_a_state_move_the_fewest_slots_and_return_home(tmp_path: Path) -> None:
    table(tmp_path, "--weights", "4,3,2", "--state", "state", "--katran", "first")
    first = slots(tmp_path / "first")
    before = first
    for fail in (("--fail", "2"), ("--fail", "2", "--fail", "1"), ("--fail", "1"), ()):
        options = ("--weights", "4,3,2", *fail, "--state", "state")
        table(tmp_path, *options, "--katran", "ring", "--json", "found.json")
        found = json.loads((tmp_path / "found.json").read_text())
        ring = slots(tmp_path / "ring")
        assert found["moved"] == found["minimum"] == np.count_nonzero(ring != before) > 0
        assert [row["slots"] for row in found["paths"]] == [np.count_nonzero(ring == one) for one in BACKENDS]
        assert np.array_equal(BACKENDS[np.array(found["table"]) - 1], ring)
        before = ring
    assert np.array_equal(before, first)
    other = anabranch("split", "table", "--weights", "4,3,2", "--state", "state", cwd=tmp_path)
    assert other.returncode == 2
    assert other.stderr.startswith(
        "anabranch: error: state: snapshot: of min-move slots=65537, for a group of min-move "
    )


def test_a_command_that_ended_after_its_state_gives_the_same_table_again(tmp_path: Path) -> None:
    for state in ("whole", "ended"):
        table(tmp_path, "--weights", "4,3,2", "--state", state, "--katran", "ring")
    change = ("--weights", "4,5,2", "--fail", "3")
    table(tmp_path, *change, "--state", "whole", "--katran", "ring")
    ended = ("split", "table", *change, "--backends", "1,2,3", "--state", "ended")
    run = anabranch(*ended, "--katran", "nowhere/ring", cwd=tmp_path)
    assert (run.returncode, run.stderr[:24]) == (2, "anabranch: error: nowher")
    table(tmp_path, *change, "--state", "ended", "--katran", "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "ring").read_bytes()
    # The next change builds on the same history.
    for state in ("whole", "ended"):
        table(tmp_path, "--weights", "4,5,2", "--state", state, "--katran", f"{state}.ring")
    assert (tmp_path / "whole.ring").read_bytes() == (tmp_path / "ended.ring").read_bytes()


def test_rows_are_the_slots(tmp_path: Path) -> None:
    run = anabranch("split", "table", "--weights", "4,3,2", "--technique", "min-move:slots=4096", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    splitter = ab.Splitter("min-move", [4, 3, 2], slots=4096)
    paths = splitter.table()
    assert paths is not None
    assert [(int(row["slot"]), int(row["path"])) for row in rows] == list(enumerate((paths + 1).tolist()))
    table(tmp_path, "--weights", "4,3,2", "--technique", "min-move:slots=4096", "--csv", "rows.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text())))
    assert [int(row["backend"]) for row in rows] == BACKENDS[paths].tolist()


def test_the_table_on_a_terminal_has_the_slots_of_each_path(tmp_path: Path) -> None:
    options = ("--weights", "4,3,2", "--technique", "min-move:slots=900", "--state", "state")
    anabranch("split", "table", *options, cwd=tmp_path)
    run = anabranch("split", "table", *options, "--fail", "3", cwd=tmp_path)
    assert "min-move:slots=900: 900 slots; hash h goes to slot h % 900" in run.stdout
    rows = [line.split() for line in run.stdout.splitlines() if line.lstrip().startswith(("1 ", "2 ", "3 "))]
    assert rows == [
        ["1", "-", "4", "57.14", "514", "0.056"],
        ["2", "-", "3", "42.86", "386", "0.074"],
        ["3", "-", "2", "(down)", "0.00", "0", "-"],
    ]
    assert run.stdout.endswith("200 slots moved since the state before; 200 had to\n")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--technique", "log-rendezvous"), "technique: log-rendezvous: picks by no table; "),
        (("--technique", "min-move,maglev"), "technique: min-move,maglev: a table is of one; "),
        (("--katran", "ring"), "katran: no numbers of backends; "),
        (("--katran", "ring", "--cilium", "ring"), "katran, cilium: their tables have other lengths; "),
        (("--technique", "min-move", "--backends", "1,2,3", "--katran", "ring"), "katran: a table of 65536; it reads "),
        (("--backends", "1,2,0", "--csv", "ring"), "backends: 1,2,0: not all are numbers from 1 "),
        (("--backends", "1,2", "--csv", "ring"), "backends: 1,2: 2 for 3 paths; "),
        (("--katran", "-"), "katran: -: stdout holds one text; "),
        (("--csv", "-", "--json", "-"), "csv, json: -: stdout holds one text; "),
        (("--fail", "4"), "fail: 4: no such path; "),
        (
            ("--fail", "1", "--fail", "2", "--fail", "3"),
            "weights: 4,3,2: up: no path with a positive weight ",
        ),
        (("--state", "damaged"), "damaged: snapshot: does not begin with "),
        (("--state", "."), ".: cannot be read: "),
    ],
)
def test_what_makes_no_table_is_refused_before_anything_is_written(
    tmp_path: Path, options: tuple[str, ...], error: str
) -> None:
    (tmp_path / "damaged").write_text("no state")
    given = ("--weights", "4,3,2", *(() if "--state" in options else ("--state", "state")))
    run = anabranch("split", "table", *given, *options, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"anabranch: error: {error}")
    assert [path.name for path in tmp_path.iterdir()] == ["damaged"]
