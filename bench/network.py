"""Cost of a message through `ab.Network`, by the call that sends it and by the step that waits for it.

`python bench/network.py [MESSAGES]`: the door alone first (messages into the queue), then the simulation of them, then
a closed loop in which each message is sent when the one before has ended. Times are of one thread of Python and one of
the simulation; the least of three rounds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import anabranch as ab

SCENARIO: dict[str, Any] = {"fabric": {"leaves": 4, "spines": 4, "hosts_per_leaf": 16, "link": {"rate": "100 Gbps"}}}
ROUNDS = 3


def least(work: Callable[[], float]) -> float:
    """The least time of a few rounds, in seconds."""
    return min(work() for _ in range(ROUNDS))


def messages(count: int, apart_ps: int) -> tuple[Any, ...]:
    """Hosts, sizes and times of messages of 1 KB, a time apart."""
    random = np.random.default_rng(1)
    src = random.integers(0, 64, count, dtype=np.uint32)
    dst = (src + random.integers(1, 64, count, dtype=np.uint32)) % np.uint32(64)
    return src, dst, np.full(count, 1000, np.uint64), np.arange(count, dtype=np.uint64) * np.uint64(apart_ps)


def main() -> None:
    """Prints a line for each kind of call."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    src, dst, size, at = messages(count, 10_000)

    def batch() -> float:
        with ab.Network(SCENARIO) as network:
            begun = time.perf_counter()
            for part in np.split(np.arange(count), range(10_000, count, 10_000)):
                network.send_many(src[part], dst[part], size[part], at=at[part])
            # What is sent gets to the queue of events with the next step.
            network.run_until(1)
            return time.perf_counter() - begun

    def simulated() -> float:
        with ab.Network(SCENARIO) as network:
            network.send_many(src, dst, size, at=at)
            network.run_until(1)
            begun = time.perf_counter()
            network.run_until(int(at[-1]) + 1_000_000_000)
            assert network.open == 0
            return time.perf_counter() - begun

    few = min(count, 20_000)

    def one_by_one() -> float:
        with ab.Network(SCENARIO) as network:
            begun = time.perf_counter()
            for number in range(few):
                network.send(0, 1 + number % 63, 1000, at=number)
            network.run_until(1)
            return time.perf_counter() - begun

    def closed_loop() -> float:
        with ab.Network(SCENARIO) as network:
            begun = time.perf_counter()
            for number in range(few):
                network.send(0, 1 + number % 63, 1000)
                assert len(network.run_until_any_done()) == 1
            return time.perf_counter() - begun

    for name, work, of in (
        ("send_many, 10,000 each, into the queue", batch, count),
        ("simulation of them, 1 KB each", simulated, count),
        ("send, one call each, into the queue", one_by_one, few),
        ("send, run_until_any_done, one after the other", closed_loop, few),
    ):
        taken = least(work)
        print(f"{name:46} {of:9,} messages  {taken / of * 1e6:8.3f} us each  {of / taken / 1e6:7.3f} M/s")


if __name__ == "__main__":
    main()
