"""A toy serving system in a closed loop: `python examples/serve.py`.

A front end sends requests to workers, which compute for a while and answer. Each time an answer arrives, the scheduler
decides which worker gets the next request: in turn, or the one that owes the fewest answers. Two workers share their
links with other traffic, so the network decides what the scheduler sees.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

import anabranch as ab

SCENARIO: dict[str, Any] = {
    "fabric": {"leaves": 4, "spines": 2, "hosts_per_leaf": 4, "link": {"rate": "10 Gbps", "delay": "1 us"}},
    "traffic": [{"sizes": "1 MB", "load": 0.8, "duration": "20 ms", "pattern": {"pairs": [[4, 8], [5, 9]]}}],
}
FRONT_END, WORKERS = 0, (8, 9, 12, 13)
REQUESTS, UNDER_WAY = 400, 8
PROMPT_BYTES, COMPUTE_PS = 20_000, 30_000_000


class Scheduler:
    """Keeps so many requests under way, and chooses a worker for each."""

    def __init__(self, network: ab.Network, fewest: bool) -> None:
        self.network, self.fewest = network, fewest
        answers = np.random.default_rng(1).integers(2_000, 200_000, REQUESTS)
        self.waiting = deque(enumerate(answers.tolist()))
        self.owed, self.free_ps = dict.fromkeys(WORKERS, 0), dict.fromkeys(WORKERS, 0)
        self.latencies_us: list[float] = []

    def dispatch(self) -> None:
        """Sends the next request."""
        if not self.waiting:
            return
        number, answer_bytes = self.waiting.popleft()
        worker = min(WORKERS, key=self.owed.__getitem__) if self.fewest else WORKERS[number % len(WORKERS)]
        self.owed[worker] += 1
        sent_ps = self.network.now()

        def asked(_: int, time_ps: int, _whole: bool) -> None:
            # One request after the other: this one is computed when those before it are.
            self.free_ps[worker] = max(self.free_ps[worker], time_ps) + COMPUTE_PS
            self.network.send(worker, FRONT_END, answer_bytes, at=self.free_ps[worker], on_done=answered)

        def answered(_: int, time_ps: int, _whole: bool) -> None:
            self.owed[worker] -= 1
            self.latencies_us.append((time_ps - sent_ps) / 1e6)
            self.dispatch()

        self.network.send(FRONT_END, worker, PROMPT_BYTES, on_done=asked)


def serve(fewest: bool) -> list[float]:
    """Serves all requests; returns the time that each took, in microseconds."""
    with ab.Network(SCENARIO) as network:
        scheduler = Scheduler(network, fewest)
        for _ in range(UNDER_WAY):
            scheduler.dispatch()
        while network.open:
            network.run_until_any_done()
        return scheduler.latencies_us


def main() -> None:
    """Prints both schedulers side by side."""
    for name, fewest in (("in turn", False), ("fewest owed", True)):
        taken = serve(fewest)
        median, tail = np.percentile(taken, [50, 99])
        print(f"{name:12} {len(taken)} requests  median {median:6.1f} us  p99 {tail:6.1f} us")


if __name__ == "__main__":
    main()
