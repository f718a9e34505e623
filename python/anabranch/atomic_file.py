"""Files written whole or not at all: regular files are replaced in one step, anything else is written into."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from anabranch.errors import AnabranchError

FULL = (errno.ENOSPC, errno.EDQUOT)
"""The errors of a place that has no room left."""

IRREPLACEABLE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS)
"""The errors of a file that may be written but not replaced: its owner, its directory, or a mount keep it there."""


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Writes a file so that it is never there by half; `-` is stdout.

    A regular file is replaced by a rename, and its mode and owner stay; it is written into where that is not allowed.
    Symbolic links are followed. A device, a FIFO or whatever else stands at `path` is written into.

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
    """The message for a file or folder that cannot be written."""
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
    handle, part = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            made = os.fstat(handle)
            if old is not None and (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
                os.fchown(handle, old.st_uid, old.st_gid)
            # After the owner: a change of owner clears bits of the mode.
            os.fchmod(handle, mode)
        Path(part).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(part).unlink()
        raise


def _write_into(path: Path, data: bytes) -> None:
    # Neither O_CREAT nor an exclusive mode: only what stands there is written.
    handle = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOCTTY)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
