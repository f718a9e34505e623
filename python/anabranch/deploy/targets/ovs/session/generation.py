"""Generations: numbers by which a bridge knows the latest of the controllers that asked to be its primary.

OpenFlow compares them modulo 2^64 (1.5.1 section 6.3.7) and refuses an earlier one. Here one of them is three numbers:
the epoch, which each takeover raises by one; the run of a controller, a random number that decides between two of one
epoch; and the beat, by which a primary shows that it lives.
"""

from __future__ import annotations

from dataclasses import dataclass

_EPOCHS, _RUNS, _BEATS = 1 << 16, 1 << 24, 1 << 24
RUNS = _RUNS - 1
"""Numbers of runs; with the last one, a generation could be the number that stands for none."""
_RELEASED = _BEATS - 1


@dataclass(frozen=True)
class Generation:
    """One generation as its three numbers."""

    epoch: int
    run: int
    beat: int = 0

    @staticmethod
    def of(number: int | None) -> Generation:
        """The numbers that a bridge was given; epoch 0 where it was given none."""
        known = number or 0
        return Generation(known // (_RUNS * _BEATS) % _EPOCHS, known // _BEATS % _RUNS, known % _BEATS)

    @property
    def number(self) -> int:
        """The 64 bits of the message."""
        return (self.epoch * _RUNS + self.run) * _BEATS + self.beat

    @property
    def is_released(self) -> bool:
        """Whether its primary has ended and waits for nobody."""
        return self.beat == _RELEASED

    def next_beat(self) -> Generation:
        """The next sign of life of the same primary; the first of another epoch once in 48 days of 4 a second."""
        if self.beat + 1 == _RELEASED:
            return self.after(self.run)
        return Generation(self.epoch, self.run, self.beat + 1)

    def after(self, run: int) -> Generation:
        """The first generation of the next primary."""
        return Generation((self.epoch + 1) % _EPOCHS, run)

    def released(self) -> Generation:
        """The last generation of a primary that ends."""
        return Generation(self.epoch, self.run, _RELEASED)
