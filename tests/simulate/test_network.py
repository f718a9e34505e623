"""`ab.Network`: the same results as a run that knows all flows before, and what a driver may and may not do."""

from __future__ import annotations

import os
import runpy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import anabranch as ab
from anabranch._core import Scenario
from anabranch.simulate.runs.frames import frame
from anabranch.simulate.runs.load import load

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "serve.py"
LEAF_SPINE = {"leaves": 3, "spines": 2, "hosts_per_leaf": 3, "link": {"rate": "10 Gbps"}}
DRAGONFLY = {"kind": "dragonfly", "link": {"rate": "10 Gbps"}}
FABRICS = (LEAF_SPINE, DRAGONFLY, {"kind": "fat-tree", "k": 4}, {"kind": "slim-fly"})
CHANGE = {"at": "60 us", "link": "leaf0-spine1", "set": "down"}
READS_FLOWS_TO_COME = [one.name for one in ab.schemes() if one.reads_elsewhere == ("fabric", "all flows to come")]
PRESETS = ("lossy", "lossless-roce", "uec-trimming")
TRANSPORTS: tuple[dict[str, Any], ...] = (
    {"kind": "newreno"},
    {"kind": "cubic"},
    {"kind": "dctcp", "persistent": True},
    {"kind": "mptcp"},
    {"kind": "udp", "rate": "4 Gbps"},
    {"kind": "roce"},
    {"kind": "uec"},
)


def flow_list(folder: Path, hosts: int, flows: int = 60, seed: int = 1) -> Path:
    """Flows of a few hundred microseconds, some of the same picosecond."""
    random = np.random.default_rng(seed)
    starts = np.sort(random.integers(0, 200, flows)) * 1_000
    rows = ["id,src,dst,size_bytes,start_ns"]
    for number, start in enumerate(starts):
        src, dst = random.choice(hosts, 2, replace=False)
        rows.append(f"{number},{src},{dst},{random.choice([1, 1460, 9_000, 120_000])},{start}")
    file = folder / "flows.csv"
    file.write_text("\n".join(rows) + "\n")
    return file


def ran(scenario: Scenario) -> pl.DataFrame:
    return frame(scenario.run().flows)


def columns(scenario: Scenario) -> tuple[Any, ...]:
    flows = scenario.flows()
    times = np.rint(np.asarray(flows["start_ns"]) * 1000).astype(np.uint64)
    return flows["src"], flows["dst"], flows["size_bytes"], times


def sent_before(scenario: Scenario) -> ab.Network:
    network = ab.Network(scenario, background=False)
    src, dst, size, at = columns(scenario)
    network.send_many(src, dst, size, at=at)
    network.run_until(500_000_000)
    return network


def sent_just_in_time(scenario: Scenario) -> ab.Network:
    network = ab.Network(scenario, background=False)
    for src, dst, size, at in zip(*columns(scenario), strict=True):
        network.run_until(int(at))
        network.send(int(src), int(dst), int(size))
    return network


def sent_by_chance(scenario: Scenario) -> ab.Network:
    """Stops at random times, sends some flows ahead, and stops at ends of messages in between."""
    network, random = ab.Network(scenario, background=False), np.random.default_rng(7)
    for src, dst, size, at in zip(*columns(scenario), strict=True):
        while random.random() < 0.5 and network.now() < at:
            stop = int(random.integers(network.now(), int(at) + 1))
            if random.random() < 0.5:
                network.run_until(stop)
            else:
                network.run_until_any_done(stop)
        network.send(int(src), int(dst), int(size), at=int(at))
    return network


DRIVERS = (sent_before, sent_just_in_time, sent_by_chance)


def assert_same(scenario: Scenario, driver: Callable[[Scenario], ab.Network]) -> None:
    expected, network = ran(scenario), driver(scenario)
    while network.open and len(network.run_until_any_done()):
        pass
    flows = network.results().flows
    compared = ["src", "dst", "size_bytes", "start_ns", "fct_ns"]
    assert expected["finished"].sum() > 30
    assert flows.select(compared).equals(expected.select(compared))


def scenario_of(folder: Path, **tables: Any) -> Scenario:
    """A scenario with the flow list, on the first fabric that its load balancer takes."""
    for fabric in FABRICS:
        tried = {"fabric": fabric, "stop": {"at": "100 ms"}, **tables}
        file = folder / "flows.csv"
        try:
            bare = load(tried, driven=True)
            flow_list(folder, bare.topology()["nodes"]["tier"].count("host"))
            made = load({**tried, "traffic": [{"kind": "flow-list", "file": str(file)}]})
            made.check()
        except ab.AnabranchError as error:
            refused = error
        else:
            return made
    raise refused


