"""Loss of the controller's own frames on links that both ends take for sound.

Counters of both ends say nothing of a link that carries nothing, or whose ends do not count alike; frames of our own
are numbered, and cross every link all the time. Whether as many are lost as no sound link loses is decided by a
cumulative sum of log-likelihood ratios (Page 1954, doi:10.1093/biomet/41.1-2.100), and by the same sum the other way
round whether the loss is over. With a threshold of h, false alarms are e^h frames apart or more on average (Lorden
1971, doi:10.1214/aoms/1177693055).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

SOUND_SHARE = 0.05
"""The most that a sound link loses: frames at a full queue are lost, too."""
LOSING_SHARE = 0.2
"""The loss that is looked for. What is more is noticed sooner; what is less than 11 % is not."""
THRESHOLD = math.log(1e6)
"""Frames between two false alarms at a link that loses `SOUND_SHARE`, as a logarithm."""
LATEST = 128
"""Frames that a share is of, at most: more than those after which a loss is over."""
SILENT = 16
"""Frames in a row of which none arrives: then a link does not lose some, it carries none."""
WEIGHTS = {
    True: math.log(LOSING_SHARE / SOUND_SHARE),
    False: math.log((1 - LOSING_SHARE) / (1 - SOUND_SHARE)),
}
"""Logarithm of how much likelier a frame's fate is on a losing link, by whether it was lost."""


@dataclass
class _Frame:
    sequence: int
    sent_s: float
    arrived: bool = False


@dataclass
class _Direction:
    """What is known of the frames of one port."""

    pending: deque[_Frame] = field(default_factory=deque)
    score: float = 0.0
    """The sum of the test that is under way: for a loss, or for its end."""
    is_losing: bool = False
    latest: deque[bool] = field(default_factory=lambda: deque(maxlen=LATEST))
    """Whether each of the last frames was lost, since the loss began at the earliest."""

    def take(self, lost: bool) -> None:
        """Takes the fate of a frame."""
        self.score = max(0.0, self.score + (-WEIGHTS[lost] if self.is_losing else WEIGHTS[lost]))
        if self.score == 0.0 and not self.is_losing:
            self.latest.clear()
        else:
            self.latest.append(lost)
        if self.score >= THRESHOLD:
            self.is_losing, self.score = not self.is_losing, 0.0

    def share(self) -> float:
        """Share of the last frames that were lost; 0 while no loss is known, or nothing arrives at all."""
        if not self.is_losing or all(list(self.latest)[-SILENT:]):
            return 0.0
        return sum(self.latest) / len(self.latest)


class FrameLosses:
    """Losses of our frames, by the port that they leave by.

    Args:
        late_s: time after which a frame that has not arrived is lost.

    """

    def __init__(self, late_s: float) -> None:
        self._late_s = late_s
        self._directions: dict[int, _Direction] = {}

    def sent(self, port: int, sequence: int, now_s: float) -> None:
        """Takes that a frame was sent to a port that can hear it."""
        self._directions.setdefault(port, _Direction()).pending.append(_Frame(sequence, now_s))

    def arrived(self, port: int, sequence: int) -> None:
        """Takes that a frame of a port was heard, wherever."""
        direction = self._directions.get(port)
        for frame in direction.pending if direction else ():
            frame.arrived |= frame.sequence == sequence

    def settle(self, now_s: float) -> None:
        """Takes for lost what should have arrived by now."""
        for direction in self._directions.values():
            frames = direction.pending
            while frames and (frames[0].arrived or now_s - frames[0].sent_s >= self._late_s):
                direction.take(not frames.popleft().arrived)

    def share(self, port: int) -> float:
        """Share of the frames of a port that do not arrive; 0 where no loss is known."""
        direction = self._directions.get(port)
        return direction.share() if direction else 0.0

    def forget(self, ports: Iterable[int]) -> None:
        """Forgets ports that are down or away: what comes up again may be another link."""
        for port in ports:
            self._directions.pop(port, None)
