"""`import anabranch`: arrays in, arrays out, nothing copied, the GIL released."""

from __future__ import annotations

import ipaddress
import struct
import threading
import time
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab


def random_keys(count: int, seed: int = 1) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


def test_the_layout_of_a_tuple() -> None:
    assert ab.FIVE_TUPLE.itemsize == 38
    tuples = ab.five_tuples("10.0.0.1", ["10.0.0.2", "10.1.2.3"], "tcp", 40000, [80, 443])
    packed = struct.pack(
        ">4s12x4s12xHHBB", ipaddress.ip_address("10.0.0.1").packed, bytes([10, 1, 2, 3]), 40000, 443, 6, 4
    )
    assert tuples.dtype == ab.FIVE_TUPLE
    assert tuples[1].tobytes() == packed


def test_addresses_as_numbers_are_those_as_text() -> None:
    numbers = np.array([0x0A000001, 0xC0A80102], np.uint32)
    text = ab.five_tuples(["10.0.0.1", "192.168.1.2"], "10.9.9.9", 17, 1, 2)
    assert np.array_equal(text, ab.five_tuples(numbers, "10.9.9.9", "udp", [1, 1], [2, 2]))
    assert np.array_equal(text, ab.five_tuples(numbers, "10.9.9.9", ["udp", "UDP"], 1, 2))
    six = ab.five_tuples("fd00::1", "fd00::2", "tcp", 1, 2)
    raw = np.frombuffer(ipaddress.ip_address("fd00::1").packed, np.uint8).reshape(1, 16)
    assert np.array_equal(six, ab.five_tuples(raw, "fd00::2", "tcp", 1, 2))


def test_keys_are_the_published_hash_of_the_packed_tuple() -> None:
    # CRC-32 as in zlib over source, destination, ports, protocol without padding.
    import zlib

    tuples = ab.five_tuples("10.0.0.1", "10.0.0.2", "tcp", 40000, 80)
    packed = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + struct.pack(">HHB", 40000, 80, 6)
    assert ab.flow_keys(tuples, "crc32").tolist() == [zlib.crc32(packed)]


@pytest.mark.parametrize("hash_name", [h.name for h in ab.hashes()])
def test_keys_depend_on_seed_and_tuple_only(hash_name: str) -> None:
    tuples = ab.five_tuples("10.0.0.1", "10.0.0.2", "tcp", np.arange(1000, 3000), 80)
    keys = ab.flow_keys(tuples, hash_name, 7)
    assert np.array_equal(keys, ab.flow_keys(tuples.copy(), hash_name, 7))
    assert np.array_equal(keys[::-1], ab.flow_keys(tuples[::-1], hash_name, 7))
    assert np.unique(keys).size > 1


def test_pick_writes_where_it_is_told_and_returns_it() -> None:
    splitter, keys = ab.Splitter("min-move", [4, 3, 2]), random_keys(1000)
    out = np.full(1000, 99, np.uint16)
    assert splitter.pick(keys, out) is out
    assert set(out.tolist()) == {0, 1, 2}
    view = np.zeros(3000, np.uint16)
    splitter.pick(keys, view[1000:2000])
    assert np.array_equal(view[1000:2000], out)
    assert not view[:1000].any()
    assert not view[2000:].any()


def test_weights_of_every_kind_are_exact() -> None:
    keys = random_keys(5000)
    picked = ab.Splitter("maglev", [4, 2, 1]).pick(keys)
    decimals = [Decimal("0.004"), Decimal("2e-3"), Decimal("0.001")]
    kinds: list[Sequence[ab.Weight]] = [["4", "2", "1"], [0.4, 0.2, 0.1], decimals, [4.0, 2, "1"]]
    for weights in kinds:
        assert np.array_equal(picked, ab.Splitter("maglev", weights).pick(keys)), weights
    # 0.1 + 0.2 is not 0.3 in binary; as decimals all three are exact.
    assert ab.Splitter("random", [0.1, 0.2, 0.3]).asked().tolist() == [1 / 6, 2 / 6, 3 / 6]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30).filter(any))
def test_shares_are_the_weights(weights: list[int]) -> None:
    splitter = ab.Splitter("valo", weights)
    shares = splitter.shares()
    assert shares is not None
    assert shares == pytest.approx(np.array(weights) / sum(weights), abs=1e-6)


def test_update_moves_the_minimum_and_keeps_the_old_plan_on_error() -> None:
    splitter, keys = ab.Splitter("min-move", [4, 3, 2]), random_keys(200_000)
    before = splitter.pick(keys)
    splitter.update(up=[True, False, True])
    after = splitter.pick(keys)
    assert np.array_equal(before != after, before == 1)
    with pytest.raises(ab.AnabranchError, match="all are zero"):
        splitter.update(weights=[0, 0, 0])
    assert np.array_equal(splitter.pick(keys), after)
    splitter.update(weights=[4, 3, 2, 5])
    assert splitter.asked().size == 4


def test_explain_changes_nothing() -> None:
    for technique in ab.techniques():
        splitter, keys = ab.Splitter(technique.name, [4, 3, 2]), random_keys(100)
        before = splitter.pick(keys)
        assert splitter.explain(int(keys[0]))
        assert np.array_equal(splitter.pick(keys), before) or technique.granularity == "packet"


