"""Loss on links that both ends take for sound: what one end has sent and the other has not got, by their counters.

The counters of two switches are read at different moments. So the loss is a lower bound that holds whatever the moments
are: of what was sent between two readings, what the other end got between an earlier and a later one is the most that
arrived.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

WINDOWS = (8, 64)
"""Readings that a loss is measured over: the first notices soon, the second notices little loss."""
LEAST_SHARE = 0.05
"""Below this a loss is none: a card that joins segments counts fewer headers than were sent (LRO; 66 of 1514 bytes)."""
LEAST_BYTES = 10_000
"""Bytes sent, at least, for a share to say something: a link that comes up loses its first frames."""
KEPT = 4
"""Readings of a port that are kept: those of the other end are between them."""


@dataclass(frozen=True)
class _Reading:
    read_s: float
    sent_bytes: int
    got_bytes: int


@dataclass
class _Window:
    """A measurement of one direction under way, and the result of the one before."""

    sent_bytes: int = 0
    got_bytes: int = 0
    """The counters of both ends when it began."""
    readings: int | None = None
    """Readings since then; None where it has not begun."""
    share: float = 0.0


@dataclass
class _Direction:
    """What leaves by one port and should arrive at another."""

    begin: tuple[int, int] | None = None
    """Sent, and got somewhat earlier: the counters of a window that begins now."""
    windows: tuple[_Window, ...] = field(default_factory=lambda: tuple(_Window() for _ in WINDOWS))


class Losses:
    """Losses of all links, by the port that packets leave by.

    Args:
        links: the two ports of each link, by our numbers.
        apart_s: time that lies between two readings that are compared, at least; switches answer within it.

    """

    def __init__(self, links: Iterable[Sequence[int]], apart_s: float) -> None:
        self._other: Mapping[int, int] = {port: other for a, b in links for port, other in ((a, b), (b, a))}
        self._apart_s = apart_s
        self._readings: dict[int, deque[_Reading]] = {}
        self._directions: dict[int, _Direction] = {}

    def read(self, port: int, read_s: float, sent_bytes: int, got_bytes: int) -> None:
        """Takes a reading of a port's counters, which began at 0 when the port did."""
        kept = self._readings.setdefault(port, deque(maxlen=KEPT))
        if kept and (sent_bytes < kept[-1].sent_bytes or got_bytes < kept[-1].got_bytes):
            self.forget([port])
            kept = self._readings.setdefault(port, deque(maxlen=KEPT))
        other = self._other[port]
        before = self._before(other, read_s)
        kept.append(_Reading(read_s, sent_bytes, got_bytes))
        # A switch that does not count what it got says 0 for ever.
        if before is not None and before.got_bytes:
            self._directions.setdefault(port, _Direction()).begin = sent_bytes, before.got_bytes
        if before is not None and other in self._directions:
            self._take(self._directions[other], before.sent_bytes, got_bytes)

    def share(self, port: int) -> float:
        """Share of the bytes that left by a port and did not arrive, at least; 0 where none is known to be lost."""
        direction = self._directions.get(port)
        return max((window.share for window in direction.windows), default=0.0) if direction else 0.0

    def forget(self, ports: Iterable[int]) -> None:
        """Forgets ports that were made anew, or cannot be read any more."""
        for port in ports:
            self._readings.pop(port, None)
            for end in (port, self._other[port]):
                self._directions.pop(end, None)

    def _before(self, port: int, read_s: float) -> _Reading | None:
        """The last reading of a port that is surely before a moment."""
        kept = self._readings.get(port, ())
        return next((one for one in reversed(kept) if one.read_s <= read_s - self._apart_s), None)

    @staticmethod
    def _take(direction: _Direction, sent_bytes: int, got_bytes: int) -> None:
        for window, length in zip(direction.windows, WINDOWS, strict=True):
            if window.readings is not None:
                window.readings += 1
                if window.readings < length:
                    continue
                sent = sent_bytes - window.sent_bytes
                lost = sent - (got_bytes - window.got_bytes)
                share = lost / sent if sent >= LEAST_BYTES else 0.0
                window.share = share if share >= LEAST_SHARE else 0.0
            if direction.begin is not None:
                window.sent_bytes, window.got_bytes = direction.begin
                window.readings = 0
