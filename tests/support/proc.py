"""Processes in /proc, which may end between any two looks."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def command_of(process: int | str) -> bytes:
    """The command line of a process; empty after its end, even if nobody has waited for it."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def children_of(process: int) -> list[str]:
    """The numbers of the processes that the first thread of a process has started."""
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()
