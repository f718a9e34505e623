"""Draining from Python: who keeps its path until when, and refusals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import anabranch as ab

KEYS = np.random.default_rng(1).integers(0, 2**63, 4_000, dtype=np.uint64)
OLD, NEW = KEYS[:2000], KEYS[2000:]


def at(keys: npt.NDArray[np.uint64], now_ns: int, begins: bool) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
    """Columns of one packet of each connection at one time."""
    return np.full(keys.size, begins), np.full(keys.size, now_ns, dtype=np.uint64)


def test_old_connections_stay_until_the_deadline_and_new_ones_go_elsewhere() -> None:
    splitter = ab.Splitter("min-move", [4, 3, 2])
    connections = ab.Connections(splitter)
    old = connections.pick(OLD, *at(OLD, 0, True))
    assert np.array_equal(old, splitter.pick(OLD))
    assert connections.state_bytes == 0
    splitter.drain(1, now_ns=0, until_ns=100)
    assert splitter.draining == [1]
    new = connections.pick(NEW, *at(NEW, 50, True))
    assert set(new) == {0, 2}
    # A key that a connection before the drain would have on the draining path is one to remember.
    assert connections.state_bytes > 0
    assert np.array_equal(connections.pick(KEYS, *at(KEYS, 99, False)), np.concatenate([old, new]))
    late = connections.pick(KEYS, *at(KEYS, 100, False))
    assert np.array_equal(late[:2000] != old, old == 1)
    assert np.array_equal(late[2000:], new)
    assert connections.state_bytes == 0
    splitter.undrain(1)
    assert splitter.draining == []
    assert np.array_equal(splitter.pick(OLD), old)


def test_a_path_that_drains_and_dies_gets_no_packet() -> None:
    splitter = ab.Splitter("log-rendezvous", [4, 3, 2])
    connections = ab.Connections(splitter)
    old = connections.pick(OLD, *at(OLD, 0, True))
    splitter.drain(1, now_ns=0, until_ns=100)
    splitter.update(up=[True, False, True])
    paths = connections.pick(OLD, *at(OLD, 50, False))
    assert np.array_equal(paths != old, old == 1)
    splitter.update(up=[True, True, True])
    assert splitter.draining == [1]
    assert splitter.asked().tolist() == pytest.approx([4 / 6, 0, 2 / 6])


def test_what_cannot_drain_is_refused() -> None:
    splitter = ab.Splitter("min-move", [4, 3])
    for path, until_ns, error in (
        (0, 5, "until_ns: 5 is not after now, 5; "),
        (2, 9, "drain: no path 3; "),
        (-1, 9, "path: -1 is out of range; "),
        (0, 2**64, "until_ns: 18446744073709551616 is out of range; "),
    ):
        with pytest.raises(ab.AnabranchError, match=f"^{error}"):
            splitter.drain(path, now_ns=5, until_ns=until_ns)
    splitter.drain(0, now_ns=5, until_ns=9)
    with pytest.raises(ab.AnabranchError, match=r"^drain: path 2 is the last that takes connections; "):
        splitter.drain(1, now_ns=5, until_ns=9)
    with pytest.raises(ab.AnabranchError, match=r"^undrain: path 2 does not drain; "):
        splitter.undrain(1)
    with pytest.raises(TypeError, match=r"^splitter: str; give an anabranch\.Splitter"):
        ab.Connections("min-move")  # type: ignore[arg-type]
    with pytest.raises(ab.AnabranchError, match=r"^begins: 1 values for 2000 keys; "):
        ab.Connections(splitter).pick(OLD, np.array([True]), at(OLD, 0, True)[1])
