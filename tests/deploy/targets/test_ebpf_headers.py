"""Where a real datapath of the kernel sends packets with other headers around their 5-tuple, against `explain`."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from anabranch.deploy.targets.ebpf.explain import Predicted, explain
from anabranch.deploy.targets.plan.captured import captured
from anabranch.split.trace import read_trace
from support.command import anabranch
from support.header_frames import DCCP, ESP, KINDS, RECEIVER, SCTP, TCP, UDP, UDP_LITE, Framed, framed, pcap
from support.own_datapaths import drained, ip, pairs, receiver, sender, with_own_datapaths

PATIENCE_S = 60.0
PLAN = """\
seed = 7
scheme = "{scheme}"
[switch]
dev = ["in"]
hook = "{hook}"
[[group]]
name = "all"
match = {{ ip_dst = ["10.1.0.0/16", "fd01::/32"] }}
ports = ["e1", "e2", "e3"]
{weights}
"""
PASSES, UNREAD = ("4 mpls", "4 old tag"), ("4 three tags", "4 old tag", "6 options behind")
"""Kinds that no program redirects, and those of which a capture does not tell enough."""


def written(
    folder: Path, scheme: str = "weighted", weights: str = "weights = [4, 3, 2]", hook: str = "ingress"
) -> Path:
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(scheme=scheme, weights=weights, hook=hook))
    return plan


def done(verb: str, plan: Path) -> None:
    run = anabranch(verb, str(plan), "--target", "ebpf")
    assert run.returncode == 0, run.stderr


def redirected(frames: Sequence[Framed], by: str, arriving: int) -> dict[int, str]:
    """The device by which each frame left; those that pass are to be sent first."""
    left: dict[int, str] = {}
    with ExitStack() as stack:
        ears = {port: stack.enter_context(receiver(f"p{port}")) for port in ("e1", "e2", "e3")}
        with sender(by) as out:
            for one in frames:
                out.send(one.frame)
        deadline = time.monotonic() + PATIENCE_S
        while len(left) < arriving and time.monotonic() < deadline:
            time.sleep(0.001)
            for port, ear in ears.items():
                arrived = (data for data in drained(ear) if data[:6] == RECEIVER)
                left |= {int.from_bytes(data[6:12], "big"): port for data in arrived}
    assert len(left) == arriving
    return left


def told(plan: Path, capture: Path, frames: Sequence[Framed]) -> list[Predicted]:
    """One capture for each kind of headers, so that the order of connections is that of the frames."""
    found: list[Predicted] = []
    for kind in dict.fromkeys(one.kind for one in frames):
        capture.write_bytes(pcap(one.frame for one in frames if one.kind == kind))
        found += explain(str(plan), captured(read_trace(capture, direction="each-headers")))
    assert len(found) == len(frames)
    return found


def compared(frames: Sequence[Framed], said: Sequence[Predicted], left: dict[int, str]) -> Counter[str]:
    """How many go where it is said; fails where one does not."""
    for frame, one in zip(frames, said, strict=True):
        if one.known:
            assert one.outcome == left.get(frame.number, "others decide"), (frame.kind, one)
        assert one.known != (frame.kind in UNREAD), one
    return Counter(one.outcome for one in said)


def of_every_kind(hosts: range) -> list[Framed]:
    kinds = [*PASSES, *(kind for kind in KINDS if kind not in PASSES)]
    return framed(kinds, hosts, (TCP, UDP, SCTP, DCCP, UDP_LITE, ESP))


@pytest.mark.parametrize("hook", ["ingress", "egress", "xdp"])
def test_every_kind_of_headers_goes_where_it_is_said(hook: str, tmp_path: Path) -> None:
    @with_own_datapaths
    def run() -> None:
        pairs("in", "e1", "e2", "e3")
        plan, frames = written(tmp_path, hook=hook), of_every_kind(range(1, 11))
        # Nothing stands yet; then the same from the table that stands.
        said = told(plan, tmp_path / "kind.pcap", frames)
        done("apply", plan)
        # Where a tag is taken off before the program reads, it reads behind a third one.
        passing = sum(one.kind in PASSES or (one.kind == "4 three tags" and hook != "ingress") for one in frames)
        left = redirected(frames, "in" if hook == "egress" else "pin", len(frames) - passing)
        assert compared(frames, said, left).keys() > {"e1", "e2", "e3", "others decide"}
        standing = told(plan, tmp_path / "kind.pcap", frames)
        assert [(one.connection, one.path) for one in standing] == [(one.connection, one.path) for one in said]

    run()


@with_own_datapaths
def test_every_scheme_that_decides_by_the_connection_and_a_table_with_a_history(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    frames = framed(("4 whole", "4 later", "6 whole", "6 ah"), range(1, 21))
    capture, given = tmp_path / "kind.pcap", "weights = [4, 3, 2]"
    for scheme, weights in {
        **dict.fromkeys(("valo", "weighted-random", "wcmp", "scoring", "log-rendezvous"), given),
        **dict.fromkeys(("random", "ecmp"), ""),
        "weighted": given + '\nerror = "0.01%"',
    }.items():
        plan = written(tmp_path, scheme, weights)
        said = told(plan, capture, frames)
        done("apply", plan)
        assert len(compared(frames, said, redirected(frames, "pin", len(frames)))) == 3, scheme
        done("remove", plan)
    # Slots that weights have moved, by the fewest moves, and a path that is down.
    changed = ("weights = [4, 3, 2]", "weights = [1, 5, 2]", "weights = [2, 3, 4]")
    first = told(written(tmp_path, weights=changed[-1]), capture, frames)
    for weights in changed:
        plan = written(tmp_path, weights=weights)
        said = told(plan, capture, frames)
        done("apply", plan)
        compared(frames, said, redirected(frames, "pin", len(frames)))
    assert [one.path for one in said] != [one.path for one in first]
    ip("link", "set", "pe2", "down")
    said = told(plan, capture, frames)
    done("apply", plan)
    assert compared(frames, said, redirected(frames, "pin", len(frames))).keys() == {"e1", "e3"}


@with_own_datapaths
def test_what_is_not_known_is_said_with_the_reason(tmp_path: Path) -> None:
    connection = "10.9.0.1,10.1.0.9,tcp,1,2"

    def said(plan: Path) -> tuple[int, str]:
        run = anabranch("explain", connection, "--plan", str(plan), "--target", "ebpf", "--json", "-")
        assert not run.stderr, run.stderr
        return run.returncode, json.loads(run.stdout)["connections"][0]["outcome"]

    for scheme, reason in {
        "spray": "each packet is drawn",
        "letflow": "each flowlet is drawn",
        "presto": "each 64 KiB",
        "dbb": "packets take turns",
    }.items():
        status, outcome = said(
            written(tmp_path, scheme, "" if scheme == "spray" or scheme == "presto" else "weights = [4, 3, 2]")
        )
        assert (status, reason in outcome) == (3, True), outcome
    # Neither ICMP's type and code nor ports of other protocols are read.
    given, bare = (
        anabranch("explain", *texts, "--plan", str(written(tmp_path)), "--target", "ebpf", "--json", "-").stdout
        for texts in (
            ("10.9.0.1,10.1.0.9,icmp,8,0", "10.9.0.1,10.1.0.9,136,5,6"),
            ("10.9.0.1,10.1.0.9,icmp", "10.9.0.1,10.1.0.9,136"),
        )
    )
    paths = [[one["steps"][-4:] for one in json.loads(text)["connections"]] for text in (given, bare)]
    assert paths[0] == paths[1]
    unseeded = written(tmp_path)
    unseeded.write_text(unseeded.read_text().replace("seed = 7\n", ""))
    run = anabranch("explain", connection, "--plan", str(unseeded), "--target", "ebpf")
    assert (run.returncode, "group all: seed: missing" in run.stderr) == (2, True)
    # Where it is applied, the datapath has the seed.
    pairs("in", "e1", "e2", "e3")
    done("apply", unseeded)
    status, outcome = said(unseeded)
    assert (status, outcome in ("e1", "e2", "e3")) == (0, True)
