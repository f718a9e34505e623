"""Marks of one run of a controller: it alone can make them, and it believes each once and for a short time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import deque
from dataclasses import replace

from anabranch.deploy.wiring.frame import Mark

REMEMBERED = 16
"""Frames of a port that are remembered: one that is older is believed no more."""
SEQUENCES = 1 << 32


class Marks:
    """Maker and judge of marks.

    The key never leaves the process, so nobody else can say that a frame is of a port of this fabric. Who hears a frame
    can send it on unchanged: within `fresh_s` that cannot be told from a cable, and later it is not believed.

    Args:
        owner: owner of the controller's rules.

    """

    def __init__(self, owner: int) -> None:
        self._owner = owner
        self._run, self._key = secrets.token_bytes(8), secrets.token_bytes(32)
        self._sent: dict[int, deque[tuple[int, float]]] = {}
        """(sequence, moment) of the last frames of each port."""

    def next(self, port: int, now_s: float) -> Mark:
        """The mark of the next frame of a port."""
        sent = self._sent.setdefault(port, deque(maxlen=REMEMBERED))
        sequence = (sent[-1][0] + 1) % SEQUENCES if sent else 0
        sent.append((sequence, now_s))
        mark = Mark(self._owner, self._run, port, sequence)
        return replace(mark, tag=self._tag(mark))

    def is_ours(self, mark: Mark) -> bool:
        """Whether this run made a mark, now or earlier."""
        return (mark.owner, mark.run) == (self._owner, self._run) and hmac.compare_digest(mark.tag, self._tag(mark))

    def is_fresh(self, mark: Mark, now_s: float, fresh_s: float) -> bool:
        """Whether a mark of ours was made within the last `fresh_s` seconds."""
        return any(
            sequence == mark.sequence and now_s - sent_s <= fresh_s
            for sequence, sent_s in self._sent.get(mark.port, ())
        )

    def sent_since(self, port: int, since_s: float, until_s: float) -> int:
        """Number of frames of a port that were sent between two moments; no more than are remembered."""
        return sum(since_s < sent_s <= until_s for _, sent_s in self._sent.get(port, ()))

    def _tag(self, mark: Mark) -> bytes:
        return hashlib.blake2s(mark.signed(), key=self._key, digest_size=16).digest()
