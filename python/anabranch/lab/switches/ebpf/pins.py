"""Pins of a lab's switches in the BPF file system, found again and removed after any crash.

A folder per network namespace, by its inode number, as `anabranch apply --target ebpf` has it; in it one per datapath.
A number is used again once its namespace has ended, so the folder of a lab says whose it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from anabranch.deploy.netlink.namespace import NAMED
from anabranch.deploy.targets.ebpf.datapath import locked
from anabranch.deploy.targets.ebpf.folder import ROOT, folder_of, require_file_system
from anabranch.deploy.targets.ebpf.leftovers import collect, leftovers
from anabranch.lab.fabric.record import MARK

OWNER = "_lab"
"""A symbolic link, the one kind of file there that takes a text. No node of a fabric is called so."""


def claim(namespace: str, mark: str) -> None:
    """Makes the folder of a namespace that has just been made, and says in it whose it is.

    Raises:
        AnabranchError: there is no BPF file system.

    """
    require_file_system()
    folder = folder_of((NAMED / namespace).stat().st_ino)
    # The namespace is new: anything in its folder is from one that has ended.
    _clear(folder)
    while not folder.is_dir():
        # A process that removes the last datapath of a namespace may remove the parent folder meanwhile.
        with suppress(FileNotFoundError):
            folder.mkdir(parents=True)
    (folder / OWNER).symlink_to(mark)


def remove(namespaces: Sequence[str], mark: str) -> None:
    """Removes all that a lab has there, and all that was attached in its namespaces by whomever."""
    pins = []
    with suppress(FileNotFoundError):
        pins = [folder for folder in ROOT.iterdir() if _owner(folder) == mark]
    for namespace in namespaces:
        with suppress(FileNotFoundError):
            pins.append(folder_of((NAMED / namespace).stat().st_ino))
    for folder in pins:
        _clear(folder)


def remove_lost(lab: str) -> bool:
    """Removes what a lab has there whose record is lost, of namespaces that have ended; whether there was anything."""
    if not _visible():
        return False
    with locked(make=False):
        pins = [one for one in leftovers().ended if _owner(one.folder).startswith(f"{MARK}={lab}.")]
        collect(pins)
    return bool(pins)


def lost_labs() -> list[str]:
    """Names of the labs that have pins of namespaces that have ended."""
    owners = [_owner(one.folder) for one in leftovers().ended] if _visible() else []
    return sorted({owner[len(MARK) + 1 :].rpartition(".")[0] for owner in owners if owner.startswith(f"{MARK}=")})


def _visible() -> bool:
    """Whether anything is pinned that this user may see."""
    try:
        return ROOT.is_dir()
    except PermissionError:
        return False


def _owner(folder: Path) -> str:
    """The mark of a lab; empty where the folder is no lab's, or has just been removed by another process."""
    try:
        return str((folder / OWNER).readlink())
    except OSError:
        return ""


def _clear(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)
