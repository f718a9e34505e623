"""Ends processes that a lab started, or that live in its namespaces, wherever they come from."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from pathlib import Path

GRACE_S, KILL_TIMEOUT_S = 2.0, 10.0
EXECVE_TIMEOUT_S = 0.5


def end(inodes: set[int], mark: str) -> None:
    """Ends processes by SIGTERM, then by SIGKILL; this one and those it descends from stay."""
    for how, timeout_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, KILL_TIMEOUT_S)):
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            handles = _handles(inodes, mark)
            if not handles:
                return
            try:
                for handle in handles:
                    signal.pidfd_send_signal(handle, how)
                for handle in handles:
                    select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            except ProcessLookupError:
                continue
            finally:
                for handle in handles:
                    os.close(handle)


def _handles(inodes: set[int], mark: str) -> list[int]:
    """A handle each for the processes: looked at after it is held, so that a number used again does no harm."""
    spared = _ancestors()
    handles = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) in spared:
            continue
        try:
            handle = os.pidfd_open(int(folder.name))
        except OSError:
            continue
        if _belongs(folder, inodes, mark):
            handles.append(handle)
        else:
            os.close(handle)
    return handles


def marked(mark: str) -> list[tuple[int, list[str]]]:
    """Processes with `mark` in their environment: number and command."""
    pids = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and _belongs(folder, set(), mark):
            with suppress(OSError):
                command = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
                pids.append((int(folder.name), command))
    return pids


def _belongs(process: Path, inodes: set[int], mark: str) -> bool:
    try:
        if (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return False
        if (process / "ns" / "net").stat().st_ino in inodes:
            return True
        return mark.encode() in _environment(process).split(b"\0")
    except OSError:
        return False


def _environment(process: Path) -> bytes:
    """Its environment; where it is within execve(2), and has neither that nor a command, the one that it gets."""
    deadline = time.monotonic() + EXECVE_TIMEOUT_S
    while True:
        environment = (process / "environ").read_bytes()
        if environment or (process / "cmdline").read_bytes() or time.monotonic() > deadline:
            return environment
        # A thread of the kernel has no program.
        (process / "exe").readlink()
        time.sleep(0.001)


def _ancestors() -> set[int]:
    pid, ancestors = os.getpid(), set[int]()
    while pid > 0:
        ancestors.add(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
    return ancestors