@pytest.mark.parametrize("balancer", [one.name for one in ab.schemes() if one.setting == "routing.balance"])
def test_every_load_balancer_gives_the_flows_of_a_run(tmp_path: Path, balancer: str) -> None:
    scenario = scenario_of(tmp_path, routing={"balance": balancer})
    if balancer in READS_FLOWS_TO_COME:
        with pytest.raises(ab.AnabranchError, match=f"{balancer} decides by all flows to come"):
            ab.Network(scenario)
        return
    assert_same(scenario, DRIVERS[len(balancer) % len(DRIVERS)])


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("transport", TRANSPORTS, ids=lambda transport: transport["kind"])
def test_every_transport_gives_the_flows_of_a_run(
    tmp_path: Path, transport: dict[str, Any], driver: Callable[[Scenario], ab.Network]
) -> None:
    assert_same(scenario_of(tmp_path, transport=transport, change=[CHANGE]), driver)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", ["dctcp", "roce", "uec"])
def test_every_preset_gives_the_flows_of_a_run(tmp_path: Path, preset: str, kind: str) -> None:
    fabric = {**LEAF_SPINE, "preset": preset}
    assert_same(scenario_of(tmp_path, transport={"kind": kind}, fabric=fabric), sent_by_chance)


def test_a_chain_of_messages_is_a_graph_of_flows_that_wait() -> None:
    # A ring all-reduce of two workers, whose flows wait for each other, against a driver that sends when messages end.
    ring = {"kind": "ring-all-reduce", "workers": [0, 3, 6], "size": "300 KB", "iterations": 2}
    expected = ran(load({"fabric": LEAF_SPINE, "traffic": [ring]}))
    network = ab.Network({"fabric": LEAF_SPINE})
    waiting, first = list(zip(*(expected[name].to_list() for name in ("src", "dst", "size_bytes")), strict=True)), 0
    while waiting:
        step, waiting = waiting[:3], waiting[3:]
        for src, dst, size in step:
            network.send(src, dst, size)
        first += 3
        while network.open:
            network.run_until_any_done()
    # A step of the ring waits for one neighbour alone, this driver for all three: it cannot be faster.
    results = network.results().flows
    assert results["finished"].all()
    assert (results["start_ns"] + results["fct_ns"]).max() >= (expected["start_ns"] + expected["fct_ns"]).max()


def test_a_message_after_another_is_the_flow_that_waits_for_it() -> None:
    # One server at a time: pull after push, iteration after iteration.
    chain = {"kind": "parameter-server", "workers": [0], "servers": [5], "size": "100 KB", "iterations": 4}
    expected = ran(load({"fabric": LEAF_SPINE, "traffic": [chain]}))
    network = ab.Network({"fabric": LEAF_SPINE})
    ends = []
    for src, dst, size in expected.select("src", "dst", "size_bytes").iter_rows():
        network.send(src, dst, size)
        ((_, time_ps, whole),) = network.run_until_any_done()
        assert whole
        ends.append(time_ps)
    expected_ps = (expected["start_ns"] + expected["fct_ns"]) * 1000
    assert ends == expected_ps.round().cast(pl.UInt64).to_list()


def test_a_change_on_the_way_is_that_of_a_scenario(tmp_path: Path) -> None:
    late = {"delay": "40 us"}
    expected = ran(scenario_of(tmp_path, change=[CHANGE], routing=late))
    assert not expected["fct_ns"].equals(ran(scenario_of(tmp_path, change=[CHANGE]))["fct_ns"])
    scenario = scenario_of(tmp_path, routing=late)
    network = ab.Network(scenario, background=False)
    src, dst, size, at = columns(scenario)
    network.send_many(src, dst, size, at=at)
    network.run_until(30_000_000)
    network.change(at=60_000_000, link="leaf0-spine1", set="down")
    while network.open:
        network.run_until_any_done()
    assert network.results().flows["fct_ns"].equals(expected["fct_ns"])
    assert not ran(scenario)["fct_ns"].equals(expected["fct_ns"])


