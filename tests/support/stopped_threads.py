"""Threads of another process that stand still for a while, as on a machine that gives them no time."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
"""linux/ptrace.h"""
WALL = 0x40000000
"""__WALL of waitpid(2): threads of other processes too."""


@contextmanager
def stopped(pid: int | None, name: str) -> Iterator[None]:
    """Stops the threads of a process whose names begin so, to the end of a block."""
    found = [
        int(task.name) for task in Path(f"/proc/{pid}/task").iterdir() if (task / "comm").read_text().startswith(name)
    ]
    assert found, f"no thread {name} in {pid}"
    for thread in found:
        _ptrace(SEIZE, thread)
        _ptrace(INTERRUPT, thread)
        os.waitpid(thread, WALL)
    try:
        yield
    finally:
        for thread in found:
            _ptrace(DETACH, thread)


def _ptrace(request: int, thread: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if library.ptrace(request, thread, None, None):
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}: {os.strerror(ctypes.get_errno())}")
