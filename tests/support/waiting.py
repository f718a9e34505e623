"""Waiting for what must come, with one deadline for all and the name of what did not."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_S = 120.0
"""Deadline of everything that is waited for: no measure of speed, only of never."""


def wait(true: Callable[[], bool], what: Callable[[], str]) -> None:
    """Waits until something holds; `what` says what did not."""
    deadline = time.monotonic() + DEADLINE_S
    while not true():
        assert time.monotonic() < deadline, what()
        time.sleep(0.02)
