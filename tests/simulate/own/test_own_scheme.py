"""Schemes written in Python: what they are shown, what comes of what they say, what they raise, what is kept."""

# ruff: noqa: ARG002, D102 -- methods have the arguments that they are given.

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch import AnabranchError
from anabranch.simulate.own import Group, Member, Packet, View
from anabranch.simulate.own.scheme import integers
from support.small_scenario import LONG, write_small

WEIGHTED = {"routing.balance": "valo"}
SPRAY = {"routing.balance": "spray"}


class Still(ab.Scheme):
    """Says nothing."""

    epoch = "100 us"

    def __init__(self) -> None:
        self.seen: list[tuple[Group, Sequence[Member]]] = []

    def weights(self, group: Group, stats: Sequence[Member]) -> None:
        self.seen.append((group, stats))


class First(ab.Scheme):
    """All by the first."""

    epoch = "1 ms"

    def weights(self, group: Group, stats: Sequence[Member]) -> Iterable[float]:
        return [float(index == 0) for index, _ in enumerate(group.members)]


class ByFlow(ab.Scheme):
    """Flow f by member f mod n."""

    def __init__(self) -> None:
        self.seen: list[tuple[Packet, str, tuple[str, ...], int, float]] = []

    def pick(self, packet: Packet, view: View) -> int:
        self.seen.append((packet, view.switch, view.members, view.now_ns, view.random()))
        return packet.flow % len(view.members)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_small(tmp_path)


def run(small: Path, overrides: dict[str, Any], scheme: ab.Scheme | None = None) -> ab.Run:
    return ab.run(small, overrides, scheme=scheme, runs=small.parent / "runs", progress=False)


def up_ports(found: ab.Run) -> pl.DataFrame:
    """Ports from leaves to spines, by name."""
    names = pl.DataFrame({"node": range(len(found.topology["nodes"]["name"])), "name": found.topology["nodes"]["name"]})
    ports = found.ports.with_columns(
        pl.col(end).cast(pl.Int64).replace_strict(names["node"], names["name"]) for end in ("from", "to")
    )
    return ports.filter(pl.col("from").str.starts_with("leaf"), pl.col("to").str.starts_with("spine"))


def test_a_scheme_that_says_nothing_changes_nothing(small: Path) -> None:
    still = Still()
    own, plain = run(small, WEIGHTED, still), run(small, WEIGHTED)
    assert own.flows.equals(plain.flows)
    assert own.ports.equals(plain.ports)
    groups = {group.switch for group, _ in still.seen}
    assert groups == {"leaf0", "leaf1"}
    for group, stats in still.seen:
        assert group.members == ("spine0", "spine1") == tuple(member.name for member in stats)
        assert group.weights == (1, 1)
        assert group.now_ns % 100_000 == 0
        assert all(member.up and member.rate_bps == 10_000_000_000 for member in stats)
    counted = sum(stats[1].sent_bytes for group, stats in still.seen if group.switch == "leaf0")
    sent = int(up_ports(own).filter((pl.col("from") == "leaf0") & (pl.col("to") == "spine1"))["sent_bytes"].sum())
    assert sent * 0.9 < counted <= sent


def test_weights_decide(small: Path) -> None:
    ports = up_ports(run(small, WEIGHTED, First()))
    assert ports.filter(pl.col("to") == "spine0")["sent_packets"].sum() > 0
    assert ports.filter(pl.col("to") == "spine1")["sent_packets"].sum() == 0


def test_picks_decide_and_show_whose_packets_they_are(small: Path) -> None:
    scheme = ByFlow()
    found = run(small, SPRAY, scheme)
    assert set(found.flows["paths"].unique()) <= {0, 1}
    sizes, hosts = found.flows["size_bytes"], found.flows.select("src", "dst")
    for packet, switch, members, _, random in scheme.seen:
        src, dst = hosts.row(packet.flow)
        forth = packet.kind in {"syn", "data"}
        assert forth or packet.kind in {"syn-ack", "ack"}
        assert packet.size_bytes == sizes[packet.flow]
        assert (packet.src, packet.dst) == ((src, dst) if forth else (dst, src))
        assert packet.payload_bytes <= packet.frame_bytes <= 1518
        assert members == ("spine0", "spine1")
        assert switch == f"leaf{packet.src // 2}"
        assert packet.destination_leaf == f"leaf{packet.dst // 2}" != switch
        assert 0 <= random < 1
    times = [now_ns for *_, now_ns, _ in scheme.seen]
    assert times == sorted(times)
    randoms = [random for *_, random in scheme.seen]
    assert abs(sum(randoms) / len(randoms) - 0.5) < 5 * (1 / 12 / len(randoms)) ** 0.5
    again = ByFlow()
    assert run(small, SPRAY, again).flows.equals(found.flows)
    assert [random for *_, random in again.seen] == randoms
    other = ByFlow()
    run(small, SPRAY | {"seed": 2}, other)
    assert [random for *_, random in other.seen[:20]] != randoms[:20]


