#!/usr/bin/env python3
"""Write the vectors of this folder by the splitter in Python; README.md says what they are.

Usage: pip install -r requirements.txt beside the project, and python3 record.py
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import xxhash

import anabranch as ab

HERE = Path(__file__).parent
EDGES = (0, 1, 2**16 - 1, 2**16, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 0x8000000080000000)
EPS = 0.25
ALL_UP = "update 4 3 2 up 1 1 1"
HISTORY = (
    "update 4 3 2 up 1 0 1",
    ALL_UP,
    "update 4 3 1 up 1 1 1",
    "update 4 3 1 5 up 1 1 1 1",
    "start 60000000000 1 10 ages 60000000000 60000000000 60000000000 30000000000 of 4 3 1 5 up 1 1 1 1",
    "drain 0",
    "undrain 0",
    "update 1 9 3 5 up 1 1 0 1",
    "update 1 3 0 2 up 1 1 1 1",
)
WIDE = " ".join(str(1 + member % 7) for member in range(300))
# Files: technique, parameters, first weights, history, and whether each state has its snapshot or the last alone.
FILES: dict[str, tuple[str, dict[str, object], str, tuple[str, ...], bool]] = {
    "min-move-101": ("min-move", {"slots": 101}, "4 3 2", HISTORY, True),
    "min-move-4096": ("min-move", {"slots": 4096}, "4 3 2", HISTORY, False),
    "min-move-65536": ("min-move", {}, "4 3 2", HISTORY[:4], False),
    "min-move-wide": ("min-move", {"slots": 4096}, WIDE, (), False),
    "maglev-101": ("maglev", {"entries": 101}, "4 3 2", HISTORY, True),
    "maglev-65537": ("maglev", {}, "1 100 33", (), True),
    "linux-resilient-64": ("linux-resilient", {"buckets": 64}, "4 3 2", HISTORY, True),
}
for listed in ab.techniques():
    if listed.granularity == "stateless" and listed.name not in {"min-move", "maglev", "linux-resilient"}:
        FILES[listed.name] = (listed.name, {}, "4 3 2", HISTORY, listed.name == "rejection-cells")


def mixed(seed: int) -> int:
    """SplitMix64's finalizer over a multiple of its constant (Steele, Lea and Flood 2014)."""
    x = seed * 0x9E3779B97F4A7C15 % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


KEYS = np.array([*EDGES, *(mixed(seed) for seed in range(1, 39))], dtype=np.uint64)


def fnv(entries: list[int]) -> int:
    """FNV-1a, 64 bits, over the entries as two bytes each, the low one first."""
    digest = 0xCBF29CE484222325
    for byte in b"".join(entry.to_bytes(2, "little") for entry in entries):
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return digest


def change(splitter: ab.Splitter, line: str) -> None:
    """Does what a line of a history says."""
    verb, *words = line.split()
    if verb in {"drain", "undrain"}:
        path = int(words[0])
        splitter.drain(path, now_ns=0, until_ns=1) if verb == "drain" else splitter.undrain(path)
        return
    at = words.index("up")
    up = [word == "1" for word in words[at + 1 :]]
    if verb == "update":
        splitter.update(words[:at], up)
        return
    window, aggression, percent = words[:3]
    ages, weights = words[4 : words.index("of")], words[words.index("of") + 1 : at]
    splitter.slow_start(
        [int(age) / 1e9 for age in ages],
        window_s=int(window) / 1e9,
        aggression=float(aggression),
        min_percent=float(percent),
        weights=weights,
        up=up,
    )


def state(splitter: ab.Splitter, replica: ab.Splitter | None, *, snapshot: bool, last: bool) -> list[str]:
    """Lines of a state; `replica` has the one of the snapshot before."""
    lines = [f"revision {splitter.revision.updates} {splitter.revision.digest}"]
    if snapshot and replica is not None:
        lines.append(f"delta {splitter.delta(replica).hex()}")
    if snapshot:
        lines.append(f"snapshot {splitter.snapshot().hex()}")
    table = splitter.table()
    if table is not None:
        lines.append(f"table {len(table)} {fnv(table.tolist()):016x}")
        if len(table) <= 64:
            lines.append("entries " + " ".join(map(str, table.tolist())))
    lines.append("picks " + " ".join(map(str, splitter.pick(KEYS).tolist())))
    if last:
        loads = np.zeros(len(splitter.asked()), dtype=np.uint64)
        lines.append(f"bounded {EPS} " + " ".join(map(str, splitter.pick_bounded(KEYS, loads, EPS).tolist())))
    return lines


