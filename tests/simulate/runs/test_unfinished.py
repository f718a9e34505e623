"""Half-written results of a killed command, which the next command removes."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anabranch.files.atomic_file import ABANDONED_S, write_whole
from anabranch.files.atomic_folder import written_whole
from anabranch.simulate.runs.folder import check_writable

DIES = """
import os, signal, sys
from pathlib import Path
from anabranch.files import atomic_folder

kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
target, where = Path(sys.argv[1]), sys.argv[2]
if where == "between":
    renames = []
    rename = Path.rename
    def counted(self, other):
        rename(self, other)
        kill()
    Path.rename = counted
with atomic_folder.written_whole(target) as part:
    (part / "content").write_text("new")
    if where == "writing":
        kill()
"""


def die(target: Path, where: str) -> None:
    """Has a process write the folder, which is killed meanwhile."""
    done = subprocess.run([sys.executable, "-c", DIES, target, where], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def hidden(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    die(tmp_path / "small-0123", "writing")
    assert len(hidden(tmp_path)) == 1
    check_writable(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_lives_is_left_alone(tmp_path: Path) -> None:
    with written_whole(tmp_path / "small-0123") as part:
        (part / "content").write_text("new")
        code = "import sys; from anabranch.simulate.runs.folder import check_writable; check_writable(sys.argv[1])"
        subprocess.run([sys.executable, "-c", code, tmp_path], check=True)
        assert (part / "content").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["small-0123"]
    assert [path.name for path in (tmp_path / "small-0123").iterdir()] == ["content"]


def test_a_writer_killed_between_its_two_renames_loses_nothing(tmp_path: Path) -> None:
    target = tmp_path / "small-0123"
    target.mkdir()
    (target / "content").write_text("old")
    die(target, "between")
    assert not target.exists()
    check_writable(tmp_path)
    assert (target / "content").read_text() == "new"
    assert hidden(tmp_path) == []


def test_a_folder_of_another_machine_is_left_for_a_day(tmp_path: Path) -> None:
    die(tmp_path / "small-0123", "writing")
    (shop,) = hidden(tmp_path)
    (shop / "lock").write_text("another-machine")
    check_writable(tmp_path)
    assert hidden(tmp_path) == [shop]
    day_ago = (shop / "lock").stat().st_mtime - 24 * 3600
    os.utime(shop / "lock", (day_ago, day_ago))
    check_writable(tmp_path)
    assert hidden(tmp_path) == []


def test_what_others_hid_stays(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".a.unfinished-b").mkdir()
    (tmp_path / ".a.unfinished-b" / "own").write_text("kept")
    check_writable(tmp_path)
    assert sorted(path.name for path in hidden(tmp_path)) == [".a.unfinished-b", ".git"]


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    target = tmp_path / "small-0123"
    target.symlink_to("disk/results")
    (tmp_path / "disk" / "results").mkdir(mode=0o750)
    with written_whole(target) as part:
        (part / "content").write_text("new")
    assert target.is_symlink()
    assert (tmp_path / "disk" / "results" / "content").read_text() == "new"
    assert (tmp_path / "disk" / "results").stat().st_mode & 0o777 == 0o750


def test_what_is_no_folder_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "small-0123")
    with pytest.raises(ValueError, match="is no folder"), written_whole(tmp_path / "small-0123"):
        pass
    assert (tmp_path / "small-0123").is_fifo()


DIES_IN_A_FILE = """
import os, signal, sys
from anabranch.files.atomic_file import write_whole

os.fchmod = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_whole(sys.argv[1], "new")
"""


def test_a_part_of_a_file_that_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    # Its name means something to a shell's patterns.
    target = tmp_path / "out[1].json"
    target.write_text("old")
    done = subprocess.run([sys.executable, "-c", DIES_IN_A_FILE, target], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (part,) = hidden(tmp_path)
    assert target.read_text() == "old"
    # It may be of a writer on another machine, whose lock is not seen here.
    write_whole(target, "newer")
    assert hidden(tmp_path) == [part]
    long_ago = time.time() - 2 * ABANDONED_S
    os.utime(part, (long_ago, long_ago))
    write_whole(target, "newest")
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_text() == "newest"


def test_a_part_whose_writer_lives_is_left_alone(tmp_path: Path) -> None:
    target, part = tmp_path / "out.json", tmp_path / ".out.json.part-01234567"
    with part.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        long_ago = time.time() - 2 * ABANDONED_S
        os.utime(part, (long_ago, long_ago))
        write_whole(target, "new")
        assert part.exists()
    write_whole(target, "newer")
    assert list(tmp_path.iterdir()) == [target]
