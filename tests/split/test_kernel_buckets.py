"""`linux-resilient` against the kernel: the same nexthop in every bucket of a resilient group, after changes too."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import numpy.typing as npt

import anabranch as ab
from support.own_namespace import in_own_namespace
from support.waiting import wait

GROUP, BUCKETS = "100", 65520


def ip(*arguments: str) -> str:
    run = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def put(verb: str, weights: list[int], *options: str) -> None:
    hops = "/".join(f"{member + 1},{weight}" for member, weight in enumerate(weights) if weight)
    ip("nexthop", verb, "id", GROUP, "group", hops, "type", "resilient", *options)


def buckets() -> npt.NDArray[np.uint16]:
    entries = json.loads(ip("-j", "nexthop", "bucket", "list", "id", GROUP))
    table = np.zeros(len(entries), np.uint16)
    for entry in entries:
        table[entry["bucket"]["index"]] = entry["bucket"]["nhid"] - 1
    return table


def planned(splitter: ab.Splitter) -> npt.NDArray[np.uint16]:
    table = splitter.table()
    assert table is not None
    return table


@in_own_namespace
def test_buckets_are_those_of_the_kernel() -> None:
    weights = np.random.default_rng(1).integers(1, 101, 20).tolist()
    ip("link", "set", "lo", "up")
    ip("address", "add", "10.9.0.1/16", "dev", "lo")
    for member in range(len(weights)):
        ip("nexthop", "add", "id", str(member + 1), "via", f"10.9.1.{member + 1}", "dev", "lo")
    splitter = ab.Splitter("linux-resilient", weights, buckets=BUCKETS)
    put("add", weights, "buckets", str(BUCKETS), "idle_timer", "0", "unbalanced_timer", "0")
    assert np.array_equal(buckets(), planned(splitter))
    for member, weight in ((3, 0), (7, weights[7] + 10)):
        before = buckets()
        weights[member] = weight
        splitter.update(weights=weights)
        put("replace", weights)
        # The kernel moves idle buckets in the background.
        wait(lambda: np.array_equal(buckets(), planned(splitter)), lambda: "the kernel's buckets differ")
        assert not np.array_equal(buckets(), before)
