"""`anabranch.Environment`: a scenario as an environment of gymnasium, for agents that learn to balance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anabranch._core import Group, Member, Packet, Run, View
from anabranch.errors import AnabranchError
from anabranch.hints import choose
from anabranch.learning.dialogue import Dialogue, Ended, Question, Stopped
from anabranch.learning.sight import FEATURES, PATH, WEIGHTS, Seen, Sight, facts
from anabranch.own.scheme import integers
from anabranch.runs.load import load

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise AnabranchError("environment: gymnasium is not installed; pip install 'anabranch[gym]'") from None

Reward = Callable[[Seen, Mapping[str, Any]], float]
"""Reward of the last action: from what was seen next, and the facts beside it."""


def queue(seen: Seen, facts: Mapping[str, Any]) -> float:
    """Minus the longest wait at a next hop, in microseconds."""
    return -float(seen[:, 0].max())


def imbalance(seen: Seen, facts: Mapping[str, Any]) -> float:
    """Minus the distance of the longest wait from the mean one of next hops that are up, in microseconds."""
    up = seen[seen[:, 3] > 0, 0]
    return -float(up.max() - up.mean()) if len(up) else 0.0


def slowdown(seen: Seen, facts: Mapping[str, Any]) -> float:
    """Minus the mean slowdown of finished flows when the simulation has ended, zero before."""
    found = facts.get("slowdown_mean")
    return 0.0 if found is None else -float(found)


REWARDS: dict[str, Reward] = {"queue": queue, "imbalance": imbalance, "slowdown": slowdown}


class Environment(gymnasium.Env[Seen, Any]):
    """A scenario in which an agent is the load balancer of switches. An episode is one simulation.

    With `action="weights"` the agent is asked about a group of next hops at the end of each epoch, and an action is a
    weight from 0 to 1 for each; with `action="path"` it is asked for every unit that `routing.granularity` keeps
    together, and an action is the number of a next hop. Groups differ in length: rows and weights beyond are ignored.
    An action that no next hop that is up can follow leaves routing's weights, or takes the first one that is up.

    The same seed and the same actions give the same episode.

    Args:
        scenario: A TOML file, an `ab.Scenario`, or a dict of the same keys.
        overrides: Keys to change, as in `{"traffic.load": 0.6}`.
        action: `weights` or `path`.
        epoch: Time between two questions about a group, with `action="weights"`.
        reward: `queue`, `imbalance`, `slowdown`, or a function of the next observation and its facts.
        switches: Names of the switches that the agent controls; all by default. The others keep the scenario's weights.

    Raises:
        AnabranchError: the scenario is wrong, or its routing leaves no choice.

    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: str | Path | Mapping[str, Any],
        overrides: Mapping[str, Any] | None = None,
        *,
        action: str = WEIGHTS,
        epoch: str = "100 us",
        reward: str | Reward = "queue",
        switches: Collection[str] | None = None,
    ) -> None:
        self._source, self._overrides = scenario, dict(overrides or {})
        self._action = choose(action, (WEIGHTS, PATH), "action")
        self._reward = reward if callable(reward) else REWARDS[choose(reward, list(REWARDS), "reward")]
        self._epoch = epoch
        self.features = FEATURES[self._action]
        resolved = load(scenario, self._overrides)
        self._topology = resolved.topology()
        self.switches = self._controlled(switches)
        self._rows = max(self._choices(name) for name in self.switches)
        self._seed: int = int(resolved_seed(resolved.resolved_toml()))
        self.observation_space = spaces.Box(0.0, np.inf, (self._rows, len(self.features)), np.float32)
        self.action_space = (
            spaces.Box(0.0, 1.0, (self._rows,), np.float32) if action == WEIGHTS else spaces.Discrete(self._rows)
        )
        self._dialogue: Dialogue | None = None
        self.decisions = 0
        """Number of actions taken over all episodes."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Begins an episode; `seed` replaces the scenario's, and stays for the next one.

        Raises:
            AnabranchError: the scenario is wrong, or nothing is asked in all of it.

        """
        super().reset(seed=seed)
        self.close()
        self._seed = self._seed if seed is None else seed
        self._dialogue = Dialogue(self._simulate)
        state = self._dialogue.begin()
        if isinstance(state, Ended):
            self._ended(state)
            raise AnabranchError(
                "environment: the simulation ended before anything was asked; hint: a shorter epoch, or more traffic"
            )
        self._last = state.seen
        return self._last

    def step(self, action: Any) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Takes an action, and simulates until the next question or the end.

        Raises:
            AnabranchError: no episode goes on, or the simulation failed.

        """
        if self._dialogue is None:
            raise AnabranchError("environment: no episode goes on; call reset first")
        self.decisions += 1
        state = self._dialogue.answer(action)
        ended = isinstance(state, Ended)
        if isinstance(state, Ended):
            self._last = (self._last[0], {**self._last[1], **self._ended(state)})
        else:
            self._last = state.seen
        seen, known = self._last
        return seen, self._reward(seen, known), ended, False, known

    def close(self) -> None:
        """Ends the episode's simulation, if one goes on."""
        if self._dialogue is not None:
            self._dialogue.stop()
            self._dialogue = None

    def _simulate(self, dialogue: Dialogue) -> Run:
        scenario = load(self._source, {**self._overrides, "seed": self._seed})
        sight = Sight(self._topology, self._rows, _nanoseconds(self._epoch))
        controlled = frozenset(self.switches)
        if self._action == PATH:

            def pick(packet: Packet, view: View) -> int:
                seen = sight.of_view(view)
                up = [member for member in range(len(view.members)) if view.up(member)]
                if view.switch not in controlled or len(up) < 2:
                    chosen = up[int(view.random() * len(up))] if up else 0
                else:
                    asked = int(dialogue.ask((seen, facts(view, packet))))
                    chosen = asked if asked in up else up[0]
                sight.decided(view, chosen)
                return chosen

            return scenario.run(dialogue.progress, pick=pick)

        def weights(group: Group, stats: Sequence[Member]) -> list[int] | None:
            seen = sight.of_group(group, stats)
            if group.switch not in controlled:
                return None
            given = np.asarray(dialogue.ask((seen, facts(group))), dtype=np.float64)[: len(stats)]
            usable = [weight > 0 and member.up for weight, member in zip(given, stats, strict=True)]
            return integers(given.tolist()) if any(usable) else list(group.weights)

        return scenario.run(dialogue.progress, weights=weights, epoch=self._epoch)

    def _ended(self, state: Ended) -> dict[str, Any]:
        """Results of an episode: flows that count, those unfinished, mean slowdown, and the run itself."""
        self._dialogue = None
        if state.error is not None and not isinstance(state.error, Stopped):
            raise state.error
        if state.run is None:
            return {}
        columns = state.run.flows
        counts, finished = (np.asarray(columns[name], dtype=bool) for name in ("measured", "finished"))
        taken = np.asarray(columns["slowdown"], dtype=np.float64)[counts & finished]
        return {
            "flows": int(counts.sum()),
            "unfinished": int((counts & ~finished).sum()),
            "slowdown_mean": float(taken.mean()) if len(taken) else None,
            "run": state.run,
        }

    def _controlled(self, wanted: Collection[str] | None) -> list[str]:
        names = self._topology["nodes"]["name"][int(self._topology["hosts"]) :]
        for name in wanted or ():
            choose(name, names, "switches")
        found = [name for name in (names if wanted is None else wanted) if self._choices(name) > 1]
        if not found:
            raise AnabranchError("environment: no switch has a choice; hint: a fabric with several paths, or other switches")
        return found

    def _choices(self, switch: str) -> int:
        """Largest number of next hops that a group of a switch can have: its links to switches."""
        names, hosts = self._topology["nodes"]["name"], int(self._topology["hosts"])
        ends = zip(self._topology["ports"]["from"], self._topology["ports"]["to"], strict=True)
        return sum(names[source] == switch and target >= hosts for source, target in ends)


def resolved_seed(text: str) -> int:
    """Seed of a resolved scenario."""
    return next(int(line.partition("=")[2]) for line in text.splitlines() if line.startswith("seed ="))


def _nanoseconds(epoch: str) -> float:
    number, _, unit = epoch.strip().partition(" ")
    scales = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
    try:
        return float(number) * scales[unit.strip()]
    except (KeyError, ValueError):
        raise AnabranchError(f'epoch: {epoch}: no time; give one such as "100 us"') from None