def vectors(technique: str, parameters: dict[str, object], weights: str, history: tuple[str, ...], every: bool) -> str:
    """Text of one file."""
    small = technique != "min-move" or bool(parameters)
    splitter = ab.Splitter(technique, weights.split(), **parameters)
    lines = [
        f"technique {technique}",
        " ".join(["parameters", *(f"{key}={value}" for key, value in parameters.items())]),
        "keys " + " ".join(f"{int(key):016x}" for key in KEYS),
        f"group {weights}",
    ]
    replica = None
    for number, line in enumerate(("", *history)):
        if line:
            change(splitter, line)
            lines.append(line)
        last = number == len(history)
        snapshot = (every or (last and small)) and not splitter.draining
        lines += state(splitter, replica, snapshot=snapshot, last=last)
        replica = ab.Splitter.restore(splitter.snapshot()) if snapshot else replica
    return "\n".join(lines) + "\n"


def sealed(body: bytes, updates: int = 3, version: int = 1, digest: bytes | None = None) -> bytes:
    """Snapshot of a body, with the digest and checksum that are right for it."""
    if digest is None:
        digest = xxhash.xxh3_128(body).intdigest().to_bytes(16, "little")
    head = b"ABGROUP\0" + struct.pack("<HQ", version, updates) + digest + body
    return head + xxhash.xxh3_64(head).intdigest().to_bytes(8, "little")


def text(word: str) -> bytes:
    """A text behind its length."""
    return bytes([len(word)]) + word.encode()


