"""The environment of gymnasium: its contract, its facts against the simulator's, and a learner that beats ECMP."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import anabranch as ab
from anabranch import AnabranchError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "learning.md"
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "learn.py"
SCENARIO: dict[str, Any] = {
    "fabric": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"sizes": "20 KB", "load": 0.5, "duration": "300 us"}],
}
EQUAL = {"routing.balance": "weighted", "routing.weights": "equal"}
ACTIONS = {"weights": EQUAL, "path": {}, "repath": {}}


def environment(action: str, **more: Any) -> Any:
    return ab.Environment(SCENARIO, ACTIONS[action], action=action, epoch="20 us", **more)


def play(env: Any, seed: int, action: Any) -> tuple[list[Any], list[float], dict[str, Any]]:
    """An episode of one action: observations, rewards and the last facts."""
    seen, facts = env.reset(seed=seed)
    observations, rewards, ended = [seen], [], False
    while not ended:
        seen, reward, ended, truncated, facts = env.step(action)
        assert not truncated
        observations.append(seen)
        rewards.append(reward)
    return observations, rewards, facts


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.filterwarnings("ignore:.*A Box observation space maximum value is infinity.*:UserWarning")
def test_gymnasium_accepts_it(action: str) -> None:
    check_env(environment(action), skip_render_check=True)


@pytest.mark.parametrize(("action", "same"), [("weights", np.ones(2)), ("path", 1), ("repath", 0)])
def test_the_same_seed_and_actions_are_the_same_episode(action: str, same: Any) -> None:
    env = environment(action)
    first, again, other = (play(env, seed, same) for seed in (3, 3, 4))
    assert np.array_equal(first[0], again[0])
    assert first[1] == again[1]
    assert first[2]["slowdown_mean"] == again[2]["slowdown_mean"]
    assert len(first[0]) != len(other[0]) or not np.array_equal(first[0], other[0])
    assert env.decisions == len(first[1]) + len(again[1]) + len(other[1])


def test_equal_weights_are_the_simulators_own_run(tmp_path: Path) -> None:
    _, _, facts = play(environment("weights"), 5, np.ones(2))
    run = ab.run(SCENARIO, {**EQUAL, "seed": 5}, runs=tmp_path)
    assert np.array_equal(facts["run"].flows["fct_ns"], run.flows["fct_ns"].to_numpy())
    assert facts["slowdown_mean"] == pytest.approx(run.flows["slowdown"].mean())
    assert (facts["flows"], facts["unfinished"]) == (run.flows.height, 0)


def test_the_agents_choices_are_what_happens() -> None:
    _, _, facts = play(environment("path"), 1, 1)
    sent = {(int(a), int(b)): 0 for a, b in zip(facts["run"].ports["from"], facts["run"].ports["to"], strict=True)}
    for a, b, packets in zip(*(facts["run"].ports[name] for name in ("from", "to", "sent_bytes")), strict=True):
        sent[int(a), int(b)] += int(packets)
    # Nodes 0 to 3 are hosts, 4 and 5 leaves, 6 and 7 spines: data go over the second spine alone.
    assert sent[4, 7] > 10 * sent[4, 6]
    weighted = environment("weights")
    _, _, facts = play(weighted, 1, np.array([1.0, 0.0]))
    ports = facts["run"].ports
    ends = zip(ports["from"], ports["to"], ports["sent_bytes"], strict=True)
    away = sum(int(sent_bytes) for source, target, sent_bytes in ends if (source, target) == (4, 7))
    assert away == 0


def test_observations_are_in_their_units() -> None:
    observations, rewards, _ = play(environment("weights"), 2, np.ones(2))
    seen = np.array(observations[:-1])
    assert environment("weights").features == ("queue_us", "utilisation", "age", "up")
    assert seen[0, :, 1].tolist() == [0.0, 0.0]
    # A frame counts when it begins: its end may lie in the next epoch.
    assert 0.05 < seen[..., 1].max() < 1.1
    assert (seen[..., 3] == 1).all()
    assert seen[..., 2].max() > 1
    assert (seen[..., 2] == np.floor(seen[..., 2])).all()
    assert rewards[:-1] == [-float(one[:, 0].max()) for one in observations[1:-1]]
    round_trips, _, _ = play(environment("repath"), 2, 0)
    # Four links of 1 us there and back, and serialisation.
    assert min(one[0, 0] for one in round_trips) > 8


def test_only_the_named_switches_are_asked() -> None:
    env = environment("weights", switches=["leaf1"])
    _, facts = env.reset(seed=1)
    asked = {facts["switch"]}
    ended = False
    while not ended:
        _, _, ended, _, facts = env.step(np.ones(2))
        asked.add(facts["switch"])
    assert asked == {"leaf1"}


def test_rewards_can_be_chosen() -> None:
    _, rewards, facts = play(environment("path", reward="slowdown"), 1, 0)
    assert set(rewards[:-1]) == {0.0}
    assert rewards[-1] == -facts["slowdown_mean"]
    _, rewards, _ = play(environment("weights", reward=lambda seen, _: float(seen.shape[0])), 1, np.ones(2))
    assert set(rewards) == {2.0}


def test_an_episode_can_be_left_and_weights_of_nothing_are_routings() -> None:
    env = environment("weights")
    for _ in range(3):
        env.reset(seed=1)
        env.step(np.zeros(2))
    env.close()
    with pytest.raises(AnabranchError, match="no episode goes on; call reset first"):
        env.step(np.ones(2))
    zero, one = (play(env, 1, np.full(2, weight))[2]["slowdown_mean"] for weight in (0.0, 1.0))
    assert zero == one


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"action": "paths"}, "action: paths: unknown; did you mean path"),
        ({"reward": "speed"}, "reward: speed: unknown; use one of queue, imbalance, slowdown"),
        ({"switches": ["leaf7"]}, "switches: leaf7: unknown; did you mean leaf"),
        ({"switches": ["spine0"]}, "switches: none has a choice; hint: "),
    ],
)
def test_an_error_names_the_argument(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AnabranchError, match=message):
        ab.Environment(SCENARIO, **keys)


def test_an_error_of_the_simulation_reaches_the_agent() -> None:
    with pytest.raises(AnabranchError, match="the table `uniform` takes all members alike"):
        ab.Environment(SCENARIO).reset()


def test_the_block_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(PAGE.parents[1])
    names: dict[str, Any] = {}
    exec(compile(block, str(PAGE), "exec"), names)
    assert names["facts"]["flows"] > 0


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("learn", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_tiny_learner_beats_ecmp_on_one_slow_link(tmp_path: Path) -> None:
    learn = example()
    env = ab.Environment(learn.SCENARIO, learn.WEIGHTED, epoch="20 us", switches=["leaf0"])
    policy = learn.learn(env, generations=2, tries=6)
    for seed in (21, 22, 23):
        _, learned = learn.episode(env, policy, seed)
        ecmp = ab.run(learn.SCENARIO, {"routing.balance": "ecmp", "seed": seed}, runs=tmp_path)
        mean = ecmp.flows["slowdown"].mean()
        assert isinstance(mean, float)
        assert learned < 0.7 * mean, f"seed {seed}"
