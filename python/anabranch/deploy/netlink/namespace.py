"""Network namespaces from within: a thread enters one, and what it opens there stays there."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch.files.errors import AnabranchError

NAMED = Path("/run/netns")
CLONE_NEWNET = 0x40000000
"""Flag of sched.h; `os.setns` exists from Python 3.12 on only."""


def file_of(namespace: str) -> Path:
    """File of a namespace that `ip netns` named, or of one that is given by its file."""
    return Path(namespace) if "/" in namespace else NAMED / namespace


def enter(namespace: str) -> None:
    """Moves this thread into a namespace. Sockets keep the one they were created in.

    Raises:
        AnabranchError: there is no such namespace, or no privilege (CAP_SYS_ADMIN) to enter it.

    """
    try:
        descriptor = os.open(file_of(namespace), os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise AnabranchError(
            f"namespace {namespace}: {error.strerror}; `ip netns list` shows those there are"
        ) from None
    try:
        _set(descriptor, namespace)
    finally:
        os.close(descriptor)


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Moves the calling thread into a namespace for the duration of a block."""
    came_from = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(namespace)
        try:
            yield
        finally:
            _set(came_from, "the one before")
    finally:
        os.close(came_from)


def _is_own(descriptor: int) -> bool:
    """Whether the calling thread is in a namespace already."""
    return os.path.samestat(Path("/proc/thread-self/ns/net").stat(), os.fstat(descriptor))


def _set(descriptor: int, namespace: str) -> None:
    if _is_own(descriptor):
        # To enter it again would take CAP_SYS_ADMIN all the same.
        return
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(descriptor, CLONE_NEWNET):
        raise AnabranchError(f"namespace {namespace}: {os.strerror(ctypes.get_errno())}; it takes root to enter one")