def rule(technique: str, *pairs: str) -> bytes:
    """Technique and its parameters, name and value of each in turn."""
    return text(technique) + bytes([len(pairs) // 2]) + b"".join(map(text, pairs))


def members(weights: list[int], flags: bytes, kind: int = 0) -> bytes:
    """Members: weights, and which are up or what is left of them."""
    return struct.pack(f"<H{len(weights)}QB", len(weights), *weights, kind) + flags


def history(*parts: bytes, length: int | None = None) -> bytes:
    """A history behind its length."""
    whole = b"".join(parts)
    return struct.pack("<I", len(whole) if length is None else length) + whole


def words(*entries: int) -> bytes:
    """Entries as two bytes each."""
    return struct.pack(f"<{len(entries)}H", *entries)


def asked(*weights: int) -> bytes:
    """Asked weights of a home."""
    return struct.pack(f"<{len(weights)}Q", *weights)


def shares(weights: list[int], slots: int = 9) -> bytes:
    """Table of so many slots with Webster's shares: each slot to the largest `w / (2 s + 1)`, ties to the first."""
    seats = [int(weight > 0) for weight in weights]
    while sum(seats) < slots:
        claims = [Fraction(weight, 2 * seat + 1) for weight, seat in zip(weights, seats, strict=True)]
        seats[claims.index(max(claims))] += 1
    return words(*(member for member, seat in enumerate(seats) for _ in range(seat)))


def of_length(length: int) -> bytes:
    """Body of so many bytes: members of the weight 1 over some slots, and some that are down since they were appended.

    XXH3 changes its rule with the length.
    """
    others = [1, 0, 0, 0]
    for count, slots, down in product(range(1, 9), range(1, 60), range(5)):
        weights = [1] * count
        table = shares(weights, slots)
        body = rule("min-move", "slots", str(slots)) + members(weights + others[:down], b"\1" * count + b"\0" * down)
        body += history(table, table, asked(*weights))
        if len(body) == length and slots > count:
            return body
    raise SystemExit(f"record.py: no body of {length} bytes")


SLOTS = rule("min-move", "slots", "9")
TABLE = words(0, 0, 0, 0, 1, 1, 1, 2, 2)
UP = members([4, 3, 2], b"\1\1\1")
GOOD = SLOTS + UP + history(TABLE, TABLE, asked(4, 3, 2))


def whole(weights: list[int]) -> bytes:
    """Body of nine slots, all members up."""
    table = shares(weights)
    return SLOTS + members(weights, b"\1" * len(weights)) + history(table, table, asked(*weights))


def snapshots() -> list[tuple[str, str, bytes]]:
    """Snapshots by hand: whether one is refused, why, and its bytes."""
    good, large = sealed(GOOD), history(TABLE, TABLE, asked(4, 3, 2))
    primes = rule("maglev", "entries", "11")
    bodies = {
        "no such technique": rule("min-movf", "slots", "9") + UP + large,
        "a parameter that the technique has not": rule("min-move", "slotz", "9") + UP + large,
        "a number of slots that is none": rule("min-move", "slots", "nine") + UP + large,
        "no slots": rule("min-move", "slots", "0") + UP + history(asked(4, 3, 2)),
        "more slots than a table may have": rule("min-move", "slots", "16777217") + UP + large,
        "another number of slots than the history": rule("min-move", "slots", "10") + UP + large,
        "a number of slots as nobody writes it": rule("min-move", "slots", "09") + UP + large,
        "no members": SLOTS + members([], b"") + large,
        "weights of zero": SLOTS + members([0, 0, 0], b"\1\1\1") + large,
        "weights beyond 2^53": whole([2**53, 1, 0]),
        "weights whose sum leaves 64 bits": whole([2**63, 2**63, 9]),
        "too many members": SLOTS
        + members([4, 3, 2] + [0] * 1022, b"\0" + b"\1" * 1024)
        + history(shares([0, 3, 2]), TABLE, asked(4, 3, 2)),
        "more members than bytes": SLOTS + struct.pack("<H", 1024) + large,
        "nobody up": SLOTS + members([4, 3, 2], b"\0\0\0") + large,
        "neither up nor down": SLOTS
        + members([4, 3, 2], b"\1\2\1")
        + history(shares([4, 6, 2]), TABLE, asked(4, 3, 2)),
        "no kind of members": SLOTS + members([4, 3, 2], b"\1\1\1", kind=2) + large,
        "a slot of no member": SLOTS + UP + history(words(0, 0, 0, 0, 1, 1, 1, 2, 3), TABLE, asked(4, 3, 2)),
        "a slot far beyond": SLOTS + UP + history(words(0, 0, 0, 0, 1, 1, 1, 2, 65535), TABLE, asked(4, 3, 2)),
        "a home slot of no member": SLOTS + UP + history(TABLE, words(0, 0, 0, 0, 1, 1, 1, 2, 3), asked(4, 3, 2)),
        "other shares": SLOTS + UP + history(words(0, 0, 0, 1, 1, 1, 1, 2, 2), TABLE, asked(4, 3, 2)),
        "other shares at home": SLOTS + UP + history(TABLE, words(0, 0, 0, 1, 1, 1, 1, 2, 2), asked(4, 3, 2)),
        "a slot of one that is down": SLOTS + members([4, 3, 2], b"\1\0\1") + large,
        "asked weights of others": SLOTS + UP + history(TABLE, TABLE, asked(8, 6, 4)),
        "half an asked weight": SLOTS + UP + history(TABLE, TABLE, asked(4, 3, 2)[:-4]),
        "more asked weights than members": SLOTS + UP + history(TABLE, TABLE, asked(4, 3, 2, 0)),
        "no asked weights": SLOTS + UP + history(TABLE, TABLE),
        "one table": SLOTS + UP + history(TABLE),
        "a longer history": SLOTS + UP + history(TABLE, TABLE, asked(4, 3, 2), length=60_000),
        "a history of 4 GiB": SLOTS + UP + history(TABLE, length=2**32 - 1),
        "bytes behind the history": GOOD + b"\0",
        "a text that ends beyond": bytes([255]) + b"min-move",
        "a text that is no UTF-8": bytes([8]) + b"min-mov\xff" + UP + large,
        "255 parameters": text("min-move") + bytes([255]) + text("slots") + text("9"),
        "buckets of other shares": rule("linux-resilient", "buckets", "9")
        + UP
        + history(words(0, 0, 0, 1, 1, 1, 1, 2, 2)),
        "fewer buckets": rule("linux-resilient", "buckets", "9") + UP + history(words(0, 0, 0, 0, 1, 1, 1, 2)),
        "half a bucket": rule("linux-resilient", "buckets", "9") + UP + history(TABLE, b"\0"),
        "maglev of no prime": rule("maglev", "entries", "9") + UP + history(),
        "maglev of the factor of 16-bit hashes": rule("maglev", "entries", "65519") + UP + history(),
        "maglev of one entry": rule("maglev", "entries", "1") + UP + history(),
        "maglev of too few entries": rule("maglev", "entries", "2") + UP + history(),
        "maglev with a history": primes + UP + history(b"\0"),
    }
    hostile: list[tuple[str, str, bytes]] = [("refused", why, sealed(body)) for why, body in bodies.items()]
    bent: dict[str, Callable[[bytes], bytes]] = {
        "nothing": lambda _: b"",
        "the magic alone": lambda whole: whole[:8],
        "the head alone": lambda whole: whole[:34],
        "cut by a byte": lambda whole: whole[:-1],
        "cut in the middle": lambda whole: whole[:60],
        "a byte more": lambda whole: whole + b"\0",
        "one bit of a slot": lambda whole: whole[:-60] + bytes([whole[-60] ^ 1]) + whole[-59:],
        "one bit of the number of updates": lambda whole: whole[:10] + bytes([whole[10] ^ 1]) + whole[11:],
        "one bit of the checksum": lambda whole: whole[:-1] + bytes([whole[-1] ^ 128]),
        "a delta": lambda whole: b"ABDELTA\0" + whole[8:],
        "format 2": lambda _: sealed(GOOD, version=2),
        "another digest": lambda _: sealed(GOOD, digest=bytes(16)),
        "another lower half of the digest": lambda whole: sealed(GOOD, digest=bytes(8) + whole[26:34]),
        "another upper half of the digest": lambda whole: sealed(GOOD, digest=whole[18:26] + bytes(8)),
    }
    hostile += [("refused", why, bend(good)) for why, bend in bent.items()]
    left = SLOTS + members([4, 3, 2], asked(2, 3, 2), kind=1)
    down = SLOTS + members([4, 3, 2], b"\1\0\1")
    lengths = [length - head for length in (128, 129, 240, 241) for head in (0, 34)]
    accepted = {
        "nine slots": GOOD,
        "one down": down + history(shares([4, 0, 2]), TABLE, asked(4, 3, 2)),
        "a part of one": left + history(shares([2, 3, 2]), TABLE, asked(4, 3, 2)),
        "maglev of eleven": primes + UP + history(),
        "nine buckets": rule("linux-resilient", "buckets", "9") + UP + history(TABLE),
        **{f"a body of {length} bytes": of_length(length) for length in sorted(lengths)},
    }
    return [("accepted", why, sealed(body)) for why, body in accepted.items()] + hostile


def by_hand() -> str:
    """Text of the file of snapshots by hand."""
    lines = []
    for verdict, why, snapshot in snapshots():
        lines += [f"# {why}", f"{verdict} {snapshot.hex()}".rstrip()]
        try:
            ab.Splitter.restore(snapshot)
        except ab.AnabranchError as error:
            if verdict == "accepted":
                raise SystemExit(f"record.py: {why}: {error}") from error
        else:
            if verdict == "refused":
                raise SystemExit(f"record.py: {why}: it is accepted")
    return "\n".join(lines) + "\n"


for name, row in FILES.items():
    (HERE / f"{name}.txt").write_text(vectors(*row))
(HERE / "by-hand.snapshots").write_text(by_hand())
