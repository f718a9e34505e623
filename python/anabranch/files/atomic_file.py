"""Files written whole or not at all: regular files are replaced in one step, anything else is written into."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
import tempfile
import time
from contextlib import suppress
from glob import escape
from pathlib import Path

from anabranch.files.errors import AnabranchError

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a file system without room."""

IRREPLACEABLE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS)
"""Error numbers of a file that may be written but not replaced, because of its owner, its directory, or a mount."""


MARK = ".part-"
ABANDONED_S = 60.0
"""Age from which a part that nobody holds counts as abandoned: writing one takes milliseconds."""


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Writes a file so that it never exists half-written; `-` is stdout.

    A regular file is replaced by a rename and keeps its mode and owner; it is overwritten in place if a rename is not
    allowed. Symbolic links are followed. A device, a FIFO or any other special file at `path` is written into.

    Raises:
        AnabranchError: the file cannot be written.

    """
    if str(path) == "-":
        sys.stdout.write(content if isinstance(content, str) else content.decode())
        return
    data = content.encode() if isinstance(content, str) else content
    try:
        _write(Path(path), data)
    except OSError as error:
        raise AnabranchError(unwritable(path, error)) from None


def unwritable(path: str | Path, error: OSError) -> str:
    """Error message for a file or folder that cannot be written."""
    hint = "free some space there, or give another place" if error.errno in FULL else "give another file"
    return f"{path}: cannot be written: {error.strerror or error}; hint: {hint}"


def _write(path: Path, data: bytes) -> None:
    try:
        old = path.stat()
    except FileNotFoundError:
        old = None
    target = Path(os.path.realpath(path))
    if old is None:
        folder = target.parent if path.parent.is_dir() else path.parent
        if not folder.is_dir():
            raise AnabranchError(f"{path}: there is no directory {folder}; hint: make it first")
        umask = os.umask(0)
        os.umask(umask)
        _replace(target, data, 0o666 & ~umask, None)
        return
    if stat.S_ISDIR(old.st_mode):
        raise AnabranchError(f"{path}: is a directory; hint: give a file")
    if stat.S_ISSOCK(old.st_mode):
        raise AnabranchError(f"{path}: is a socket; hint: give a file, a device or a FIFO")
    # A path below /proc/self/fd may name a file that has no name any more.
    if not stat.S_ISREG(old.st_mode) or not target.exists():
        _write_into(path, data)
        return
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        _replace(target, data, stat.S_IMODE(old.st_mode), old)
    except OSError as error:
        if error.errno not in IRREPLACEABLE:
            raise
        _write_into(target, data)


def _replace(target: Path, data: bytes, mode: int, old: os.stat_result | None) -> None:
    _remove_abandoned(target)
    handle, part = _create_locked(target)
    with os.fdopen(handle, "wb") as file:
        try:
            file.write(data)
            file.flush()
            new = os.fstat(handle)
            if old is not None and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
                os.fchown(handle, old.st_uid, old.st_gid)
            # After the owner: a change of owner clears bits of the mode.
            os.fchmod(handle, mode)
            # While the file is open, and so locked: nobody takes it for abandoned.
            part.replace(target)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise


def _create_locked(target: Path) -> tuple[int, Path]:
    """A hidden file beside the target, locked while its writer lives."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}{MARK}", dir=target.parent)
        # Not every file system has locks.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, Path(name)
        # Another writer has come between the two lines above, and taken it for abandoned.
        os.close(handle)


def _remove_abandoned(target: Path) -> None:
    """Removes what killed writers of this file have left."""
    for part in target.parent.glob(f"{escape(f'.{target.name}{MARK}')}*"):
        with suppress(OSError):
            handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                # Not every file system shows the locks of other machines.
                if time.time() - os.fstat(handle).st_mtime > ABANDONED_S:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    part.unlink()
            finally:
                os.close(handle)


def _write_into(path: Path, data: bytes) -> None:
    # Neither O_CREAT nor an exclusive mode: only what stands there is written.
    handle = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOCTTY)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
