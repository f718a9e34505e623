"""Damping of links that go up and down, as BGP damps routes (RFC 2439): a loss is believed at once, a return is not.

Every loss adds 1 to the link's penalty, which halves every `half_life_s`. From `suppress` on the link counts as down
until the penalty has fallen below `reuse`, so that a flapping port costs a few plans and then none. As in RFC 2439
section 4.2, a ceiling bounds how long: four half-lives after the last loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from anabranch.deploy.control.fabric import Damping

CEILING_HALF_LIVES = 4


@dataclass
class Damper:
    """The penalties of links by any key; times in seconds of one monotonic clock."""

    settings: Damping
    _penalty: dict[int, tuple[float, float]] = field(default_factory=dict)
    """(penalty, when it was that), by link."""
    _suppressed: set[int] = field(default_factory=set)

    def lost(self, link: int, now_s: float) -> None:
        """Counts a loss."""
        ceiling = self.settings.reuse * 2**CEILING_HALF_LIVES
        penalty = min(self._now(link, now_s) + 1.0, max(ceiling, self.settings.suppress))
        self._penalty[link] = penalty, now_s
        if penalty >= self.settings.suppress:
            self._suppressed.add(link)

    def suppressed(self, link: int, now_s: float) -> bool:
        """Whether the link counts as down, whatever it says."""
        # Rounding must not keep a link down past the moment that `wakes_s` names.
        if link in self._suppressed and self._now(link, now_s) <= self.settings.reuse * (1 + 1e-9):
            self._suppressed.discard(link)
        return link in self._suppressed

    def wakes_s(self) -> float | None:
        """When the first suppressed link may be used again; None if none is suppressed."""
        return min((self._reuse_s(link) for link in self._suppressed), default=None)

    def _now(self, link: int, now_s: float) -> float:
        penalty, then_s = self._penalty.get(link, (0.0, now_s))
        return penalty * math.pow(2.0, (then_s - now_s) / self.settings.half_life_s)

    def _reuse_s(self, link: int) -> float:
        penalty, then_s = self._penalty[link]
        return then_s + self.settings.half_life_s * math.log2(penalty / self.settings.reuse)
