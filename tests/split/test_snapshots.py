"""Snapshots of a splitter: another process goes on as this one would, and replicas come to agree."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import anabranch as ab

STATELESS = [row.name for row in ab.techniques() if row.granularity == "stateless"]
OTHERS = [row.name for row in ab.techniques() if row.granularity != "stateless"]
KEYS = np.random.default_rng(38).integers(0, 2**64, 6_000, dtype=np.uint64)

GOES_ON = """
import pickle, sys
import anabranch as ab
splitter = pickle.load(sys.stdin.buffer)
splitter.update(up=[True, True, False])
sys.stdout.write(splitter.revision.digest)
"""


class Named(ab.Splitter):
    """A splitter with something of its own."""

    labels: list[str]


def changed(technique: str) -> ab.Splitter:
    splitter = ab.Splitter(technique, [4, 3, 2])
    splitter.update(weights=[1, 9, 3])
    splitter.update(up=[True, False, True])
    return splitter


@pytest.mark.parametrize("technique", STATELESS)
def test_a_restored_splitter_goes_on_as_its_origin(technique: str) -> None:
    origin = changed(technique)
    for restored in (ab.Splitter.restore(origin.snapshot()), pickle.loads(pickle.dumps(origin))):
        twin = copy.copy(origin)
        for up in ([True, False, True], [True, True, True], [False, True, True]):
            twin.update(up=up)
            restored.update(up=up)
            assert np.array_equal(restored.pick(KEYS), twin.pick(KEYS))
        assert restored.snapshot() == twin.snapshot()


def test_weights_alone_would_move_connections() -> None:
    origin = ab.Splitter("min-move", [4, 3, 2])
    origin.update(weights=[1, 9, 3])
    assert not np.array_equal(ab.Splitter("min-move", [1, 9, 3]).pick(KEYS), origin.pick(KEYS))


def test_another_process_goes_on_from_a_pickle() -> None:
    origin = changed("min-move")
    other = subprocess.run(
        [sys.executable, "-c", GOES_ON], input=pickle.dumps(origin), capture_output=True, check=True, timeout=120
    )
    origin.update(up=[True, True, False])
    assert other.stdout.decode() == origin.revision.digest


def test_a_pickle_keeps_what_a_subclass_adds() -> None:
    origin = Named("min-move", [1, 1])
    origin.labels = ["a", "b"]
    restored = pickle.loads(pickle.dumps(origin))
    assert type(restored) is Named
    assert restored.labels == ["a", "b"]
    assert type(Named.restore(origin.snapshot())) is Named


@pytest.mark.parametrize("technique", OTHERS)
def test_what_remembers_flows_is_refused_with_a_hint(technique: str) -> None:
    with pytest.raises(ab.AnabranchError, match=rf"^snapshot: {technique} remembers flows .*; use min-move"):
        pickle.dumps(ab.Splitter(technique, [1, 1]))


def test_replicas_tell_whether_they_agree_and_come_to() -> None:
    replicas = [ab.Splitter("min-move", [5, 4, 3, 2]) for _ in range(2)]
    for replica, first in zip(replicas, ([False, True, True, True], [True, False, True, True]), strict=True):
        replica.update(up=first)
        replica.update(up=[False, False, True, True])
    one, other = replicas
    assert one.revision.updates == other.revision.updates == 2
    assert one.revision.digest != other.revision.digest
    delta = one.delta(other)
    assert len(delta) < len(one.snapshot()) / 2
    behind = ab.Splitter("min-move", [5, 4, 3, 2])
    with pytest.raises(ab.AnabranchError, match=r"^delta: begins at the state [0-9a-f]{32}, .*; adopt a snapshot"):
        behind.adopt(delta)
    other.adopt(delta)
    behind.adopt(one.snapshot())
    assert one.revision == other.revision == behind.revision
    assert np.array_equal(one.pick(KEYS), other.pick(KEYS))


@pytest.mark.parametrize("snapshot", [b"", b"ABGROUP\0", bytes(100), changed("valo").snapshot()[:-1]])
def test_what_is_no_snapshot_is_refused(snapshot: bytes) -> None:
    with pytest.raises(ab.AnabranchError, match=r"^snapshot: .*; "):
        ab.Splitter.restore(snapshot)


def test_the_whole_state_is_what_decisions_read_and_what_updates_read() -> None:
    splitter = ab.Splitter("min-move", [1] * 8)
    assert splitter.state_bytes == 65_536
    assert splitter.history_bytes == 65_536 + 8 * (8 + 8 + 1)
