"""Loss of frames of our own: when it is noticed, and that it is not where there is none."""

from __future__ import annotations

import math
import random

import pytest

from anabranch.deploy.control.frame_losses import THRESHOLD, WEIGHTS, FrameLosses

PORT = 3


class Sender:
    """Frames of one port, a second apart, some of which are lost."""

    def __init__(self, seed: int) -> None:
        self.losses = FrameLosses(2.5)
        self.sequence = 0
        self._random = random.Random(seed)

    def send(self, frames: int, lost: float) -> float:
        """Sends frames; the share that is known to be lost."""
        for _ in range(frames):
            self.sequence += 1
            self.losses.sent(PORT, self.sequence, float(self.sequence))
            if self._random.random() >= lost:
                self.losses.arrived(PORT, self.sequence)
            self.losses.settle(float(self.sequence))
        return self.losses.share(PORT)


def test_a_sound_link_is_never_taken_for_one_that_loses() -> None:
    for seed in range(100):
        sender = Sender(seed)
        for _ in range(100):
            assert sender.send(10, 0.05) == 0.0


# The most of 20,000 cases of another simulation of the sum, and three frames that are under way.
@pytest.mark.parametrize(("lost", "most"), [(0.5, 60), (1 / 3, 131)])
def test_the_more_is_lost_the_sooner_it_is_noticed(lost: float, most: int) -> None:
    for seed in range(100):
        sender = Sender(seed)
        assert sender.send(50, 0.0) == 0.0
        frames = next(frames for frames in range(most + 1) if sender.send(1, lost))
        assert frames >= THRESHOLD / WEIGHTS[True] - 1
        assert sender.send(200, lost) == pytest.approx(lost, abs=0.25)


def test_a_loss_is_over_when_so_many_frames_arrive_in_a_row() -> None:
    for seed in range(20):
        sender = Sender(seed)
        assert any(sender.send(1, 0.5) for _ in range(60))
        # What is under way has its fate already.
        sender.send(3, 0.0)
        enough = math.ceil(THRESHOLD / -WEIGHTS[False])
        assert sender.send(enough - 7, 0.0) > 0.0
        assert sender.send(12, 0.0) == 0.0


def test_what_arrives_late_is_not_lost_and_nothing_at_all_is_no_share() -> None:
    sender = Sender(1)
    for sequence in range(100):
        sender.losses.sent(PORT, sequence, float(sequence))
        sender.losses.arrived(PORT, sequence - 2 * (sequence % 2))
        sender.losses.settle(float(sequence))
    assert sender.losses.share(PORT) == 0.0
    for sequence in range(100, 200):
        sender.losses.sent(PORT, sequence, float(sequence))
        sender.losses.settle(float(sequence))
    assert sender.losses.share(PORT) == 0.0
