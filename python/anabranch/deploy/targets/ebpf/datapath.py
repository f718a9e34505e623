"""Datapaths in the kernel: found by their folder, made, changed and removed without a moment in between.

A datapath that must be replaced, for another program or more room, is made beside the old one, with its plan in force,
and takes its place on one device after the other, each in one step. The folders say how far that has come, whatever
ends the process: `NAME+new` until all of the new one stands, then the old one becomes `NAME+old` and the new one
`NAME`, then the old one is removed. Each is made and taken apart under another name (`HALF`): whoever looks sees it
whole or not at all.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from anabranch._core import KernelDatapath, KernelGroup
from anabranch.deploy.targets.ebpf.folder import ROOT, own_folder, require_file_system
from anabranch.files.errors import AnabranchError, OverruledError

NEW, OLD = "+new", "+old"
HALF = "+half"
"""Behind the name while the kernel half makes a datapath or removes one (`crates/kernel/src/datapath.rs`)."""
LINK = "link-"
"""How the names of pinned links begin (`crates/kernel/src/link.rs`)."""

LOCK_TIMEOUT_S, LOCK_STEP_S = 60.0, 0.005


class ChangedElsewhereError(OverruledError):
    """Somebody else has changed, replaced or removed a datapath that was left in a known state."""


@dataclass(frozen=True)
class DatapathState:
    """A datapath at one moment."""

    scheme: str
    """The program's name."""
    group_capacity: int
    route_capacity: int
    """0 where the only group takes all IP."""
    groups: tuple[KernelGroup, ...]
    attached: frozenset[tuple[int, str]]
    """Number of the device and hook, of those that there still are."""
    can_route: bool = True
    """Whether its program can route packets."""


class Shape(Protocol):
    """The shape that a datapath is to have."""

    @property
    def scheme(self) -> str:
        """The program's name."""
        ...

    @property
    def group_capacity(self) -> int:
        """Room for so many groups, where one has to be made."""
        ...

    @property
    def route_capacity(self) -> int:
        """And for so many prefixes; 0 if its only group takes all IP."""
        ...

    @property
    def kernel_groups(self) -> list[KernelGroup]:
        """Groups that it forwards by."""
        ...

    @property
    def attached(self) -> tuple[tuple[int, str], ...]:
        """Number of the device and hook, of all that it is attached to."""
        ...


@dataclass(frozen=True)
class OpenDatapath:
    """A datapath in the kernel, opened, and what it was then."""

    datapath: KernelDatapath
    folder: Path
    number: int
    """Inode of the folder: another datapath of its name has another."""
    state: DatapathState

    def again(self) -> OpenDatapath:
        """The datapath as a new look at the kernel shows it.

        Raises:
            ChangedElsewhereError: it is not as it was.

        """
        if self.folder.exists() and self.folder.stat().st_ino == self.number:
            now = described(self.datapath)
            if replace(now, attached=self.state.attached) == self.state:
                return replace(self, state=now)
        raise ChangedElsewhereError(f"{self.folder}: somebody else has changed the datapath; apply the plan again")


def opened(folder: Path) -> OpenDatapath | None:
    """The datapath of a folder, if there is one.

    Raises:
        AnabranchError: there is no BPF file system, or what is there is no whole datapath.

    """
    require_file_system()
    old, new = _beside(folder, OLD), _beside(folder, NEW)
    if not folder.exists() and old.exists():
        folder = new
    try:
        datapath = KernelDatapath.open(folder)
    except AnabranchError as error:
        hint = f"`anabranch remove`, or `rm -r {folder}`, takes the datapath away"
        raise AnabranchError(f"{error}; {hint}") from None
    return None if datapath is None else OpenDatapath(datapath, folder, folder.stat().st_ino, described(datapath))


def exists(folder: Path) -> bool:
    """Whether there is anything of a datapath, whole or not."""
    return any(_beside(folder, suffix).exists() for suffix in ("", NEW, OLD, HALF))


def fits(state: DatapathState, target: Shape) -> bool:
    """Whether the datapath that is there can be changed into what is wanted: the same program, and room enough."""
    return (
        state.scheme == target.scheme
        and len(target.kernel_groups) <= state.group_capacity
        and sum(len(group.prefixes) for group in target.kernel_groups) <= state.route_capacity
        and bool(target.route_capacity) == bool(state.route_capacity)
        and (state.can_route or not any(group.gateways for group in target.kernel_groups))
    )


def described(datapath: KernelDatapath) -> DatapathState:
    """The state of a datapath."""
    return DatapathState(
        datapath.scheme,
        datapath.group_capacity,
        datapath.route_capacity,
        tuple(datapath.observed()),
        frozenset((index, hook) for index, hook, alive in datapath.attachments() if alive),
        datapath.can_route,
    )


