"""Streams over real TCP: their rates, their packets, what kernels say of disorder."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch import AnabranchError
from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.traffic.play import Endpoint
from anabranch.lab.traffic.streams import Span, Stream, run
from support.lab_pair import device_bytes, shaped_pair

RATE_MBPS = 50
M = 1_000_000


Pair = tuple[Endpoint, Endpoint]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with shaped_pair(RATE_MBPS) as ends:
        yield ends


def test_streams_keep_to_their_rates_and_sizes(pair: Pair) -> None:
    streams = [Stream(0, 1, 2 * M), Stream(0, 1, 0.4 * M, 750), Stream(1, 0, 5 * M, 900)]
    found = run(pair, streams, Span(0.2, 3.0))
    seconds = found.window_ns / 1e9
    assert seconds >= 3
    for row, stream in zip(found.streams.iter_rows(named=True), streams, strict=True):
        # A block is a twentieth of a second; a busy machine writes some of them before the window, or after it.
        assert 8 * row["delivered_bytes"] / seconds == pytest.approx(stream.rate_bps, rel=0.3)
        # 40 bytes of headers and 12 of timestamps.
        assert row["delivered_bytes"] / row["received_packets"] == pytest.approx(stream.packet_bytes - 52, rel=0.1)
        # Nothing is lost; a busy machine makes a sender probe for what is only late (RFC 8985 section 7), and its two
        # processors may overtake each other.
        assert row["out_of_order_packets"] <= 20
        assert row["retransmitted_packets"] <= 20
    assert found.goodput_bps == pytest.approx(7.4 * M, rel=0.3)
    assert found.counters["TCPOFOQueue"] <= 60


def test_what_is_beyond_the_link_is_bounded_by_it(pair: Pair) -> None:
    before = device_bytes(pair[0].namespace)
    found = run(pair, [Stream(0, 1, 60 * M)] * 2, Span(0.3, 0.7))
    # A busy machine makes it slower; nothing makes it faster than the link, but for HTB's first burst.
    most_bps = 1448 / 1514 * RATE_MBPS * M
    assert 0.1 * most_bps < found.goodput_bps < 1.05 * most_bps
    assert device_bytes(pair[0].namespace) - before > found.total("delivered_bytes")
    # Held up by TCP, not by the generator.
    assert found.late_p99_ns < 1_000_000_000


@pytest.mark.skipif(shutil.which("nft") is None, reason="nft not installed")
def test_losses_are_gaps_at_the_receiver_and_sent_again(pair: Pair) -> None:
    far = pair[1].namespace
    rules = "add table ip lossy; add chain ip lossy in { type filter hook input priority 0; };"
    rules += "add rule ip lossy in ip length > 1000 numgen inc mod 97 == 96 counter drop"
    subprocess.run(["ip", "netns", "exec", far, "nft", rules], check=True)
    try:
        found = run(pair, [Stream(0, 1, 10 * M)], Span(0.3, 3.0))
    finally:
        subprocess.run(["ip", "netns", "exec", far, "nft", "delete table ip lossy"], check=True)
    again = found.total("retransmitted_packets")
    lost = found.total("sent_packets") / 97
    assert lost > 10
    # A busy machine probes for what is only late.
    assert lost - 4 < again < 1.5 * lost + 4
    assert found.total("out_of_order_packets") > lost
    assert found.counters["TCPOFOQueue"] > 0
    assert abs(found.counters["RetransSegs"] - again) <= 4


def test_settings_hold_for_the_run_and_no_longer(pair: Pair) -> None:
    def reordering() -> str:
        with inside(pair[1].namespace):
            return Path("/proc/sys/net/ipv4/tcp_max_reordering").read_text().strip()

    before = reordering()
    sysctls = {"net.ipv4.tcp_max_reordering": "3", "net.ipv4.tcp_sack": "0"}
    found = run(pair, [Stream(0, 1, 1 * M)], Span(0.05, 0.1, sysctls=sysctls))
    assert found.settings["net.ipv4.tcp_max_reordering"] == "3"
    assert reordering() == before != "3"


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (Stream(0, 2, M), "host 2: there are 2"),
        (Stream(0, 1, 0), "not above 0"),
        (Stream(0, 1, M, 9000), "packets of 9000 bytes: not from 128 to 1500"),
    ],
)
def test_streams_that_cannot_be_are_refused(pair: Pair, stream: Stream, said: str) -> None:
    with pytest.raises(AnabranchError, match=said):
        run(pair, [stream], Span(0.1, 0.1))


def test_an_unreachable_host_is_told_of(pair: Pair) -> None:
    lost = Endpoint(pair[1].namespace, "10.77.0.1")
    with inside(pair[1].namespace):
        subprocess.run(["ip", "address", "add", "10.77.0.1/32", "dev", "lo"], check=True)
    with pytest.raises(AnabranchError, match=r"10\.9\.0\.1 to 10\.77\.0\.1: Network is unreachable"):
        run((pair[0], lost), [Stream(0, 1, M)], Span(0.1, 0.1))