def test_the_gil_is_released_while_picking() -> None:
    splitter, keys = ab.Splitter("log-rendezvous", [1] * 64), random_keys(1_000_000)
    splitter.pick(keys[:1000])
    done = threading.Event()
    ticks = 0

    def work() -> None:
        splitter.pick(keys)
        done.set()

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    while not done.is_set():
        time.sleep(0.0005)
        ticks += 1
    worker.join()
    # Held, the main thread could not run before the pick's end.
    assert ticks >= 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s, k: s.pick(k[::2]), "keys: not contiguous"),
        (lambda s, k: s.pick(k, np.zeros(3, np.uint16)), "out: 3 places for 10 keys"),
        (lambda s, k: s.pick(k, np.zeros(20, np.uint16)[::2]), "out: not contiguous"),
        (lambda s, k: s.pick(k, bytes=np.zeros(2, np.uint32)), "bytes: 2 values for 10 keys"),
        (lambda s, k: s.pick(k, times_ns=np.zeros(2, np.uint64)), "times_ns: 2 values"),
        (lambda s, _: s.update(weights=[-1, 2, 3]), "path 1 has weight `-1`, which is negative"),
        (lambda s, _: s.update(up=[True]), "up: 1 flags for 3 paths"),
        (lambda *_: ab.Splitter("min-move", [Fraction(1, 3)]), "is a fraction"),  # type: ignore[list-item]
        (lambda *_: ab.Splitter("min-move", [1, float("nan")]), "path 2 has weight `nan`"),
        (lambda *_: ab.Splitter("min-move", [1], nonsense=3), "has no parameter `nonsense`"),
        (lambda *_: ab.five_tuples("10.0.0", "10.0.0.1", 6, 1, 2), "src: 10.0.0: not an IP address"),
        (lambda *_: ab.five_tuples("10.0.0.1", "::1", 6, 1, 2), "IPv4 beside IPv6"),
        (lambda *_: ab.five_tuples("10.0.0.1", "10.0.0.2", 6, 70000, 2), "sport: not whole numbers from 0 to 65535"),
        (lambda *_: ab.five_tuples("10.0.0.1", "10.0.0.2", "tpc", 7, 2), "proto: tpc: unknown"),
        (lambda *_: ab.five_tuples("10.0.0.1", "10.0.0.2", 6, [1, 2], [1, 2, 3]), "columns of"),
        (lambda *_: ab.flow_keys(np.zeros(3, np.uint8)), "tuples: dtype uint8"),
        (lambda *_: ab.flow_keys(ab.five_tuples("1.1.1.1", "1.1.1.2", 6, 1, 2), "md5"), "md5"),
    ],
)
def test_what_cannot_be_done_is_said(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ab.AnabranchError) as raised:
        call(ab.Splitter("min-move", [4, 3, 2]), random_keys(10))
    assert message in str(raised.value)
    assert isinstance(raised.value, ValueError)


def test_connections_may_be_split_without_keys() -> None:
    tuples = ab.five_tuples("10.0.0.1", "10.0.0.2", "tcp", np.arange(1000, 3000), 80)
    splitter = ab.Splitter("min-move", [4, 3, 2])
    assert np.array_equal(splitter.pick(tuples), splitter.pick(ab.flow_keys(tuples)))


def test_connections_put_together_are_connections() -> None:
    parts = [ab.five_tuples("10.0.0.1", "10.0.0.2", "tcp", np.arange(1000, 1000 + n), 80) for n in (5, 8)]
    together = np.concatenate(parts)
    assert together.dtype != ab.FIVE_TUPLE, "NumPy keeps the byte order now"
    expected = np.concatenate([ab.flow_keys(part) for part in parts])
    splitter = ab.Splitter("min-move", [4, 3, 2])
    for tuples in (together, together.astype(ab.FIVE_TUPLE), np.repeat(together, 1)):
        assert np.array_equal(ab.flow_keys(tuples), expected)
        assert np.array_equal(splitter.pick(tuples), splitter.pick(expected))


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ([5, 6], "list"),
        ((5, 6), "tuple"),
        (7, "int"),
        (None, "NoneType"),
        (np.array([5, 6]), "array of int64, shape (2,)"),
        (np.zeros((2, 2), np.uint64), "array of uint64, shape (2, 2)"),
        (np.zeros(2, np.uint32), "array of uint32, shape (2,)"),
    ],
)
def test_keys_of_another_type_are_a_type_error(keys: object, what: str) -> None:
    with pytest.raises(TypeError, match="give a NumPy array of uint64") as raised:
        ab.Splitter("min-move", [4, 3, 2]).pick(keys)  # type: ignore[arg-type]
    assert str(raised.value).startswith(f"keys: {what};")


@pytest.mark.parametrize("technique", [row.name for row in ab.techniques()])
def test_paths_keep_their_numbers(technique: str) -> None:
    splitter = ab.Splitter(technique, [4, 3, 2])
    with pytest.raises(ab.AnabranchError, match="2 for a group of 3 paths"):
        splitter.update(weights=[1, 2])
    keys = np.arange(1000, dtype=np.uint64)
    assert splitter.pick(keys).max() <= 2
    splitter.update(weights=[4, 3, 0])
    splitter.update(weights=[4, 3, 0, 2])
    assert splitter.pick(keys).max() <= 3


def test_a_table_for_other_programs_picks_as_the_splitter_does() -> None:
    keys = random_keys(50_000)
    shorter = ab.Splitter("min-move", [4, 3, 2], slots=16381)
    for splitter in (shorter, ab.Splitter("min-move", [4, 3, 2]), ab.Splitter("maglev", [4, 3, 2])):
        for up in ([True, True, True], [True, False, True]):
            splitter.update(up=up)
            table = splitter.table()
            assert table is not None
            slots = (keys & np.uint64(0xFFFFFFFF)) % np.uint64(len(table))
            assert np.array_equal(table[slots], splitter.pick(keys))
    assert [ab.Splitter(name, [4, 3, 2]).table() for name in ("log-rendezvous", "wrr")] == [None, None]
