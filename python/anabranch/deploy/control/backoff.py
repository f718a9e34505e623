"""How long to wait before the next attempt."""

from __future__ import annotations

import random

BASE_S, CEILING_S = 0.1, 5.0


class Backoff:
    """Exponential, with jitter, so that switches that were lost together do not come back together.

    The jitter is from a stream of its own for each `name`: the same in every run.
    """

    def __init__(self, name: str) -> None:
        self._random = random.Random(name)
        self._failures = 0

    def succeeded(self) -> None:
        """The next wait is the shortest."""
        self._failures = 0

    def next_s(self) -> float:
        """Seconds to wait now, after a failure: between half and all of 0.1 s doubled at each, 5 s at most."""
        ceiling_s: float = min(CEILING_S, BASE_S * 2.0**self._failures)
        self._failures = min(self._failures + 1, 16)
        return ceiling_s * self._random.uniform(0.5, 1.0)
