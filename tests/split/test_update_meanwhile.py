"""Updates while a batch is picked, or a trace is read: they hold from then on, and wait for neither."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import anabranch as ab

EXAMPLE = Path(__file__).parents[2] / "examples" / "datacenter.pcap.zst"
UNTOUCHED = 65535
ATTEMPTS = 50
PATHS = 64


@pytest.mark.parametrize("technique", ["log-rendezvous", "valo", "deficit"])
def test_a_failure_holds_within_the_batch_under_way(technique: str) -> None:
    keys = np.random.default_rng(2).integers(0, 2**64, 4_000_000, dtype=np.uint64)
    for _ in range(ATTEMPTS):
        splitter, out = ab.Splitter(technique, [1] * PATHS), np.full(keys.size, UNTOUCHED, np.uint16)
        worker = threading.Thread(target=splitter.pick, args=(keys, out), daemon=True)
        worker.start()
        while out[0] == UNTOUCHED and worker.is_alive():
            pass
        splitter.update(up=[path != 3 for path in range(PATHS)])
        under_way = out[-1] == UNTOUCHED
        worker.join()
        assert out.max() < PATHS
        if under_way:
            # The dead path has its share in front, and nothing from the update on.
            (dead,) = np.nonzero(out == 3)
            assert dead.size > 0
            assert dead[-1] < keys.size - 1000
            assert np.array_equal(splitter.pick(keys[-1000:]), out[-1000:]) or technique == "deficit"
            return
    # A batch that an update waits for is never under way when the update returns.
    pytest.fail(f"no update of {ATTEMPTS} came before the end of the batch")


def test_a_callback_may_update_what_reads_a_trace() -> None:
    splitter = ab.Splitter("deficit", [1, 1])
    updates: list[int] = []

    def add_a_path(packets: int, _done: int, _total: int | None) -> None:
        if not updates:
            splitter.update(weights=[1, 1, 2])
            updates.append(packets)

    trace = ab.generate_trace("datacenter", 100_000, online=[splitter], progress=add_a_path)
    (carried,) = trace.carried
    assert updates
    assert carried.connections.size == 3
    assert int(carried.connections.sum()) == len(trace)
    assert int(carried.packets.sum()) == int(trace.packets.sum())
    assert carried.connections[2] > 0


def test_a_splitter_may_be_shown_a_trace_twice_over() -> None:
    splitter = ab.Splitter("min-move", [4, 3, 2])
    first, second = ab.read_trace(EXAMPLE, online=[splitter, splitter]).carried
    assert np.array_equal(first.packets, second.packets)
