"""What a kernel does not forward of what is routed there, judged again as its routes and settings change."""

from __future__ import annotations

import time
from collections.abc import Iterable

REST_S = 0.5
"""Time between two judgements at least: a router that learns its routes changes thousands in a second."""

EARLY_S = 0.01


class ForwardingWatch:
    """Problems that are known, and whether it is time to judge again."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        """Knows some problems already."""
        self.known = tuple(known)
        self._is_stale = False
        self._judged_s = 0.0

    def heard(self) -> None:
        """Notes that a route or a setting has changed."""
        self._is_stale = True

    @property
    def wait_s(self) -> float | None:
        """Time until it is time to judge; None while nothing has changed."""
        return max(0.0, self._judged_s + REST_S - time.monotonic()) if self._is_stale else None

    @property
    def is_due(self) -> bool:
        """Whether it is time to judge; timers may ring a little early."""
        return self.wait_s is not None and self.wait_s < EARLY_S

    def begin(self) -> None:
        """Begins to judge: what changes from now on may not be in the judgement."""
        self._is_stale, self._judged_s = False, time.monotonic()

    def judged(self, problems: Iterable[str]) -> tuple[list[str], list[str]]:
        """Takes the problems of now; returns those that are new, and those that are over."""
        now, before = tuple(problems), self.known
        self.known = now
        return [one for one in now if one not in before], [one for one in before if one not in now]