def test_traffic_of_the_scenario_runs_beside() -> None:
    job = {"kind": "graph", "collective": "all-reduce", "size": "1 MB", "hosts": ["0-3"]}
    alone = ran(load({"fabric": LEAF_SPINE, "traffic": [job]}))
    network = ab.Network({"fabric": LEAF_SPINE, "traffic": [job]})
    handle = network.send("host0", "host5", 1_000_000)
    assert handle == alone.height
    network.run_until(20_000_000_000)
    flows = network.results().flows
    assert flows["finished"].all()
    assert flows["fct_ns"][: alone.height].sum() > alone["fct_ns"].sum()


def test_flows_that_a_run_reads_little_by_little_are_before_the_messages() -> None:
    traffic = [{"sizes": "2 KB", "load": 0.3, "duration": "20 ms"}]
    alone = ran(load({"fabric": LEAF_SPINE, "traffic": traffic}))
    network = ab.Network({"fabric": LEAF_SPINE, "traffic": traffic})
    # It begins when all others have ended.
    assert network.send(0, 5, 1000, at=30_000_000_000) == alone.height > 10_000
    network.run_until(40_000_000_000)
    flows = network.results().flows
    assert flows["fct_ns"][: alone.height].equals(alone["fct_ns"])
    assert flows["finished"].all()


def test_no_message_ends_before_its_ideal_time_or_the_next_event() -> None:
    network = ab.Network({"fabric": LEAF_SPINE})
    random = np.random.default_rng(3)
    for _ in range(50):
        src, dst = (int(one) for one in random.choice(9, 2, replace=False))
        size, sent = int(random.integers(1, 20_000)), network.now()
        least = network.ideal(src, dst, size)
        assert least >= network.ideal(src, dst)
        network.send(src, dst, size)
        event = network.next_event()
        assert event == sent
        ((_, time_ps, _),) = network.run_until_any_done()
        assert time_ps >= sent + least
    assert network.ideal(0, 1) < network.ideal(0, 8)


def test_ends_are_taken_once_and_in_order() -> None:
    network = ab.Network({"fabric": LEAF_SPINE})
    assert len(network.run_until_any_done()) == 0
    handles = network.send_many(np.arange(8), 8, np.array([9000] * 8))
    assert network.open == len(handles) == 8
    network.run_until(10_000_000_000)
    assert network.open == 0
    assert list(network.done()) == list(network.done())
    taken = network.take_done()
    assert sorted(taken.handles.tolist()) == list(handles)
    assert np.all(np.diff(taken.times_ps.astype(np.int64)) >= 0)
    assert len(network.take_done()) == len(network.done()) == 0
    assert network.now() == 10_000_000_000


def test_datagrams_that_are_lost_end_too() -> None:
    fabric = {**LEAF_SPINE, "link": {"rate": "10 Gbps", "buffer": "20 KB"}}
    network = ab.Network({"fabric": fabric, "transport": {"kind": "udp", "rate": "10 Gbps"}})
    network.send_many(range(1, 9), 0, 200_000)
    network.run_until(1_000_000_000)
    taken = network.take_done()
    assert len(taken) == 8
    assert not taken.whole.all()
    assert (taken.whole == network.results().flows["finished"].to_numpy()[taken.handles]).all()


def test_a_callback_sends_and_cannot_let_time_pass() -> None:
    network = ab.Network({"fabric": LEAF_SPINE})
    seen: list[tuple[int, int]] = []

    def bounce(handle: int, time_ps: int, whole: bool) -> None:
        assert whole
        assert network.now() == time_ps
        seen.append((handle, time_ps))
        for trap in (lambda: network.run_until(time_ps + 1), network.run_until_any_done, network.results):
            with pytest.raises(ab.AnabranchError, match="a callback cannot let time pass"):
                trap()
        if len(seen) < 5:
            network.send(handle % 2, 1 - handle % 2, 5000, on_done=bounce)

    network.send(0, 1, 5000, on_done=bounce)
    network.run_until(1_000_000_000)
    assert [handle for handle, _ in seen] == list(range(5))
    assert network.now() == 1_000_000_000
    assert list(network.take_done().handles) == list(range(5))


