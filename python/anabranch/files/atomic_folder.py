"""Folders written whole or not at all.

Until then they are hidden: locked while their writer lives, removed by the next command if it was killed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from anabranch.files.atomic_file import unwritable
from anabranch.files.errors import AnabranchError

MARK = ".unfinished-"
LOCK = "lock"
FOREIGN_SECONDS = 24 * 3600
"""Age from which a folder of another machine counts as abandoned: writing one takes seconds, and not every file system
shows the locks of other machines."""


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A folder to write into, which replaces `target` at the end, or is removed after an error.

    Symbolic links are followed; a folder that is replaced passes on its mode and owner.

    Raises:
        AnabranchError: the folder cannot be written, because the disk is full, for instance.

    """
    resolved = Path(os.path.realpath(target))
    if resolved.exists() and not resolved.is_dir():
        raise AnabranchError(f"{target}: is no folder; hint: move it away, or write elsewhere")
    try:
        with unfinished(resolved) as shop:
            part = shop / "new"
            part.mkdir()
            yield part
            if resolved.exists():
                _take_over(resolved.stat(), part)
            _replace(part, resolved, shop / "old")
    except OSError as error:
        raise AnabranchError(unwritable(target, error)) from None


@contextmanager
def unfinished(target: Path) -> Iterator[Path]:
    """A hidden folder beside `target` for the duration of the block: `new` in it becomes the target."""
    shop, handle = _create_locked(target)
    try:
        yield shop
    finally:
        _remove(shop)
        os.close(handle)


def remove_abandoned(folder: Path) -> None:
    """Removes the remains of killed writers in `folder`, and finishes folders that only needed their last rename."""
    for shop in folder.glob(f".*{MARK}*"):
        with suppress(OSError):
            _remove_abandoned(shop)


def _create_locked(target: Path) -> tuple[Path, int]:
    while True:
        shop = Path(tempfile.mkdtemp(prefix=f".{target.name}{MARK}", dir=target.parent))
        try:
            handle = os.open(shop / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        except FileNotFoundError:
            # Another command has found it empty, and taken it for abandoned.
            continue
        except OSError:
            shop.rmdir()
            raise
        try:
            if _locked(handle) and os.fstat(handle).st_nlink:
                os.write(handle, socket.gethostname().encode())
                return shop, handle
        except OSError:
            _remove(shop)
            os.close(handle)
            raise
        # Another command took the lock in between, and removes the folder.
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        # Some file systems of clusters have no locks: there, only its age tells that a folder is abandoned.
        if error.errno not in (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP):
            raise
    return True


def _remove_abandoned(shop: Path) -> None:
    try:
        handle = os.open(shop / LOCK, os.O_RDWR)
    except FileNotFoundError:
        # Its writer was killed before it could lock it; a folder with anything in it stays.
        shop.rmdir()
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        foreign = os.read(handle, 4096) not in (b"", socket.gethostname().encode())
        if foreign and time.time() - os.fstat(handle).st_mtime < FOREIGN_SECONDS:
            return
        target = shop.parent / shop.name[1:].rpartition(MARK)[0]
        if (shop / "old").exists() and not target.exists():
            # Killed between the two renames: the new folder is whole.
            (shop / "new").rename(target)
        _remove(shop)
    finally:
        os.close(handle)


def _remove(shop: Path) -> None:
    """Removes the hidden folder, the lock last: without a lock only an empty folder is known to be abandoned."""
    for name in ("new", "old"):
        shutil.rmtree(shop / name, ignore_errors=True)
    with suppress(OSError):
        (shop / LOCK).unlink()
        shop.rmdir()


def _take_over(old: os.stat_result, part: Path) -> None:
    new = part.stat()
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.chown(part, old.st_uid, old.st_gid)
    part.chmod(stat.S_IMODE(old.st_mode))


def _replace(part: Path, target: Path, aside: Path) -> None:
    """Replaces a folder. Directories cannot be swapped portably: the old one is moved aside first."""
    if target.exists():
        target.rename(aside)
    part.rename(target)
