"""Schemes written in Python behind the door of hosts: what they hear, what comes of what they say, what they raise."""

# ruff: noqa: ARG002, D102 -- methods have the arguments that they are given.

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch import AnabranchError
from anabranch.simulate.own import Ack, Connection, Packet
from support.small_scenario import write_small

ROOT = Path(__file__).resolve().parents[3]
CONGESTED = {"transport.kind": "dctcp", "fabric.link.ecn": "20 packets", "traffic.0.load": 0.9}
FAILING = {"change": [{"link": "leaf0-spine1", "at": "1 ms", "set": "down"}], "routing.delay": "5 ms"}
LOSSY = {"transport.kind": "newreno", "fabric.link.buffer": "20 KB"}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_small(tmp_path)


def run(small: Path, overrides: dict[str, Any], scheme: ab.Scheme | None = None) -> ab.Run:
    return ab.run(small, overrides, scheme=scheme, runs=small.parent / "runs", progress=False)


class Listens(ab.Scheme):
    """Hears everything and says nothing."""

    def __init__(self) -> None:
        self.opened_at: dict[int, int] = {}
        self.sent: list[Packet] = []
        self.heard: list[tuple[int, Ack]] = []
        self.timeouts = 0
        self.ended: list[int] = []

    def opened(self, connection: Connection) -> None:
        assert connection.state is None
        connection.state = connection.flow
        self.opened_at[connection.flow] = connection.now_ns

    def send(self, packet: Packet, connection: Connection) -> None:
        assert (packet.flow, packet.src, packet.dst) == (connection.state, connection.src, connection.dst)
        assert connection.entropy == 0
        self.sent.append(packet)

    def acknowledged(self, ack: Ack, connection: Connection) -> None:
        assert ack.rtt_ns <= connection.now_ns - self.opened_at[connection.flow]
        self.heard.append((connection.flow, ack))

    def timed_out(self, connection: Connection) -> None:
        self.timeouts += 1

    def closed(self, connection: Connection) -> None:
        self.ended.append(connection.flow)


def test_a_listener_hears_all_and_changes_nothing(small: Path) -> None:
    listener = Listens()
    own, plain = run(small, CONGESTED, listener), run(small, CONGESTED)
    assert own.flows.equals(plain.flows)
    assert own.ports.equals(plain.ports)
    flows = own.flows
    assert sorted(listener.opened_at) == list(range(flows.height))
    finished = flows.with_row_index().filter("finished")
    # The last acknowledgements of some had not come back when the run ended.
    assert set(listener.ended) <= set(finished["index"])
    assert len(listener.ended) > 0.9 * finished.height
    starts = flows["start_ns"].to_list()
    assert all(at_ns == int(starts[flow]) for flow, at_ns in listener.opened_at.items())
    assert {packet.kind for packet in listener.sent} <= {"syn", "data"}
    acknowledged = [0] * flows.height
    for flow, ack in listener.heard:
        acknowledged[flow] += ack.bytes
        assert ack.marked_bytes in (0, ack.bytes)
        assert ack.entropy == 0
    sizes = flows["size_bytes"]
    assert all(acknowledged[flow] == sizes[flow] for flow in listener.ended)
    assert any(ack.marked for _, ack in listener.heard)
    assert any(ack.marked_bytes for _, ack in listener.heard)
    assert any(ack.round_ended for _, ack in listener.heard)
    assert any(ack.idle for _, ack in listener.heard)
    # Two links of 1 us each way to the nearest host, and no queue.
    assert min(ack.rtt_ns for _, ack in listener.heard) >= 4000


