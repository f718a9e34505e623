"""Writers replace regular files in one step, and write into everything else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.files.atomic_file import write_whole
from support.command import anabranch
from support.small_scenario import write_small

SPLIT = ("split", "--generate", "datacenter:300", "--weights", "4,3", "--technique", "min-move", "--quiet")
EXPLAIN = ("explain", "10.0.0.1,10.0.0.2,tcp,40000,80", "--weights", "4,3")
WRITERS = {
    "split json": (*SPLIT, "--json"),
    "split csv": (*SPLIT, "--csv"),
    "split report": (*SPLIT, "--report"),
    "plan": ("plan", "--weights", "4,3", "--json"),
    "explain": (*EXPLAIN, "--json"),
    "show": ("show", "small.toml", "--out"),
    "report": ("report", "run", "--out"),
}
NULL_DEVICE = os.makedev(1, 3)
SPECIAL = ("fifo", "device") if os.geteuid() == 0 else ("fifo",)


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario and its run."""
    folder = tmp_path_factory.mktemp("writers")
    write_small(folder)
    ab.run(folder / "small.toml", runs=folder / "runs", progress=False).folder.rename(folder / "run")
    return folder


def make(kind: str, path: Path) -> None:
    """A FIFO, or a device that swallows what is written to it: never the machine's own."""
    if kind == "fifo":
        os.mkfifo(path)
    else:
        os.mknod(path, 0o666 | stat.S_IFCHR, NULL_DEVICE)


@contextmanager
def read(kind: str, path: Path) -> Iterator[list[bytes]]:
    """Bytes that arrive at the other end of a FIFO meanwhile."""
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    if kind == "fifo":
        reader.start()
    yield found
    # Of a FIFO that was replaced, nobody has the other end.
    if path.is_fifo():
        reader.join(timeout=600)


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_no_file_is_written_into(
    where: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str, kind: str
) -> None:
    monkeypatch.chdir(where)
    path = tmp_path / "out.svg"
    make(kind, path)
    before = path.lstat()
    with read(kind, path) as found:
        done = anabranch(*WRITERS[writer], str(path))
    assert done.returncode == 0, done.stderr
    after = path.lstat()
    assert (after.st_ino, after.st_mode, after.st_rdev) == (before.st_ino, before.st_mode, before.st_rdev)
    assert list(tmp_path.iterdir()) == [path]
    if kind == "fifo":
        assert len(found[0]) > 100


@pytest.mark.parametrize("writer", WRITERS)
def test_links_lead_to_the_file_that_is_written(
    where: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    monkeypatch.chdir(where)
    (tmp_path / "there").mkdir()
    path, target = tmp_path / "out.svg", tmp_path / "there" / "file"
    path.symlink_to("there/file")
    for content in ("", "old\n" * 1000):
        # First a link to nothing, then one to a file.
        if content:
            target.write_text(content)
            target.chmod(0o640)
        done = anabranch(*WRITERS[writer], str(path))
        assert done.returncode == 0, done.stderr
        assert path.is_symlink()
        assert target.stat().st_size > 100
        assert not target.read_text().startswith("old\n")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list((tmp_path / "there").iterdir()) == [target]


def test_a_file_that_is_replaced_keeps_mode_and_owner(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    owner = (path.stat().st_uid, path.stat().st_gid)
    if os.geteuid() == 0:
        owner = (12345, 54321)
        os.chown(path, *owner)
    path.chmod(0o4751)
    before = path.stat().st_ino
    write_whole(path, "new")
    after = path.stat()
    assert path.read_text() == "new"
    assert after.st_ino != before
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (*owner, 0o4751)


def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", b"new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    import socket

    for path, problem in (
        (tmp_path, "is a directory; hint: give a file"),
        (tmp_path / "none" / "file", f"there is no directory {tmp_path / 'none'}; hint: make it first"),
        (tmp_path / ("n" * 300), "cannot be written: File name too long; hint: give another file"),
    ):
        with pytest.raises(ab.AnabranchError) as raised:
            write_whole(path, "text")
        assert str(raised.value) == f"{path}: {problem}"
    with socket.socket(socket.AF_UNIX) as end:
        path = tmp_path / "end"
        end.bind(str(path))
        with pytest.raises(ab.AnabranchError, match="is a socket; hint: give a file, a device or a FIFO"):
            write_whole(path, "text")
        assert path.is_socket()


IN_A_SMALL_PLACE = """
import subprocess, sys
from pathlib import Path

import anabranch as ab
from anabranch.files.atomic_file import write_whole

place, scenario = Path(sys.argv[1]), Path(sys.argv[2])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], check=True)

# A file that is a mount of its own cannot be replaced by a rename.
write_whole(place / "bound", "old")
subprocess.run(["mount", "--bind", place / "bound", place / "bound"], check=True)
write_whole(place / "bound", "new")
assert (place / "bound").read_text() == "new"
subprocess.run(["umount", place / "bound"], check=True)

write_whole(place / "kept", "old")
refusals = 0
for left_kib in range(4, 256, 8):
    with (place / "filling").open("wb") as filling:
        filling.truncate(0)
        filling.write(bytes((228 - left_kib) * 1024)) if left_kib < 228 else None
    try:
        run = ab.run(scenario, runs=place / "runs", progress=False)
        break
    except ab.AnabranchError as error:
        refusals += 1
        assert ": cannot be written: No space left on device" in str(error), error
        assert not list((place / "runs").iterdir()), list((place / "runs").iterdir())
        try:
            write_whole(place / "kept", bytes(260 * 1024))
        except ab.AnabranchError as error:
            hint = "hint: free some space there, or give another place"
            assert str(error) == f"{place / 'kept'}: cannot be written: No space left on device; {hint}", error
        assert (place / "kept").read_text() == "old"
assert len(run.flows)
print("refused", refusals)
"""


def test_a_full_disk_ends_in_one_line_and_leaves_nothing(where: Path, tmp_path: Path) -> None:
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", "--mount", *user, sys.executable, "-c", IN_A_SMALL_PLACE]
    done = subprocess.run([*command, tmp_path, where / "small.toml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Every table, the captures and the manifest have met the end of the disk.
    assert int(done.stdout.split()[-1]) >= 3
