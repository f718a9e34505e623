"""Applies that wait for their confirmation, as files of the run folder.

The process that is to go back holds a lock on its file: a file without one is left from a process that was killed.
Confirming and going back both begin with a rename of the file, so that exactly one of them happens.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from anabranch.files.errors import AnabranchError

SETTLED, LATE = ".settled", ".late"
"""Ends of the names of files that are confirmed or withdrawn, and of those whose time is over."""
LOOKS, LOOK_S = 20, 0.01
"""Number of tries to take a lock, and the time between two: a look at one holds it for some microseconds."""
WAKE = signal.SIGUSR1
"""Signal by which a waiting process looks at its file."""


@dataclass(frozen=True)
class Pending:
    """One apply that waits."""

    scope: str
    """Target, switch and owner, in words."""
    plan: str
    until: str
    """Time of day at which it goes back; empty until the plan is in force."""
    process: int
    log: str
    """File in which the process reports."""


def run_folder() -> Path:
    """Folder of the files: systemd's for a service, `/run/anabranch/confirm` for root, else the user's own.

    Raises:
        AnabranchError: the folder is somebody else's.

    """
    given = os.environ.get("RUNTIME_DIRECTORY")
    if given:
        folder = Path(given.partition(":")[0]) / "confirm"
    elif os.geteuid() == 0:
        folder = Path("/run/anabranch/confirm")
    else:
        home = os.environ.get("XDG_RUNTIME_DIR")
        folder = Path(home or tempfile.gettempdir()) / f"anabranch-{os.geteuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise AnabranchError(f"{folder}: not this user's alone; remove the folder")
    return folder


def file_of(scope: str) -> Path:
    """File of what waits in a scope, whether it exists or not."""
    return run_folder() / f"{sha256(scope.encode()).hexdigest()[:20]}.json"


def late(file: Path) -> Path:
    """Name of a file whose time is over."""
    return file.with_name(file.name + LATE)


def claim(file: Path) -> int | None:
    """Makes the file of a scope and locks it: its handle, or None where another process waits."""
    while True:
        if _locked_path(late(file)):
            return None
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _lock(handle):
            os.close(handle)
            return None
        # It may have been renamed between the two calls.
        with suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == file.stat().st_ino:
                return handle
        os.close(handle)


def write(handle: int, pending: Pending) -> None:
    """Writes what waits into its file."""
    text = json.dumps(asdict(pending)).encode()
    os.pwrite(handle, text, 0)
    os.ftruncate(handle, len(text))


def pending(scope: str) -> Pending | None:
    """The apply that waits in a scope or is going back, if there is one."""
    file = file_of(scope)
    for path in (file, late(file)):
        if _locked_path(path):
            with suppress(OSError, ValueError, TypeError):
                return Pending(**json.loads(path.read_text(encoding="utf-8")))
    return None


def refuse_pending(scope: str, plan: str) -> None:
    """Raises an AnabranchError where an apply waits in a scope: what it would go back to must stay what was before."""
    waits = pending(scope)
    if waits is not None:
        until = f"until {waits.until}" if waits.until else "for its plan to be in force"
        raise AnabranchError(
            f"{plan}: {scope}: {waits.plan} waits {until} to be confirmed (process {waits.process}); "
            f"confirm it with `anabranch confirm {waits.plan}`, or wait until it has gone back"
        )


def settle(scope: str) -> Pending | None:
    """Keeps what waits in a scope, and lets its process end: what waited, or None where nothing does.

    Raises:
        AnabranchError: its time is over.

    """
    file = file_of(scope)
    waits = pending(scope)
    settled = file.with_name(f"{file.name}{SETTLED}{os.getpid()}")
    try:
        file.rename(settled)
    except FileNotFoundError:
        if waits is None:
            return None
        raise AnabranchError(
            f"confirm: {waits.plan}: its time is over and it goes back; {waits.log} says how; apply it again"
        ) from None
    settled.unlink()
    if waits is not None:
        with suppress(ProcessLookupError):
            os.kill(waits.process, WAKE)
    return waits


def _lock(handle: int) -> bool:
    """Locks a file, and lets those pass who only look whether it is locked."""
    for _ in range(LOOKS):
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(LOOK_S)
    return False


def _locked_path(path: Path) -> bool:
    """Whether a process holds the lock of a file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
