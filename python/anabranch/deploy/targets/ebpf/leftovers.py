"""Datapaths of network namespaces that have ended: nothing but their pins holds them, and no plan there removes them.

A folder is named by the inode number of its namespace. A namespace lives as long as a process or one of its threads is
in it, has it open, or it is mounted (`network_namespaces(7)`). Processes of other process namespaces, which cannot be
seen from here, may be in one too: a datapath that the kernel still has on a device is never taken for a leftover.

Of a process that this user may not read nobody can say which namespaces it holds. While there is one, a namespace has
ended for sure only if all devices that its datapaths were attached to are gone; of the others it is not known.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from anabranch._core import KernelDatapath
from anabranch.deploy.targets.ebpf.datapath import locked
from anabranch.deploy.targets.ebpf.folder import ROOT
from anabranch.files.errors import AnabranchError

PROCESSES = Path("/proc")
SHOWN = 4
"""Processes that a note names; the rest is counted."""
NAMESPACE = re.compile(r"net:\[(\d+)\]")


@dataclass(frozen=True)
class Leftover:
    """Pins of a namespace that has ended."""

    folder: Path
    datapaths: tuple[str, ...]
    """Their names."""

    @property
    def lines(self) -> list[str]:
        """One for people per datapath, or one for an empty folder."""
        where = f"network namespace {self.folder.name}, which has ended"
        return [f"- datapath {name} of {where}" for name in self.datapaths] or [f"- empty folder of {where}"]


@dataclass(frozen=True)
class Leftovers:
    """All of them, in the order of their namespaces' numbers."""

    ended: list[Leftover]
    unsure: list[Leftover]
    """Pins of namespaces that a process in `unseen` may hold."""
    unseen: list[str]
    """Processes that this user may not read: number and name."""

    @property
    def notes(self) -> list[str]:
        """Notes on what is not known."""
        if not self.unsure:
            return []
        more = f" and {len(self.unseen) - SHOWN} more" if len(self.unseen) > SHOWN else ""
        names = ", ".join(one.folder.name for one in self.unsure)
        return [
            f"kept: {names}, for processes that this user may not read could hold these network namespaces: "
            f"{', '.join(self.unseen[:SHOWN])}{more}; give CAP_SYS_PTRACE, or run this as root of the machine"
        ]


def leftovers() -> Leftovers:
    """The pins of namespaces that have ended, and of those of which that is not known.

    Raises:
        AnabranchError: this user may not see the pins.

    """
    try:
        # Folders are listed before namespaces: a folder created from now on is not looked at.
        folders = sorted((path for path in ROOT.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))
        living, unseen = living_namespaces() if folders else (set[int](), list[str]())
    except FileNotFoundError:
        return Leftovers([], [], [])
    except PermissionError as error:
        raise AnabranchError(f"{error.filename}: not this user's to see; run this as root") from None
    ended: list[Leftover] = []
    unsure: list[Leftover] = []
    for folder in folders:
        # Another process may remove what it collects or creates at any moment: then nothing is left of it.
        with suppress(FileNotFoundError):
            if int(folder.name) not in living:
                # The link is tested first: its text may be no name that this file system can look up.
                datapaths = sorted(path for path in folder.iterdir() if not path.is_symlink() and path.is_dir())
                lives = [_attached(path) for path in datapaths]
                if True not in lives:
                    is_sure = not unseen or (lives and None not in lives)
                    (ended if is_sure else unsure).append(Leftover(folder, tuple(path.name for path in datapaths)))
    return Leftovers(ended, unsure, unseen)


def collect(orphans: Sequence[Leftover]) -> None:
    """Removes them."""
    for one in orphans:
        with suppress(FileNotFoundError):
            shutil.rmtree(one.folder)


def _attached(folder: Path) -> bool | None:
    """Whether the kernel has a datapath on a device: False if all that it was on are gone, None if it was on none."""
    with suppress(AnabranchError):
        attachments = [] if (datapath := KernelDatapath.open(folder)) is None else datapath.attachments()
        return any(alive for _, _, alive in attachments) if attachments else None
    return None


def living_namespaces() -> tuple[set[int], list[str]]:
    """Numbers of the network namespaces that processes are in or have open, or that are mounted.

    And the processes that this user may not read.
    """
    numbers: set[int] = set()
    seen: set[str] = set()
    unseen: list[str] = []
    for process in PROCESSES.iterdir():
        if not process.name.isdecimal():
            continue
        # A process that has ended meanwhile is in no namespace.
        with suppress(FileNotFoundError, ProcessLookupError):
            try:
                numbers |= _namespaces_of(process, seen)
            except PermissionError:
                unseen.append(f"{process.name} ({(process / 'comm').read_text().rstrip()})")
    return numbers, unseen


def _namespaces_of(process: Path, seen: set[str]) -> set[int]:
    """Namespaces that a process holds; `seen` are mount namespaces that have been looked through."""
    numbers = _numbers((process / "fd").iterdir())
    for thread in (process / "task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            numbers |= _numbers([thread / "ns" / "net"])
            mounts = str((thread / "ns" / "mnt").readlink())
            numbers |= set() if mounts in seen else _mounted(thread)
            seen.add(mounts)
    return numbers


def _numbers(links: Iterable[Path]) -> set[int]:
    # Files are compared by device and inode: the name of an open file may be of a mount that is gone.
    device = Path("/proc/self/ns/net").stat().st_dev
    numbers = set()
    for link in links:
        with suppress(FileNotFoundError, ProcessLookupError):
            if (file := link.stat()).st_dev == device:
                numbers.add(file.st_ino)
    return numbers


def _mounted(thread: Path) -> set[int]:
    # The root of the mount is the fourth field (`proc_pid_mountinfo(5)`).
    roots = (line.split()[3] for line in (thread / "mountinfo").read_text().splitlines())
    return {int(named[1]) for root in roots if (named := NAMESPACE.fullmatch(root))}


def remove_stale(dry_run: bool) -> tuple[list[str], list[str]]:
    """Removes all of them; returns a line for each, and notes on what is not known.

    Raises:
        AnabranchError: as `leftovers`.

    """
    with locked(make=False):
        orphans = leftovers()
        if not dry_run:
            collect(orphans.ended)
    return [line for one in orphans.ended for line in one.lines], orphans.notes
