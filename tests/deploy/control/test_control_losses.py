"""Loss that only the counters of both ends show: never where there is none, whenever switches are read, and soon."""

from __future__ import annotations

import random

import pytest

from anabranch.deploy.control import losses
from anabranch.deploy.control.losses import WINDOWS, Losses

A, B = 3, 8
RATE_BPS = 1_000_000


class Link:
    """A link that loses a share of what leaves by A, and two switches that are read each second or so."""

    def __init__(self, seed: int, lost: float, *, late_s: float = 0.4) -> None:
        self.losses = Losses([(A, B)], 0.5)
        self.lost, self._late_s = lost, late_s
        self._random = random.Random(seed)
        self._next_s = [self._random.random(), self._random.random()]
        self._sent, self._got, self._at = [0.0], [0.0], [0.0]

    def read(self, rounds: int) -> float:
        """Reads both switches so often, each at moments of its own; the share that is known to be lost."""
        for _ in range(2 * rounds):
            end = self._next_s.index(min(self._next_s))
            moment = self._next_s[end]
            self._next_s[end] += self._random.uniform(0.5, 1.5)
            # A counter is read some time before its switch has answered.
            sent, got = self._until(moment - self._random.uniform(0, self._late_s))
            self.losses.read((A, B)[end], moment, *((sent, 77) if end == 0 else (12, got)))
        return self.losses.share(A)

    def _until(self, moment: float) -> tuple[int, int]:
        """What had left and arrived by then: at a rate that changes all the time."""
        while self._at[-1] < moment:
            size = self._random.choice((0.0, 1.0, 5.0)) * RATE_BPS / 8 * 0.05
            self._at.append(self._at[-1] + 0.05)
            self._sent.append(self._sent[-1] + size)
            self._got.append(self._got[-1] + size * (1 - self.lost))
        place = sum(at <= moment for at in self._at[-100:]) + max(0, len(self._at) - 100) - 1
        return int(self._sent[place]), int(self._got[place])


def test_what_arrives_is_never_taken_for_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not by a byte: the bound holds by itself, and the least share is for cards that count otherwise.
    monkeypatch.setattr(losses, "LEAST_SHARE", 1e-9)
    for seed in range(200):
        link = Link(seed, 0.0)
        for _ in range(3 * WINDOWS[0]):
            assert link.read(1) == 0.0


def test_half_is_seen_in_the_short_window_and_a_sixth_in_the_long_one() -> None:
    for seed in range(20):
        half = Link(seed, 0.5)
        assert 0.2 < half.read(WINDOWS[0] + 8) <= 0.5 + 1e-6
        sixth = Link(seed, 1 / 6)
        sixth.read(WINDOWS[1] + 16)
        assert 0.05 <= sixth.losses.share(A) <= 1 / 6 + 1e-6
        # The other way nothing is lost, and what is mended is seen to be.
        assert sixth.losses.share(B) == 0.0
        sixth.lost = half.lost = 0.0
        assert half.read(3 * WINDOWS[1]) == sixth.read(3 * WINDOWS[1]) == 0.0


def test_ports_that_are_made_anew_or_do_not_count_lose_nothing() -> None:
    ports = Losses([(A, B)], 0.5)
    for second in range(40):
        ports.read(A, second, 100_000 * second, 0)
        # This switch says 0 of what it got.
        ports.read(B, second + 0.6, 0, 0)
    assert ports.share(A) == 0.0
    for second in range(40, 60):
        ports.read(A, second, 100_000 * second, 0)
        ports.read(B, second + 0.6, 0, 50_000 * (second - 39))
    assert ports.share(A) > 0.3
    ports.read(B, 60.6, 0, 100)
    assert ports.share(A) == 0.0