def test_an_exception_of_a_callback_loses_no_other() -> None:
    network = ab.Network({"fabric": LEAF_SPINE})
    seen: list[int] = []

    def fail(handle: int, *_: object) -> None:
        seen.append(handle)
        raise LookupError(handle)

    for src in (0, 1, 2):
        network.send(src, 8, 5000, on_done=fail)
    for _ in range(3):
        with pytest.raises(LookupError):
            network.run_until(1_000_000_000)
    network.run_until(1_000_000_000)
    assert sorted(seen) == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda n: n.send(0, 0, 1), "from host 0 to host 0; name two different hosts"),
        (lambda n: n.send(0, 99, 1), "to host 99; name two different hosts below 9"),
        (lambda n: n.send("host0", "hots1", 1), "no host `hots1`; did you mean `host1`"),
        (lambda n: n.send(0, 1, 0), "size 0; give every flow at least one byte"),
        (lambda n: n.send(0, 1, 1.5), r"size_bytes: 1.5: not a whole number"),
        (lambda n: n.send(0, -1, 1), "dst: -1: out of range"),
        (lambda n: n.send(0, 1, 1, transport=1), "transport 1 of 1"),
        (lambda n: n.send(0, 1, 1, at=n.now() - 1), "it is 5000000 ps already; send now, or later"),
        (lambda n: n.send(0, 1, 1, at=1 << 63), "beyond the clock"),
        (lambda n: n.run_until(0), "run_until: 0 ps: it is 5000000 ps"),
        (lambda n: n.send_many([0, 1], [1, 1], 5), "flow 1: from host 1 to host 1"),
        (lambda n: n.send_many([0, 1], [1, 2, 3], 5), "give one value for each message, or one for all"),
        (lambda n: n.send_many([0.5], 1, 5), "src: float64: not a type of whole numbers"),
        (lambda n: n.send_many([-1], 1, 5), "src: -1 to -1: out of range"),
        (lambda n: n.change(link="leaf0-spine9", set="down"), "no node `spine9`"),
        (lambda n: n.change(at=0, link="leaf0-spine1", set="down"), "change: at 0 ps: it is 5000000 ps already"),
        (lambda n: n.change(link="leaf0-spine1"), "it is not said what happens"),
    ],
)
def test_an_error_says_what_is_wrong_and_sends_nothing(call: Callable[[ab.Network], object], words: str) -> None:
    network = ab.Network({"fabric": LEAF_SPINE})
    network.run_until(5_000_000)
    with pytest.raises(ab.AnabranchError, match=words):
        call(network)
    assert network.open == 0
    assert network.send(0, 1, 1) == 0


def test_a_closed_network_says_so() -> None:
    with ab.Network({"fabric": LEAF_SPINE}) as network:
        network.send(0, 1, 1000)
    for call in (lambda: network.send(0, 1, 1), lambda: network.run_until(1), network.results):
        with pytest.raises(ab.AnabranchError, match="it is closed; make another"):
            call()


def test_a_child_process_cannot_drive_the_network_of_its_parent() -> None:
    network = ab.Network({"fabric": LEAF_SPINE})
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            network.send(0, 1, 1)
            os.write(writer, b"sent")
        except ab.AnabranchError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        assert "forked" in said.read()
    os.waitpid(child, 0)


def test_a_second_thread_is_refused_while_time_passes() -> None:
    network = ab.Network({"fabric": LEAF_SPINE})
    refused: list[str] = []

    def callback(*_: object) -> None:
        # Between two steps the network is free: another thread may send.
        other = threading.Thread(target=lambda: refused.append(str(network.send(0, 1, 1000))), daemon=True)
        other.start()
        other.join(60)

    network.send(0, 1, 1000, on_done=callback)
    network.run_until(1_000_000_000)
    assert refused == ["1"]


def test_what_happens_at_a_time_is_left_for_after_it() -> None:
    def at(time_ps: int) -> ab.Network:
        network = ab.Network({"fabric": LEAF_SPINE})
        network.send(0, 5, 1000)
        network.run_until(time_ps)
        return network

    ((_, end_ps, _),) = at(1_000_000_000).done()
    assert len(at(end_ps).done()) == 0
    assert len(at(end_ps + 1).done()) == 1


def test_the_example_serves_all_requests() -> None:
    example = runpy.run_path(str(EXAMPLE))
    in_turn, fewest = example["serve"](False), example["serve"](True)
    assert len(in_turn) == len(fewest) == example["REQUESTS"]
    assert np.percentile(fewest, 99) < np.percentile(in_turn, 99)
    assert fewest == example["serve"](True)


def test_the_page_shows_the_example() -> None:
    page = EXAMPLE.parents[1] / "docs" / "network.md"
    assert f"```python\n{EXAMPLE.read_text()}```" in page.read_text()


def test_the_benchmark_measures_every_call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = EXAMPLE.parents[1] / "bench" / "network.py"
    monkeypatch.setattr("sys.argv", [str(benchmark), "500"])
    runpy.run_path(str(benchmark), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(" 500 messages " in line and line.endswith("M/s") for line in lines)