def change(
    folder: Path, before: OpenDatapath | None, target: Shape, tables: Mapping[str, bytes] | None = None
) -> OpenDatapath | None:
    """Makes the datapath what is wanted; if anything is refused, it is as before.

    Args:
        folder: of the datapath.
        before: what stands, as `opened` says.
        target: what shall be.
        tables: of groups that are new to the kernel, from which they go on; see `state_file`.

    Returns:
        What stands then.

    Raises:
        AnabranchError: the kernel's refusal.

    """
    if finish(folder):
        before = opened(folder)
    if before is None or not fits(before.state, target):
        _replace(folder, before, target, dict(tables or {}))
        return opened(folder)
    datapath = before.datapath
    with ExitStack() as undo:
        for index, hook in target.attached:
            if (index, hook) not in before.state.attached:
                _forget(datapath, index, hook)
                datapath.attach(index, hook)
                undo.callback(datapath.detach, index, hook)
        datapath.put(target.kernel_groups, tables=dict(tables or {}))
        undo.pop_all()
    for index, hook, _ in datapath.attachments():
        if (index, hook) not in target.attached:
            datapath.detach(index, hook)
    return replace(before, state=described(datapath))


def remove(folder: Path) -> None:
    """Takes the datapath off its devices and out of the kernel."""
    finish(folder)
    for rest in (folder, _beside(folder, HALF)):
        if rest.exists():
            _clear(rest)


@contextmanager
def locked(*, make: bool = True) -> Iterator[None]:
    """One process at a time changes datapaths by plans; the kernel half locks the folders below for itself.

    Args:
        make: whether the folder to lock is made; who only reads needs no lock where nothing is.

    Raises:
        AnabranchError: there is no BPF file system, it is not this user's to write, or another process holds it for
            long.

    """
    require_file_system()
    if not make and not ROOT.exists():
        yield
        return
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            ROOT.mkdir(exist_ok=True)
            lock = os.open(ROOT, os.O_RDONLY | os.O_DIRECTORY)
        except PermissionError as error:
            hint = f"run as root, or have root make {ROOT} and give it to this user"
            raise AnabranchError(f"{error.filename}: not this user's to write; {hint}") from None
        try:
            while not _lock(lock):
                if time.monotonic() > deadline:
                    raise AnabranchError(
                        f"{ROOT}: another process has locked it for {LOCK_TIMEOUT_S:g} s; wait for that"
                    )
                time.sleep(LOCK_STEP_S)
            # The process that held the lock before may have removed the folder.
            if ROOT.exists() and os.fstat(lock).st_ino == ROOT.stat().st_ino:
                try:
                    yield
                finally:
                    for folder in (own_folder(), ROOT):
                        with suppress(OSError):
                            folder.rmdir()
                return
        finally:
            os.close(lock)


def _lock(handle: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _replace(folder: Path, before: OpenDatapath | None, target: Shape, tables: dict[str, bytes]) -> None:
    new = _beside(folder, NEW)
    datapath = KernelDatapath.create(new, target.scheme, target.group_capacity, target.route_capacity)
    with ExitStack() as undo:
        undo.callback(datapath.remove)
        observed = {} if before is None else before.datapath.tables()
        datapath.put(target.kernel_groups, tables=tables | observed)
        for index, hook in target.attached:
            if before is not None and (index, hook) in before.state.attached:
                datapath.replace(before.datapath, index, hook)
                undo.callback(before.datapath.replace, datapath, index, hook)
            else:
                datapath.attach(index, hook)
        if before is not None:
            before.folder.rename(_beside(folder, OLD))
        new.rename(folder)
        undo.pop_all()
    finish(folder)


def finish(folder: Path) -> bool:
    """Brings to its end what an earlier process began and did not end; whether there was such a thing."""
    new, old = _beside(folder, NEW), _beside(folder, OLD)
    begun = new.exists() or old.exists()
    if new.exists() and old.exists():
        new.rename(folder)
    if new.exists() and folder.exists():
        _return_devices(new, folder)
    for rest in (new, old):
        if rest.exists():
            _clear(rest)
    return begun


def _beside(folder: Path, suffix: str) -> Path:
    return folder.with_name(folder.name + suffix)


def _return_devices(new: Path, present: Path) -> None:
    """Gives the devices of a datapath that was never finished back to the one that it was to replace."""
    unfinished, before = KernelDatapath.open(new), KernelDatapath.open(present)
    if unfinished is not None and before is not None:
        for index, hook, alive in unfinished.attachments():
            if alive:
                before.replace(unfinished, index, hook)


def _clear(folder: Path) -> None:
    """Takes a datapath away, or what is left of one: first off its devices, that no packet meets half of it."""
    with suppress(AnabranchError):
        if (whole := KernelDatapath.open(folder)) is not None:
            whole.remove()
            return
    for pin in sorted(folder.iterdir(), key=lambda pin: not pin.name.startswith(LINK)):
        pin.unlink()
    folder.rmdir()


def _forget(datapath: KernelDatapath, index: int, hook: str) -> None:
    """Takes away the link to a device that is gone, whose number another one may have now."""
    if any((number, at) == (index, hook) for number, at, _ in datapath.attachments()):
        datapath.detach(index, hook)