def leaf_paths(found: ab.Run) -> pl.Series:
    """Number of paths that each finished flow between leaves took."""
    return found.flows.filter(pl.col("src") // 2 != pl.col("dst") // 2, pl.col("finished"))["paths"]


class Spray(ab.Scheme):
    """Another entropy for every packet."""

    def send(self, packet: Packet, connection: Connection) -> int:
        return connection.draw_entropy()


class Moves(ab.Scheme):
    """Another entropy at every mark."""

    def acknowledged(self, ack: Ack, connection: Connection) -> int | None:
        return (connection.entropy + 1) % 2**16 if ack.marked else None


def test_entropy_decides_the_path_and_a_run_repeats(small: Path) -> None:
    plain = run(small, CONGESTED)
    for scheme in (Spray, Moves):
        own, again = run(small, CONGESTED, scheme()), run(small, CONGESTED, scheme())
        assert own.flows.equals(again.flows)
        assert not own.flows.equals(plain.flows)
    other = run(small, CONGESTED | {"seed": 2}, Spray())
    assert other.flows["fct_ns"].to_list() != run(small, CONGESTED, Spray()).flows["fct_ns"].to_list()
    shares = run(small, CONGESTED, Spray()).ports
    sent = shares.group_by("from", "to").agg(pl.col("sent_bytes").sum())
    up = sent.filter(pl.col("from") == 4, pl.col("to").is_in([6, 7]))["sent_bytes"].to_list()
    # Acknowledgements, a few per cent of the bytes, stay on their paths.
    assert len(up) == 2
    assert abs(up[0] - up[1]) < 0.05 * sum(up)


@pytest.mark.parametrize("extra", [{}, FAILING, LOSSY])
@pytest.mark.parametrize("suspend", [60_000_000_000, 2_000_000])
def test_the_small_plb_decides_exactly_as_plb_of_the_house(small: Path, extra: dict[str, Any], suspend: int) -> None:
    """The same rule and the same random bits: the same run, bit for bit."""
    plb = runpy.run_path(str(ROOT / "examples" / "own" / "small_plb.py"))["SmallPlb"]
    own = plb()
    own.suspend_ns, own.rounds, own.idle_rounds = suspend, 2, 1
    settings = CONGESTED | {"fabric.link.ecn": "5 packets", "fabric.hosts_per_leaf": 8, "fabric.spines": 4} | extra
    parameters = {"suspend": f"{suspend} ns", "rounds": 2, "idle_rounds": 1}
    house = run(small, settings | {"routing.balance": "plb", "routing.scheme": parameters})
    mine = run(small, settings, own)
    assert mine.flows.equals(house.flows)
    assert mine.ports.equals(house.ports)
    assert not mine.flows.equals(run(small, settings).flows)


class Broken(ab.Scheme):
    """Fails at its tenth call."""

    calls = 0

    def fail(self) -> None:
        self.calls += 1
        if self.calls == 10:
            raise ZeroDivisionError("mine")


class BrokenSend(Broken):
    """Fails in send."""

    def send(self, packet: Packet, connection: Connection) -> None:
        self.fail()


class BrokenClosed(Broken):
    """Fails in closed."""

    def closed(self, connection: Connection) -> None:
        self.fail()


class BrokenAcknowledged(Broken):
    """Fails in acknowledged."""

    def acknowledged(self, ack: Ack, connection: Connection) -> None:
        self.fail()


@pytest.mark.parametrize("scheme", [BrokenSend, BrokenClosed, BrokenAcknowledged])
def test_what_a_method_raises_comes_out_and_nothing_is_written(small: Path, scheme: type[Broken]) -> None:
    broken = scheme()
    with pytest.raises(ZeroDivisionError, match="mine") as error:
        run(small, CONGESTED, broken)
    assert error.traceback[-2].name == scheme.__name__.removeprefix("Broken").lower()
    assert broken.calls == 10
    assert list((small.parent / "runs").iterdir()) == []


def says(value: object) -> ab.Scheme:
    class Says(ab.Scheme):
        def opened(self, connection: Connection) -> Any:
            return value

    return Says()


class TwoDoors(Spray):
    """Both doors."""

    def pick(self, packet: Packet, view: object) -> int:
        return 0


@pytest.mark.parametrize(
    ("scheme", "overrides", "message"),
    [
        (says(65_536), {}, "opened: 65536 is no entropy; return an integer from 0 to 65535, or None"),
        (says(-1), {}, "opened: -1 is no entropy"),
        (says("a"), {}, "opened: 'a' is no entropy"),
        (says(1.5), {}, "opened: 1.5 is no entropy"),
        (TwoDoors(), {}, "TwoDoors overrides pick and send; override weights alone, pick alone, or methods of hosts"),
        (Spray(), {"routing.balance": "conga"}, "choose granularity and table instead"),
    ],
)
def test_nonsense_is_refused(small: Path, scheme: ab.Scheme, overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(AnabranchError, match=message):
        run(small, overrides, scheme)
    assert not list((small.parent / "runs").glob("*"))


def test_the_manifest_says_which_methods_were_asked(small: Path) -> None:
    found = run(small, CONGESTED, Moves())
    assert found.manifest["scheme"]["asked"] == "hosts"
    assert found.manifest["scheme"]["methods"] == ["acknowledged"]
    assert found.manifest["scheme"]["ecmp_packet_hops_per_s"] > 0
