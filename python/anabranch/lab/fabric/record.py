"""Record of what a lab makes, written down before it is made, so that `down` finds it after any crash."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from anabranch.deploy.targets.registry import DEFAULT
from anabranch.files.atomic_file import write_whole
from anabranch.files.errors import AnabranchError

LABS = Path("/run/anabranch/lab")
FILE = "state.json"
LOCK_TIMEOUT_S = 60
MARK = "ANABRANCH_LAB"
"""Beginning of the mark of every lab, before its name."""


@dataclass(frozen=True)
class Record:
    """A lab on this machine."""

    name: str
    scenario_file: str
    scenario: str
    """The text of the scenario."""
    scale: float
    """Factor on all rates of the scenario."""
    tso: bool
    """Whether packets pass Open vSwitch unsegmented."""
    bfd_ms: int | None
    """Interval of BFD between switches, if it runs."""
    mark: str
    """`NAME=VALUE` in the environment of all processes that the lab starts."""
    http: str
    """Address of its controller's pages, `127.0.0.1:PORT`."""
    namespaces: tuple[str, ...]
    switch: str = DEFAULT
    """Kind of its switches (`switching`)."""
    complete: bool = False
    """Whether all of it has been created."""
    parent: str = ""
    """The lab that it was made for, and goes with: a calibration's. Empty: it stands for itself."""

    @property
    def folder(self) -> Path:
        """Folder of its files."""
        return LABS / self.name


def new_mark(name: str) -> str:
    """A mark that no other lab has, nor one of the same name before or after."""
    return f"{MARK}={name}.{secrets.token_hex(8)}"


def names() -> list[str]:
    """Names of all labs on this machine, those in the making too."""
    try:
        return sorted(path.name for path in LABS.iterdir() if path.is_dir())
    except FileNotFoundError:
        return []


def present(name: str) -> bool:
    """Whether there is such a lab, be it in the making."""
    return (LABS / name).is_dir()


def read(name: str) -> Record | None:
    """The record of a lab; None where nothing has been created.

    Raises:
        AnabranchError: the record is not one.

    """
    file = LABS / name / FILE
    try:
        values = json.loads(file.read_text())
        return Record(**values | {"namespaces": tuple(values["namespaces"])})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise AnabranchError(
            f"{file}: not the record of a lab ({error}); `anabranch lab down {name}`, then up again"
        ) from None


@dataclass(frozen=True)
class Created:
    """Resources that must go for a lab to be gone."""

    namespaces: tuple[str, ...]
    mark: str
    parent: str


def read_created(name: str) -> Created | None:
    """The part of a record that every version of this program understands; None where nothing has been created.

    Raises:
        AnabranchError: it is no record, or names what is not this lab's.

    """
    file = LABS / name / FILE
    try:
        values = json.loads(file.read_text())
        created = Created(tuple(values["namespaces"]), values["mark"], values.get("parent", ""))
        own = f"anabranch.{name}"
        if not created.mark or not all(each == own or each.startswith(f"{own}.") for each in created.namespaces):
            raise ValueError("names what is not this lab's")
        return created
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise AnabranchError(f"{file}: not the record of a lab ({error}); remove by hand what it names") from None


def children(name: str) -> list[str]:
    """Labs that were made for this one; those whose record cannot be read are nobody's."""
    children_names = []
    for other in names():
        with suppress(AnabranchError):
            created = read_created(other)
            if other != name and created is not None and created.parent == name:
                children_names.append(other)
    return children_names


def write(record: Record) -> None:
    """Keeps the record, whole or not at all."""
    write_whole(record.folder / FILE, json.dumps(asdict(record), indent=1))


def clear(name: str) -> None:
    """Removes the lab's files, but for the record."""
    for path in (LABS / name).iterdir():
        if path.name != FILE:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def forget(name: str) -> None:
    """Removes the lab's folder, the record last."""
    clear(name)
    (LABS / name / FILE).unlink(missing_ok=True)
    (LABS / name).rmdir()
    with suppress(OSError):
        LABS.rmdir()
        LABS.parent.rmdir()


@contextmanager
def locked(name: str, *, make: bool = False) -> Iterator[bool]:
    """Holds the lab's folder for oneself; the kernel lets go of it when the process ends. False: there is none.

    Raises:
        AnabranchError: another process holds it for long.

    """
    lock = _hold(name, make)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)


def _hold(name: str, make: bool) -> int | None:
    folder = LABS / name
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while time.monotonic() < deadline:
        if make:
            _make(folder)
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            if make:
                continue
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The process that held the lock before may have removed the folder.
            if folder.stat().st_ino == os.fstat(handle).st_ino:
                return handle
        except (BlockingIOError, FileNotFoundError):
            time.sleep(0.05)
        os.close(handle)
    raise AnabranchError(f"lab {name}: another process is making or removing it; wait for that")


def _make(folder: Path) -> None:
    LABS.parent.mkdir(mode=0o755, exist_ok=True)
    try:
        LABS.mkdir(mode=0o755, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        # Another lab's end has just removed the folder of all.
        return
