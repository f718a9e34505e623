"""`anabranch.Environment`: a scenario as an environment of gymnasium, for agents that learn to balance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from anabranch._core import Fabric, Run, Scenario
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import choose, install
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.learning.dialogue import Dialogue, Ended
from anabranch.simulate.learning.doors import path_hooks, repath_hooks, weight_hooks
from anabranch.simulate.learning.sight import FEATURES, PATH, REPATH, WEIGHTS, Seen, Sight
from anabranch.simulate.runs.load import UNNAMED, load

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise AnabranchError(f"environment: gymnasium is not installed; {install('gym')}") from None

Reward = Callable[[Seen, Mapping[str, Any]], float]
"""Reward of the last action: from what is seen next, and the facts beside it."""


def queue(seen: Seen, _facts: Mapping[str, Any]) -> float:
    """Minus the largest of the first column: the longest wait at a next hop, or the round trip, in microseconds."""
    return -float(seen[:, 0].max())


def imbalance(seen: Seen, _facts: Mapping[str, Any]) -> float:
    """Minus the distance of the longest wait from the mean one of next hops that are up, in microseconds."""
    up = seen[seen[:, 3] > 0, 0]
    return -float(up.max() - up.mean()) if len(up) else 0.0


def slowdown(_seen: Seen, facts: Mapping[str, Any]) -> float:
    """Minus the mean slowdown of the flows that count when the simulation has ended, zero before."""
    mean = facts.get("slowdown_mean")
    return 0.0 if mean is None else -float(mean)


REWARDS: dict[str, Reward] = {"queue": queue, "imbalance": imbalance, "slowdown": slowdown}


class Environment(gymnasium.Env[Seen, Any]):
    """A scenario in which an agent is the load balancer. An episode is one simulation, a step one decision.

    With `action="weights"` the agent is asked about each group of next hops at the end of each epoch, and an action
    is a weight from 0 to 1 for each. With `action="path"` it is asked for every unit that `routing.granularity` keeps
    together, and an action is the number of a next hop. With `action="repath"` it is asked at the end of each round
    trip of each connection, and an action is 1 for another path or 0 for the same. Groups differ in length: rows and
    weights beyond theirs are ignored. Weights that leave nothing that is up give way to routing's, and a next hop
    that is down to the first that is up. `env.features` names the columns of an observation (docs/learning.md).

    The same seed and the same actions give the same episode. When it ends, the facts have `flows`, `unfinished`,
    `slowdown_mean` and the `run`.

    Args:
        scenario: A TOML file, an `ab.Scenario`, or a dict of the same keys.
        overrides: Keys to change, as in `{"traffic.load": 0.6}`.
        action: `weights`, `path` or `repath`.
        epoch: Time between two questions about a group, with `action="weights"`.
        reward: `queue`, `imbalance`, `slowdown`, or a function of the next observation and the facts beside it.
        switches: Names of the switches that the agent controls; all by default. The others balance without it.

    Raises:
        AnabranchError: gymnasium is not installed, the scenario is wrong, or its routing leaves no choice.

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
        self._source, self._overrides, self._epoch = scenario, dict(overrides or {}), epoch
        self._action = choose(action, list(FEATURES), "action")
        self._reward = reward if callable(reward) else REWARDS[choose(reward, list(REWARDS), "reward")]
        self.features = FEATURES[action]
        resolved = load(scenario, self._overrides)
        self._seed = int(parse_toml(resolved.resolved_toml(), "scenario")["seed"])
        self._topology = resolved.topology()
        self.switches = self._controlled(switches, _choosing(resolved, self._source))
        rows = 1 if action == REPATH else max(self._choices(name) for name in self.switches)
        self.observation_space = spaces.Box(0.0, np.inf, (rows, len(self.features)), np.float32)
        self.action_space: spaces.Space[Any] = {
            WEIGHTS: spaces.Box(0.0, 1.0, (rows,), np.float32),
            PATH: spaces.Discrete(rows),
            REPATH: spaces.Discrete(2),
        }[action]
        self.decisions = 0
        """Number of actions so far, over all episodes."""
        self._dialogue: Dialogue | None = None
        self._last: tuple[Seen, dict[str, Any]]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Begins an episode; `seed` replaces the scenario's, and stays for those after it.

        Raises:
            AnabranchError: the scenario is wrong, or nothing is asked in all of it.

        """
        super().reset(seed=seed, options=options)
        self.close()
        self._seed = self._seed if seed is None else seed
        self._dialogue = Dialogue(self._simulate)
        state = self._dialogue.begin()
        if isinstance(state, Ended):
            self._results(state)
            raise AnabranchError("environment: nothing was asked in the whole simulation; hint: more traffic")
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
        if isinstance(state, Ended):
            self._last = (self._last[0], {**self._last[1], **self._results(state)})
        else:
            self._last = state.seen
        seen, known = self._last
        return seen, self._reward(seen, known), isinstance(state, Ended), False, known

    def close(self) -> None:
        """Ends the episode's simulation, if one goes on."""
        if self._dialogue is not None:
            self._dialogue.stop()
            self._dialogue = None

    def _simulate(self, dialogue: Dialogue) -> Run:
        scenario = load(self._source, {**self._overrides, "seed": self._seed})
        sight = Sight(self._topology, self.observation_space.shape[0])  # type: ignore[index]
        if self._action == WEIGHTS:
            hooks = weight_hooks(dialogue, sight, frozenset(self.switches), self._epoch)
        elif self._action == PATH:
            hooks = path_hooks(dialogue, sight, frozenset(self.switches))
        else:
            hooks = repath_hooks(dialogue)
        return scenario.run(dialogue.progress, **hooks)

    def _results(self, state: Ended) -> dict[str, Any]:
        """Results of an episode, whose simulation has ended."""
        self._dialogue = None
        if state.run is None:
            raise state.error or AnabranchError("environment: the simulation was stopped")
        columns = state.run.flows
        counts, finished = (np.asarray(columns[name], dtype=bool) for name in ("measured", "finished"))
        taken = np.asarray(columns["slowdown"], dtype=np.float64)[counts & finished]
        return {
            "flows": int(counts.sum()),
            "unfinished": int((counts & ~finished).sum()),
            "slowdown_mean": float(taken.mean()) if len(taken) else None,
            "run": state.run,
        }

    def _controlled(self, among: Collection[str] | None, choosing: Collection[str]) -> list[str]:
        """Switches that have a choice, all or those of these names."""
        names = self._topology["nodes"]["name"][int(self._topology["hosts"]) :]
        chosen = names if among is None else [choose(name, names, "switches") for name in among]
        controlled = [name for name in chosen if name in choosing]
        if not controlled:
            raise AnabranchError("switches: none has a choice; hint: a fabric with several paths, or other switches")
        return controlled

    def _choices(self, switch: str) -> int:
        """Largest number of next hops that a group of a switch can have: its links to switches."""
        names, hosts = self._topology["nodes"]["name"], int(self._topology["hosts"])
        ends = zip(self._topology["ports"]["from"], self._topology["ports"]["to"], strict=True)
        return sum(names[source] == switch and target >= hosts for source, target in ends)


def _choosing(scenario: Scenario, source: object) -> set[str]:
    """Switches with several next hops on the fabric as built."""
    file = str(source) if isinstance(source, (str, Path)) else str(getattr(source, "file", UNNAMED))
    ports = scenario.topology()["ports"]
    up, rates = [True] * len(ports["from"]), [int(rate) for rate in ports["rate_bps"]]
    groups = Fabric(scenario.resolved_toml(), file).groups(up, rates, by_capacity=False)
    names = scenario.topology()["nodes"]["name"]
    return {names[switch] for switch, _, members in groups if len(members) > 1}
