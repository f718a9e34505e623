"""A tiny learner that finds out by itself which of four paths is slow: `python examples/learn.py`.

Its policy keeps a moving average of what it sees of each next hop, and weighs next hops by exp(-a x queue - b x use).
It learns a and b by the cross-entropy method: it tries some pairs, keeps the best, and draws the next ones around them.
With a = b = 0 it is ECMP.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

import anabranch as ab

SCENARIO: dict[str, Any] = {
    "fabric": {"leaves": 2, "spines": 4, "hosts_per_leaf": 8},
    "change": [{"link": "leaf0>spine0", "rate": "2 Gbps"}],
    "traffic": [
        {
            "sizes": {"least": "2 KB", "most": "100 KB"},
            "load": 0.6,
            "duration": "1 ms",
            "pattern": {"pairs": [[source, 8 + target] for source in range(8) for target in range(8)]},
        }
    ],
}
WEIGHTED = {"routing.balance": "weighted", "routing.weights": "equal"}
SCALES = np.array([10.0, 1.0])
"""Units of queue (microseconds) and utilisation."""
SMOOTHING = 0.3


def episode(env: Any, policy: npt.NDArray[np.float64], seed: int) -> tuple[float, float]:
    """Plays one episode; returns the sum of rewards and the mean slowdown."""
    seen, facts = env.reset(seed=seed)
    averages: dict[int, npt.NDArray[np.float64]] = {}
    total, ended = 0.0, False
    while not ended:
        average = averages.setdefault(facts["group"], np.zeros(len(seen)))
        average += SMOOTHING * (seen[:, :2] / SCALES @ policy - average)
        weights = np.exp(-(average - average.min()))
        seen, reward, ended, _, facts = env.step(weights.astype(np.float32))
        total += reward
    return total, facts["slowdown_mean"]


def learn(env: Any, generations: int = 4, tries: int = 8, kept: int = 3) -> npt.NDArray[np.float64]:
    """Learns the policy's two numbers from rewards alone, on two seeds."""
    random = np.random.default_rng(1)
    middle, spread = np.zeros(2), np.ones(2)
    for _ in range(generations):
        policies = np.abs(middle + spread * random.standard_normal((tries, 2)))
        returns = [sum(episode(env, policy, seed)[0] for seed in (1, 2)) for policy in policies]
        best = policies[np.argsort(returns)[-kept:]]
        middle, spread = best.mean(0), best.std(0) + 0.05
    return middle


def main() -> None:
    """Learns, and compares with ECMP on seeds that the learner has not seen."""
    env = ab.Environment(SCENARIO, WEIGHTED, epoch="20 us", reward="queue", switches=["leaf0"])
    began = time.perf_counter()
    policy = learn(env)
    seconds = time.perf_counter() - began
    print(f"learned: a = {policy[0]:.2f}, b = {policy[1]:.2f}; {env.decisions / seconds:,.0f} decisions/s")
    seeds = range(11, 16)
    learned = [episode(env, policy, seed)[1] for seed in seeds]
    ecmp = [episode(env, np.zeros(2), seed)[1] for seed in seeds]
    print(f"mean slowdown on other seeds: learned {np.mean(learned):.2f}, ECMP {np.mean(ecmp):.2f}")


if __name__ == "__main__":
    main()
