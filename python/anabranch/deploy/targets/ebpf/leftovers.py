"""Datapaths of network namespaces that have ended: nothing but their pins holds them, and no plan there removes them.

A folder is named by the inode number of its namespace. A namespace lives as long as a process or one of its threads is
in it, has it open, or it is mounted (`network_namespaces(7)`). Processes of other process namespaces, which cannot be
seen from here, may be in one too: a datapath that the kernel still has on a device is never taken for a leftover.
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


def leftovers() -> list[Leftover]:
    """All of them, in the order of their namespaces' numbers.

    Raises:
        AnabranchError: this user may not see what other processes have.

    """
    try:
        # Folders are listed before namespaces: a folder created from now on is not looked at.
        folders = sorted((path for path in ROOT.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))
        living = living_namespaces() if folders else set()
    except FileNotFoundError:
        return []
    except PermissionError as error:
        raise AnabranchError(
            f"{error.filename}: not this user's to see; hint: which network namespaces have ended only root knows"
        ) from None
    orphans = []
    for folder in folders:
        if int(folder.name) not in living:
            # The link is tested first: its text may be no name that this file system can look up.
            datapaths = sorted(path for path in folder.iterdir() if not path.is_symlink() and path.is_dir())
            if not any(map(_attached, datapaths)):
                orphans.append(Leftover(folder, tuple(path.name for path in datapaths)))
    return orphans


def collect(orphans: Sequence[Leftover]) -> None:
    """Removes them."""
    for one in orphans:
        with suppress(FileNotFoundError):
            shutil.rmtree(one.folder)


def _attached(folder: Path) -> bool:
    """Whether the kernel has a datapath on a device."""
    with suppress(AnabranchError):
        datapath = KernelDatapath.open(folder)
        return datapath is not None and any(alive for _, _, alive in datapath.attachments())
    return False


def living_namespaces() -> set[int]:
    """Numbers of the network namespaces that processes are in or have open, or that are mounted."""
    numbers: set[int] = set()
    seen: set[str] = set()
    for process in PROCESSES.iterdir():
        if not process.name.isdecimal():
            continue
        # A process that has ended meanwhile is in no namespace.
        with suppress(FileNotFoundError, ProcessLookupError):
            numbers |= _numbers((process / "fd").iterdir())
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


def remove_stale(dry_run: bool) -> list[str]:
    """Removes all of them; returns a line for each.

    Raises:
        AnabranchError: as `leftovers`.

    """
    with locked(make=False):
        orphans = leftovers()
        if not dry_run:
            collect(orphans)
    return [line for one in orphans for line in one.lines]
