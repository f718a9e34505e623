"""VALO's evaluation in a small: theory of its bands, real connections through a real switch, the ideal's rules."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from anabranch import Splitter
from anabranch.files.project.studies.valo.lab import accuracy, completion, fig10
from anabranch.files.project.studies.valo.lab.accuracy import KERNEL_SCHEMES, SCHEMES
from anabranch.files.project.studies.valo.lab.expectation import expectation
from anabranch.files.project.studies.valo.lab.fabric import fabric
from anabranch.files.project.studies.valo.lab.kernel import kernel_fabric
from anabranch.files.project.studies.valo.lab.place import EDGES
from anabranch.files.project.studies.valo.lab.table import SCORING_PCT
from anabranch.lab.traffic import paced_sender
from anabranch.lab.traffic.paced_sender import LostError, PacedSender
from anabranch.split.stats.mape import mape, mape_floor
from support.lab_fixture import lab_of, need_kernel_lab, need_lab, new_name

CONNECTIONS = 3_000


def test_an_exact_splitter_is_expected_at_the_floor_and_a_wrong_one_at_its_error() -> None:
    asked = np.array([0.5, 0.3, 0.2])
    exact = expectation([asked] * 4, [asked] * 4, 40_000)
    assert exact.mean == pytest.approx(exact.floor) == pytest.approx(mape_floor(asked, 40_000))
    assert exact.low < exact.mean < exact.high
    assert exact.has(exact.mean)
    assert not exact.has(1.5 * exact.high)
    # More trials, a narrower band.
    assert expectation([asked] * 40, [asked] * 40, 40_000).high < exact.high
    shares = np.array([0.7, 0.2, 0.1])
    wrong = expectation([asked], [shares], 10**9)
    assert wrong.mean == pytest.approx(mape(asked, shares), rel=1e-3)
    assert wrong.low == pytest.approx(wrong.high, rel=1e-2)


@pytest.mark.parametrize("paths", [2, 4])
def test_what_is_said_of_scoring_over_all_weights(paths: int) -> None:
    random = np.random.Generator(np.random.PCG64(3))
    draws = [random.integers(1, 101, paths).tolist() for _ in range(400)]
    errors = [mape(Splitter("random", w).asked(), _scored(w)) for w in draws]
    assert np.mean(errors) == pytest.approx(SCORING_PCT[paths], abs=4 * np.std(errors) / 20)


def _scored(weights: list[int]) -> list[float]:
    shares = Splitter("scoring", weights).shares()
    assert shares is not None
    return list(shares)


def test_real_connections_split_as_theory_has_it_under_every_scheme() -> None:
    need_lab()

    async def one_trial() -> accuracy.Trial:
        async with fabric(new_name(), 3, 1, fig10.BUFFER) as made:
            with accuracy.senders([made]) as sending:
                return await accuracy.measure([(made, list(SCHEMES))], sending, (3, 0), CONNECTIONS, lambda: None)

    trial = asyncio.run(one_trial())
    assert set(trial.counts) == set(SCHEMES)
    assert all(sum(counts) == CONNECTIONS for counts in trial.counts.values())
    lines = {line.scheme: line for line in accuracy.lines([trial], CONNECTIONS)}
    # Switch and draws are the same each time: so are these counts.
    assert [scheme for scheme, line in lines.items() if not line.as_expected] == []
    # Scoring's error is far beyond chance, so that the lines above can fail.
    assert lines["hash"].expected.low > 2 * lines["hash-gravity"].expected.high


def test_datapaths_in_the_kernel_split_as_theory_has_it() -> None:
    need_kernel_lab()

    async def one_trial() -> accuracy.Trial:
        with kernel_fabric(new_name(), 3, 1, fig10.BUFFER) as made, accuracy.senders([made]) as sending:
            return await accuracy.measure([(made, list(KERNEL_SCHEMES))], sending, (3, 0), CONNECTIONS, lambda: None)

    trial = asyncio.run(one_trial())
    assert set(trial.counts) == set(KERNEL_SCHEMES)
    assert all(sum(counts) == CONNECTIONS for counts in trial.counts.values())
    lines = {line.scheme: line for line in accuracy.lines([trial], CONNECTIONS)}
    assert [scheme for scheme, line in lines.items() if not line.as_expected] == []
    # Weights as they are miss by as much in the kernel as in Open vSwitch; gravity weights are at the floor.
    assert lines["kernel-scoring"].expected.low > 2 * lines["kernel-gravity"].expected.high
    for scheme in ("kernel-gravity", "kernel-slots", "kernel-rendezvous"):
        assert lines[scheme].expected.mean == pytest.approx(lines[scheme].expected.floor, rel=0.05)


def test_the_ideal_pins_every_connection_whatever_the_split(monkeypatch: pytest.MonkeyPatch) -> None:
    need_lab()
    monkeypatch.setattr(completion, "SCHEMES", {"hash": "scoring"})
    monkeypatch.setattr(completion, "DRAIN_NS", 6_000_000_000)

    async def sent() -> tuple[completion.Trial, list[int], list[int]]:
        async with fabric(new_name(), 2, 1, 100) as made:
            split, carried = made.split, []

            async def all_to_the_first(recipe: str, _: list[int], pins: object = None) -> None:
                carried.append(await made.transmitted(EDGES[0], 2))
                await split(recipe, [1, 0], pins)  # type: ignore[arg-type]

            monkeypatch.setattr(made, "split", all_to_the_first)
            trial = await completion.measure(made, [], "web-search", 0, 2, 40_000_000, 400, lambda _: None)
            carried.append(await made.transmitted(EDGES[0], 2))
            ideal, scheme = (
                [after - before for before, after in zip(*pair, strict=True)] for pair in pairwise(carried)
            )
            return trial, ideal, scheme

    trial, ideal, scheme = asyncio.run(sent())
    assert trial.flows > 10
    assert trial.compared > trial.flows / 2
    assert trial.fct_ms["ideal"] > 0
    # The group sends all to the first path; only pins can have sent something over the second.
    assert min(ideal) > 10
    assert scheme[1] == 0
    assert scheme[0] > 10


def test_frames_that_nobody_forwards_are_told_as_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paced_sender, "STALL_S", 0.1)
    with lab_of(tmp_path, 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1') as lab:
        source, target = lab.hosts["host0"], lab.hosts["host1"]
        with (
            PacedSender((source.namespace, source.interface), (target.namespace, target.interface)) as sender,
            pytest.raises(LostError, match="eth0: 5 of 5 frames lost"),
        ):
            sender.send(np.zeros((5, 60), np.uint8))
