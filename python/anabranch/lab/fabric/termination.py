"""SIGTERM while a lab stands: it ends the program as Ctrl-C does, so that what was made goes first."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread


@contextmanager
def unwinding() -> Iterator[None]:
    """Turns SIGTERM into `SystemExit` with the status that shells give it.

    Signals have handlers in the main thread only (Python's `signal`): elsewhere nothing changes.
    """
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
