"""Progress of a controller: when it did what, and how often."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Progress:
    """Moments in seconds of Unix time, 0 before the first; written by the event loop, read by any thread."""

    started_s: float = field(default_factory=time.time)
    plans: int = 0
    """Plans made that differ from the one before."""
    planned_s: float = 0.0
    plan_duration_s: float = 0.0
    measured_s: float = 0.0
    """Moment at which counters were last read."""
    file_error: str = ""
    """Error in the file that could not be taken on; empty if the file in force is the one read last."""
    handshake_failed_s: float = 0.0
    handshake_error: str = ""
    """Peer that failed the last handshake, the reason, and a hint."""
    changed_s: float | None = None
    """Moment, on the monotonic clock, of the oldest change that no plan answers yet."""

    @property
    def unplanned(self) -> bool:
        """Whether the plan is not of the network as it is."""
        return self.changed_s is not None