def test_decisions_are_as_many_as_the_granularity_wants(small: Path) -> None:
    counts = {}
    for balance in ("ecmp", "flowcell", "spray"):
        scheme = ByFlow()
        found = run(small, {"routing.balance": balance}, scheme)
        counts[balance] = len(scheme.seen)
    crossing = found.flows.filter(pl.col("src") // 2 != pl.col("dst") // 2)
    assert counts["ecmp"] == 2 * crossing.height
    assert counts["ecmp"] < counts["flowcell"] < counts["spray"]


def test_a_view_shows_queues_and_refuses_members_there_are_not(small: Path) -> None:
    class Looks(ab.Scheme):
        longest = 0

        def pick(self, packet: Packet, view: View) -> int:
            queues = [view.backlog(member) for member in range(len(view.members))]
            self.longest = max(self.longest, *queues)
            assert view.up(0)
            assert view.up(1)
            return queues.index(min(queues))

    looks = Looks()
    found = run(small, SPRAY, looks)
    assert 0 < looks.longest <= max(up_ports(found)["backlog_max_bytes"])

    class Beyond(ab.Scheme):
        def pick(self, packet: Packet, view: View) -> int:
            return view.backlog(2)

    with pytest.raises(IndexError, match="member 2 of 2; they are counted from 0"):
        run(small, SPRAY, Beyond())


class Broken(ab.Scheme):
    """Fails at the tenth decision."""

    def __init__(self) -> None:
        self.calls = 0

    def pick(self, packet: Packet, view: View) -> int:
        self.calls += 1
        if self.calls == 10:
            raise ZeroDivisionError("mine")
        return 0


class BrokenWeights(ab.Scheme):
    """Fails at the third epoch."""

    epoch = "1 ms"

    def weights(self, group: Group, stats: Sequence[Member]) -> None:
        if group.now_ns == 2_000_000:
            raise LookupError("mine")


@pytest.mark.parametrize(("scheme", "raised"), [(Broken, ZeroDivisionError), (BrokenWeights, LookupError)])
def test_what_a_scheme_raises_comes_out_and_nothing_is_written(
    small: Path, scheme: type[ab.Scheme], raised: type[Exception]
) -> None:
    with pytest.raises(raised, match=r"^.?mine.?$") as error:
        run(small, WEIGHTED, scheme())
    assert error.traceback[-1].path == Path(__file__)
    assert list((small.parent / "runs").iterdir()) == []


def says(value: object) -> ab.Scheme:
    """A scheme whose method returns what it must not."""

    class Says(ab.Scheme):
        epoch = "1 ms"

        def weights(self, group: Group, stats: Sequence[Member]) -> Any:
            return value

    return Says()


def picks(value: object) -> ab.Scheme:
    class Picks(ab.Scheme):
        def pick(self, packet: Packet, view: View) -> Any:
            return value

    return Picks()


class Neither(ab.Scheme):
    """Nothing."""


class Both(First):
    """Two ways."""

    def pick(self, packet: Packet, view: View) -> int:
        return 0


class NoEpoch(First):
    """Never."""

    epoch = ""


class BadEpoch(First):
    """Weigher whose epoch is a word."""

    epoch = "often"


@pytest.mark.parametrize(
    ("scheme", "overrides", "message"),
    [
        (says([1]), WEIGHTED, "weights: 1 for 2 members; return one weight per member"),
        (says([0, 0]), WEIGHTED, "leave no member that is up; return a positive weight"),
        (says([1, -1]), WEIGHTED, "weights: -1 is no weight; return finite numbers"),
        (says([1, float("nan")]), WEIGHTED, "weights: nan is no weight"),
        (says([1, "2"]), WEIGHTED, "weights: '2' is no weight"),
        (says([1, 1]), {}, "the table `uniform` takes all members alike.*min-move"),
        (says([1, 1]), {"routing.balance": "ideal"}, "choose granularity and table instead"),
        (picks(2), SPRAY, "pick: 2 is no member; return an index from 0 to 1"),
        (picks(-1), SPRAY, "pick: -1 is no member"),
        (picks(None), SPRAY, "pick: None is no member"),
        (Neither(), {}, "Neither overrides no method; override weights or pick for switches, or some of opened"),
        (Both(), {}, "Both overrides weights and pick; override weights alone, pick alone"),
        (NoEpoch(), {}, "NoEpoch has no epoch.*epoch = "),
        (BadEpoch(), WEIGHTED, 'epoch: "often" is no time; give one such as "100 us"'),
        (First, {}, r"is no ab.Scheme; .*scheme=Mine\(\)"),
    ],
)
def test_what_makes_no_sense_is_refused(small: Path, scheme: Any, overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(AnabranchError, match=message):
        run(small, overrides, scheme)
    assert not list((small.parent / "runs").glob("*"))


def test_results_are_kept_under_name_and_version_only(small: Path) -> None:
    class Counting(First):
        calls = 0

        def weights(self, group: Group, stats: Sequence[Member]) -> Iterable[float]:
            Counting.calls += 1
            return super().weights(group, stats)

    plain = run(small, WEIGHTED)
    first, second = run(small, WEIGHTED, Counting()), run(small, WEIGHTED, Counting())
    calls = Counting.calls // 2
    assert first.folder != second.folder != plain.folder
    assert first.manifest["identity"] is None
    assert first.flows.equals(second.flows)
    assert not first.flows.equals(plain.flows)

    class Versioned(Counting):
        version: str | None = "1"

    kept = run(small, WEIGHTED, Versioned())
    assert run(small, WEIGHTED, Versioned()).folder == kept.folder
    assert Counting.calls == 3 * calls
    assert kept.manifest["scheme"] == {"name": "Versioned", "version": "1", "asked": "weights", "epoch": "1 ms"}
    Versioned.version = "2"
    others = [run(small, WEIGHTED, Versioned()), run(small, WEIGHTED | {"seed": 2}, Versioned())]
    identities = {str(found.manifest["identity"]) for found in (plain, kept, *others)}
    assert len(identities) == 4
    assert len({found.folder for found in (plain, kept, *others)}) == 4
    ab.run(small, WEIGHTED, scheme=Versioned(), runs=small.parent / "runs", progress=False, again=True)
    assert Counting.calls > 5 * calls


def test_the_slowdown_is_printed_in_a_line(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ab.run(small, SPRAY, scheme=ByFlow(), runs=small.parent / "runs")
    said = capsys.readouterr().err
    assert re.fullmatch(
        r"ByFlow: [\d.e+-]+ million packet-hops/s with pick\(\) in Python, [\d.e+-]+ times slower than ECMP on "
        r"the same run \([\d.e+-]+\)\n",
        said,
    )
    assert found.manifest["scheme"]["ecmp_packet_hops_per_s"] > 0


def test_weights_are_small_integers_of_the_same_ratios() -> None:
    assert integers([10_000_000_000, 2_500_000_000]) == [4, 1]
    assert integers([0.5, 0.25]) == [1000, 500]
    assert integers([1, 1e-9, 0]) == [1000, 1, 0]
    assert integers([3001, 1500]) == [1000, 500]
    assert integers([0, 0.0]) == [0, 0]
    assert integers([]) == []


CTRL_C = """
import anabranch as ab

class Mine(ab.Scheme):
    epoch = "10 us"
    def METHOD:
        print("asked", flush=True)

ab.run("long.toml", {"routing.balance": "valo", "traffic.load": 0.01}, scheme=Mine(), progress=False)
"""


@pytest.mark.parametrize("method", ["weights(self, group, stats)", "pick(self, packet, view)"])
def test_ctrl_c_ends_a_run(tmp_path: Path, method: str) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    answer = "; return 0" if method.startswith("pick") else ""
    script = CTRL_C.replace("METHOD", method).replace("flush=True)", f"flush=True){answer}")
    running = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "asked\n"
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode != 0
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert list((tmp_path / "runs").iterdir()) == []
