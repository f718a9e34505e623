"""Flows over real TCP: what the player says against what the kernel and the link's arithmetic say."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anabranch import AnabranchError
from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.traffic.flow_results import COLUMNS
from anabranch.lab.traffic.play import Endpoint, Options, play
from long_flows import long_flows
from support.lab_pair import device_bytes, shaped_pair
from support.proc import children_of, command_of
from support.waiting import DEADLINE_S

RATE_MBPS = 50
FRAME, PAYLOAD = 1514, 1448


Pair = tuple[Endpoint, Endpoint]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with shaped_pair(RATE_MBPS) as ends:
        yield ends


def one_way(*sizes: int, gap_ns: float = 0.0) -> dict[str, list[float]]:
    count = len(sizes)
    starts = [index * gap_ns for index in range(count)]
    return {"src": [0] * count, "dst": [1] * count, "size_bytes": list(sizes), "start_ns": starts}


@pytest.mark.parametrize("persistent", [False, True])
def test_a_lone_flow_takes_as_long_as_the_link_does(pair: Pair, persistent: bool) -> None:
    size = 2_000_000
    before, began_ns = device_bytes(pair[0].namespace), time.monotonic_ns()
    found = play(pair, one_way(size), Options(persistent=persistent))
    took_ns = time.monotonic_ns() - began_ns
    wire = device_bytes(pair[0].namespace) - before
    (row,) = found.flows.iter_rows(named=True)
    assert row["finished"]
    assert row["received_bytes"] == size
    # A busy machine makes it slower; nothing makes it faster than the link, but for HTB's first burst.
    ideal_ns = 8e3 * size * FRAME / PAYLOAD / RATE_MBPS
    assert 0.95 * ideal_ns < row["fct_ns"] < took_ns
    assert row["sent_bytes"] >= size
    assert row["sent_packets"] >= size / PAYLOAD
    assert size * FRAME / PAYLOAD <= wire < 1.2 * row["sent_packets"] * FRAME


def test_all_bytes_of_all_flows_arrive(pair: Pair) -> None:
    rng = np.random.default_rng(1)
    count = 300
    source = rng.integers(0, 2, count)
    flows = {
        "src": source,
        "dst": 1 - source,
        "size_bytes": rng.integers(1, 30_000, count),
        "start_ns": np.sort(rng.uniform(0, 1e9, count)),
    }
    for options in (Options(), Options(persistent=True), Options(persistent=True, connections_per_pair=3)):
        found = play(pair, flows, options)
        assert found.unfinished == 0
        assert found.flows["received_bytes"].to_list() == flows["size_bytes"].tolist()
        assert found.flows["flow"].to_list() == list(range(count))
        assert (found.flows["fct_ns"] > found.flows["late_ns"]).all()
        assert (found.flows["late_ns"] >= 0).all()
        assert found.connections == count if not options.persistent else found.connections < count
        assert found.counters["OutSegs"] > count
        assert found.flows.columns == [name for name, _, _ in COLUMNS]


@pytest.mark.skipif(shutil.which("nft") is None, reason="nft not installed")
def test_losses_are_counted_by_flow_and_by_the_kernel_alike(pair: Pair) -> None:
    far = pair[1].namespace
    rules = "add table ip lossy; add chain ip lossy in { type filter hook input priority 0; };"
    rules += "add rule ip lossy in tcp dport 5001 numgen inc mod 97 == 96 counter drop"
    subprocess.run(["ip", "netns", "exec", far, "nft", rules], check=True)
    try:
        found = play(pair, one_way(2_000_000, 1_000_000), Options(sysctls={"net.ipv4.tcp_early_retrans": "0"}))
    finally:
        subprocess.run(["ip", "netns", "exec", far, "nft", "delete table ip lossy"], check=True)
    assert found.unfinished == 0
    again = int(found.flows["retransmitted_packets"].sum())
    assert again > 10
    # A lost SYN or RST is in one count only.
    assert abs(found.counters["RetransSegs"] - again) <= 3
    assert (found.flows["out_of_order_packets"] > 0).all()
    assert (found.flows["sent_bytes"] > found.flows["size_bytes"]).all()


def test_flows_that_do_not_end_in_time_are_counted(pair: Pair) -> None:
    found = play(pair, one_way(10_000, 20_000_000), Options(end_ns=2e9))
    assert found.flows["finished"].to_list() == [True, False]
    assert found.flows["fct_ns"].null_count() == 1
    assert 0 < found.flows["received_bytes"][1] < 20_000_000
    assert found.flows["sent_bytes"][1] >= found.flows["received_bytes"][1]
    assert "unfinished" in " ".join(found.warnings())


def test_an_unreachable_host_is_told_of(pair: Pair) -> None:
    lost = Endpoint(pair[1].namespace, "10.77.0.1")
    with inside(pair[1].namespace):
        subprocess.run(["ip", "address", "add", "10.77.0.1/32", "dev", "lo"], check=True)
    found = play((pair[0], lost), one_way(1000))
    assert found.unfinished == 1
    assert found.flows["error"].to_list() == ["Network is unreachable"]


def test_settings_hold_for_the_run_and_no_longer(pair: Pair) -> None:
    def recovery() -> str:
        with inside(pair[0].namespace):
            return Path("/proc/sys/net/ipv4/tcp_recovery").read_text().strip()

    before = recovery()
    found = play(pair, one_way(1000), Options(congestion_control="reno", sysctls={"net.ipv4.tcp_recovery": "0"}))
    assert found.settings["net.ipv4.tcp_recovery"] == "0"
    assert recovery() == before != "0"


def test_settings_say_what_sockets_ran_not_what_the_namespace_has(pair: Pair) -> None:
    # Reno is what any namespace may have by default.
    sysctls = {"net.ipv4.tcp_congestion_control": "reno"}
    for options in (Options(sysctls=sysctls), Options(sysctls=sysctls, persistent=True)):
        found = play(pair, one_way(1000), options)
        assert found.settings["congestion_control"] == options.congestion_control == "cubic"
        assert "reno" not in found.settings.values()
    # Where none is asked for, sockets run the namespace's.
    assert play(pair, one_way(1000), replace(options, congestion_control="")).settings["congestion_control"] == "reno"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(congestion_control="swift"), "swift: not in this kernel"),
        (Options(sysctls={"net.ipv4.tcp_nonsense": "1"}), "tcp_nonsense = 1: No such file"),
        (Options(sysctls={"net.ipv4/../../kernel": "1"}), "not a name below net"),
    ],
)
def test_what_the_kernel_lacks_is_said(pair: Pair, options: Options, said: str) -> None:
    with pytest.raises(AnabranchError, match=said):
        play(pair, one_way(1000), options)


def test_flows_that_wait_for_others_are_refused(pair: Pair) -> None:
    with pytest.raises(AnabranchError, match="wait for others"):
        play(pair, one_way(1000) | {"start_ns": [float("nan")]})


def test_what_happens_meanwhile_happens_in_time(pair: Pair) -> None:
    happened: list[str] = []
    sampled: list[int] = []
    play(
        pair,
        one_way(1000, 1000, gap_ns=15e8),
        actions=[(3e8, lambda: happened.append("second")), (1e8, lambda: happened.append("first"))],
        every_ns=100_000_000,
        sample=sampled.append,
    )
    assert happened == ["first", "second"]
    assert len(sampled) >= 4
    assert sampled == sorted(sampled)


def test_the_player_dies_with_whoever_asked_for_it(pair: Pair) -> None:
    script = (
        "from anabranch.lab.traffic.play import *;"
        f"ends = [Endpoint({pair[0].namespace!r}, '10.9.0.1'), Endpoint({pair[1].namespace!r}, '10.9.0.2')];"
        "flows = dict(src=[0], dst=[1], size_bytes=[10**9], start_ns=[0.0]);"
        "play(ends, flows, actions=[(0, lambda: print('plays', flush=True))])"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as asker:
        assert asker.stdout is not None
        assert asker.stdout.readline() == b"plays\n"
        children = children_of(asker.pid)
        os.kill(asker.pid, signal.SIGKILL)
    assert len(children) == 1
    deadline = time.monotonic() + DEADLINE_S
    while command_of(children[0]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not command_of(children[0])


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 not installed")
def test_long_flows_share_the_link(pair: Pair) -> None:
    found = long_flows(*pair, 2, streams=2, interval_s=0.5)
    # A busy machine makes it slower.
    assert 0.1 * RATE_MBPS * 1e6 < found.goodput_bps < 1.05 * RATE_MBPS * 1e6
    assert sum(found.each_bps) == pytest.approx(found.goodput_bps, rel=0.01)
    assert len(found.intervals_bps) >= 4
    assert found.rtt_mean_us > 0
    with pytest.raises(AnabranchError, match="iperf3"):
        long_flows(pair[0], Endpoint(pair[1].namespace, "10.9.0.3"), 1)
