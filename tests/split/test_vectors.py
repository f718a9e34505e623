"""The vectors of `vectors/split`: Python does what they say, and published rules say the same."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from heapq import heapify, heapreplace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import anabranch as ab

FOLDER = Path(__file__).resolve().parents[2] / "vectors" / "split"
FILES = sorted(path for path in FOLDER.glob("*.txt") if path.stem != "requirements")
CHANGES = {"update", "start", "drain", "undrain"}


class Change(NamedTuple):
    """Members as a line of a history has them."""

    weights: list[int]
    up: list[bool]
    ages_ns: list[int] | None


def members(words: list[str]) -> Change:
    """Members of the words behind `update` or `start`."""
    ages = None
    if "of" in words:
        of = words.index("of")
        ages, words = [int(age) for age in words[words.index("ages") + 1 : of]], words[of + 1 :]
    at = words.index("up")
    return Change([int(word) for word in words[:at]], [word == "1" for word in words[at + 1 :]], ages)


def apply(splitter: ab.Splitter, verb: str, words: list[str]) -> None:
    """Does what a line of a history says."""
    if verb == "drain":
        splitter.drain(int(words[0]), now_ns=0, until_ns=1)
    elif verb == "undrain":
        splitter.undrain(int(words[0]))
    elif verb == "update":
        splitter.update(*members(words)[:2])
    else:
        change = members(words)
        assert change.ages_ns is not None
        splitter.slow_start(
            [age / 1e9 for age in change.ages_ns],
            window_s=int(words[0]) / 1e9,
            aggression=float(words[1]),
            min_percent=float(words[2]),
            weights=change.weights,
            up=change.up,
        )


def digest(entries: list[int]) -> int:
    """FNV-1a of 64 bits over entries of two bytes."""
    value = 0xCBF29CE484222325
    for byte in np.array(entries, dtype="<u2").tobytes():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def joined(numbers: object) -> str:
    """Members as a line has them."""
    assert isinstance(numbers, np.ndarray)
    return " ".join(map(str, numbers.tolist()))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_groups_do_what_the_vectors_say(path: Path) -> None:
    technique, parameters, keys, compared = "", {}, np.empty(0, np.uint64), Counter[str]()
    splitter = replica = ab.Splitter("min-move", [1])
    for line in path.read_text().splitlines():
        verb, _, rest = line.partition(" ")
        words = rest.split()
        if verb == "technique":
            technique = rest
        elif verb == "parameters":
            parameters = dict(word.split("=") for word in words)
        elif verb == "keys":
            keys = np.array([int(word, 16) for word in words], dtype=np.uint64)
        elif verb == "group":
            splitter = ab.Splitter(technique, words, None, **parameters)
        elif verb in CHANGES:
            apply(splitter, verb, words)
        else:
            table = splitter.table()
            if verb == "revision":
                ours = f"{splitter.revision.updates} {splitter.revision.digest}"
            elif verb == "delta":
                delta = splitter.delta(replica)
                replica.adopt(delta)
                assert replica.revision == splitter.revision
                ours = delta.hex()
            elif verb == "snapshot":
                ours = splitter.snapshot().hex()
                splitter, replica = (ab.Splitter.restore(bytes.fromhex(rest)) for _ in range(2))
            elif verb == "table":
                assert table is not None
                ours = f"{len(table)} {digest(table.tolist()):016x}"
            elif verb == "entries":
                ours = joined(table)
            elif verb == "picks":
                ours = joined(splitter.pick(keys))
            else:
                assert verb == "bounded"
                loads = np.zeros(len(splitter.asked()), dtype=np.uint64)
                ours = f"{words[0]} {joined(splitter.pick_bounded(keys, loads, float(words[0])))}"
            assert ours == rest, line[:80]
            compared[verb] += 1
    assert compared["picks"]
    assert compared["bounded"] == 1


def test_every_stateless_technique_has_vectors() -> None:
    named = {path.read_text().split()[1] for path in FILES}
    assert named == {row.name for row in ab.techniques() if row.granularity == "stateless"}


def test_snapshots_by_hand_are_accepted_and_refused() -> None:
    verdicts: Counter[str] = Counter()
    why = ""
    for line in (FOLDER / "by-hand.snapshots").read_text().splitlines():
        verdict, _, rest = line.partition(" ")
        if verdict == "#":
            why = rest
            continue
        try:
            ab.Splitter.restore(bytes.fromhex(rest))
            ours = "accepted"
        except ab.AnabranchError:
            ours = "refused"
        assert ours == verdict, why
        verdicts[verdict] += 1
    assert verdicts["accepted"] > 3
    assert verdicts["refused"] > 40


class State(NamedTuple):
    """Weights that a plan splits by, and the table that a file has for them."""

    weights: list[int]
    length: int
    digest: str


def states(name: str) -> list[State]:
    """States of a file whose members have their whole weights, are down or drain."""
    weights, drained, started, read = [0], set[int](), False, []
    for line in (FOLDER / f"{name}.txt").read_text().splitlines():
        verb, *words = line.split()
        if verb == "group":
            weights = [int(word) for word in words]
        elif verb in {"update", "start"}:
            change = members(words)
            weights = [weight * up for weight, up in zip(change.weights, change.up, strict=True)]
            started = verb == "start"
        elif verb == "drain":
            drained.add(int(words[0]))
        elif verb == "undrain":
            drained.discard(int(words[0]))
        elif verb == "table" and not started:
            left = [0 if member in drained else weight for member, weight in enumerate(weights)]
            read.append(State(left, int(words[0]), words[1]))
    return read


def maglev(weights: list[int], length: int) -> list[int]:
    """Maglev's table (Eisenbud et al., NSDI 2016, sec. 3.4), written from the paper.

    Each backend has a permutation of the entries, `(offset + j * skip) mod length`; in turns, backends take the first
    entry of theirs that is free. Envoy's weights: after `r` rounds a backend has had
    `min(r, floor(r * w / w_max) + 1)` turns. The two hashes of a backend are SplitMix64's outputs from its number, and
    from the first of them.
    """
    permutations = {}
    for backend, weight in enumerate(weights):
        if weight:
            first = split_mix(backend)
            offset, skip = first % length, split_mix(first) % (length - 1) + 1
            permutations[backend] = iter([(offset + j * skip) % length for j in range(length)])
    table: dict[int, int] = {}
    turns = Counter[int]()
    rounds = 0
    while True:
        rounds += 1
        for backend, permutation in permutations.items():
            due = min(rounds, Fraction(rounds * weights[backend], max(weights)) // 1 + 1)
            if turns[backend] < due:
                if len(table) == length:
                    return [table[entry] for entry in range(length)]
                entry = next(entry for entry in permutation if entry not in table)
                table[entry] = backend
                turns[backend] += 1


def split_mix(state: int) -> int:
    """One output of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    z = (state + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


@pytest.mark.parametrize("name", ["maglev-101", "maglev-65537"])
def test_tables_of_maglev_are_those_of_the_paper(name: str) -> None:
    compared = states(name)
    assert compared
    for state in compared:
        assert f"{digest(maglev(state.weights, state.length)):016x}" == state.digest


def webster(weights: list[int], seats: int) -> list[int]:
    """Seats by Webster's method: one after the other to the largest `w / (2 s + 1)`, ties to the first."""
    order = [(Fraction(-weight), member) for member, weight in enumerate(weights)]
    heapify(order)
    counts = [0] * len(weights)
    for _ in range(seats):
        member = order[0][1]
        counts[member] += 1
        heapreplace(order, (Fraction(-weights[member], 2 * counts[member] + 1), member))
    return counts


def tables_of_min_move(name: str) -> list[tuple[list[int], list[int]]]:
    """Weights and table of each snapshot: both are in its bytes, whoever reads them."""
    read = []
    for line in (FOLDER / f"{name}.txt").read_text().splitlines():
        if line.startswith("snapshot "):
            body = bytes.fromhex(line.split()[1])[34:-8]
            assert body[:16] == b"\x08min-move\x01\x05slots"
            slots = int(body[17 : 17 + body[16]])
            at = 17 + body[16]
            count = int.from_bytes(body[at : at + 2], "little")
            weights = np.frombuffer(body, "<u8", count, at + 2)
            at += 2 + 8 * count
            left = (
                np.frombuffer(body, "<u8", count, at + 1)
                if body[at]
                else weights * np.frombuffer(body, "u1", count, at + 1)
            )
            at += 1 + count * (8 if body[at] else 1) + 4
            width = "<u2" if count > 256 or slots not in {4096, 65536} else "u1"
            read.append((left.tolist(), np.frombuffer(body, width, slots, at).tolist()))
    return read


@pytest.mark.parametrize("name", ["min-move-101", "min-move-4096", "min-move-wide"])
def test_tables_of_min_move_have_websters_shares(name: str) -> None:
    tables = tables_of_min_move(name)
    assert tables
    for weights, table in tables:
        assert [table.count(member) for member in range(len(weights))] == webster(weights, len(table))


def test_tables_of_min_move_move_the_fewest_slots() -> None:
    tables = tables_of_min_move("min-move-101")
    for (_, before), (weights, after) in pairwise(tables):
        gained = [after.count(member) - before.count(member) for member in range(len(weights))]
        moved = sum(was != now for was, now in zip(before, after, strict=True))
        assert moved == sum(gain for gain in gained if gain > 0)
