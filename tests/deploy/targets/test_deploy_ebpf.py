"""Plans in the kernel's datapath: applied, compared, verified and removed, with packets over real devices."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from socket import if_nametoindex
from threading import Event, Thread

import pytest

from anabranch._core import KernelDatapath, KernelGroup
from anabranch.deploy.targets.ebpf import datapath as ebpf_datapath
from anabranch.deploy.targets.ebpf import plan_file as ebpf_plan
from anabranch.deploy.targets.ebpf.change import put
from anabranch.deploy.targets.ebpf.folder import own_folder
from anabranch.deploy.targets.ebpf.observe import devices_now
from support.command import Run, anabranch
from support.own_datapaths import arrivals, frame, frames, ip, pairs, sender, strays, with_own_datapaths
from support.verdict import as_planned

PLAN = """\
seed = 7

[switch]
dev = ["in"]

[[group]]
name = "to-leaf2"
match = { ip_dst = ["10.2.0.0/16", "fd00:2::/32"] }
ports = ["e1", "e2", "e3"]
weights = [4, 3, 2]
"""
PORTS = ["pe1", "pe2", "pe3"]
PINS = Path("/sys/fs/bpf/anabranch")
EXAMPLE = Path(__file__).parents[3] / "examples" / "plan-ebpf.toml"


def on_kernel(verb: str, plan: Path, *options: str) -> Run:
    return anabranch(verb, str(plan), "--target", "ebpf", *options)


def done(verb: str, plan: Path, *options: str) -> str:
    run = on_kernel(verb, plan, *options)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def written(folder: Path, text: str, name: str = "plan.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def connections(count: int, destination: str = "10.2.0.9") -> list[bytes]:
    return [frame(1000 + number, destination) for number in range(count)]


def near(got: Counter[str], weights: list[int]) -> bool:
    """Whether a split of connections is within five standard deviations of chance of its weights."""
    sent = got.total()
    shares = [weight / sum(weights) for weight in weights]
    return all(
        abs(got[port] - sent * share) <= 5 * (sent * share * (1 - share)) ** 0.5
        for port, share in zip(PORTS, shares, strict=True)
    )


@with_own_datapaths
def test_a_plan_goes_in_splits_is_verified_and_comes_out(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN)
    dry = done("apply", plan, "--dry-run")
    assert dry.splitlines() == [
        "+ datapath plan slots, room for 8 groups, 16 routes",
        "+ group to-leaf2 10.2.0.0/16,fd00:2::/32 -> redirect seed=7: e1 weight=4, e2 weight=3, e3 weight=2",
        "+ attached to in ingress",
        "3 changes to make; this owner will have: datapath plan slots on in ingress, 1 groups, 2 routes",
    ]
    assert not PINS.exists()
    assert on_kernel("diff", plan).returncode == 1
    assert on_kernel("verify", plan).returncode == 1
    assert done("apply", plan).replace("made; this owner has", "to make; this owner will have") == dry
    assert done("diff", plan).startswith("nothing to do; this owner has: datapath plan slots on in ingress")
    for destination in ("10.2.0.9", "fd00:2::9"):
        got = arrivals(connections(2000, destination), "pin", PORTS)
        assert got.total() == 2000
        assert near(got, [4, 3, 2])
        # The same connections go the same ways, and nobody else's come along.
        assert arrivals(connections(2000, destination), "pin", PORTS) == got
    assert strays(connections(100, "10.3.0.9"), "pin", PORTS) == 0
    # What the process that applied it leaves behind goes on without it, and is found by the next.
    script = [sys.executable, "-m", "anabranch", "remove", str(plan), "--target", "ebpf"]
    removed = subprocess.run(script, capture_output=True, text=True, check=False)
    assert removed.returncode == 0, removed.stderr
    assert [line[:2] for line in removed.stdout.splitlines()[:3]] == ["- ", "- ", "- "]
    assert not PINS.exists()
    assert strays(connections(100), "pin", PORTS) == 0
    assert "nothing to do" in done("remove", plan)


@with_own_datapaths
def test_verify_measures_what_passes_meanwhile(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN)
    done("apply", plan)
    arrivals(connections(300), "pin", PORTS)
    quiet = on_kernel("verify", plan, "--seconds", "0.01")
    assert quiet.returncode == 3
    assert "no packet came" in quiet.stdout

    def verified(send: list[bytes], *options: str) -> Run:
        """While it measures, a thread of the same namespace sends these over and over."""
        ended = Event()

        def run() -> None:
            with sender("pin") as out:
                for one in itertools.cycle(send):
                    if ended.is_set():
                        return
                    out.send(one)

        sending = Thread(target=run, daemon=True)
        sending.start()
        try:
            return on_kernel("verify", plan, "--seconds", "1", *options)
        finally:
            ended.set()
            sending.join()

    many = [frame(1000 + number) for number in range(60_000)]
    right = as_planned(lambda _: verified(many, "--connections", "2000"))
    assert "weighted (slots), " in right.stdout
    assert "as planned: chance alone puts 2,000 connections as far off in" in right.stdout
    wrong = verified([frame(1000)], "--connections", "2000")
    assert wrong.returncode == 1
    assert "wrong: chance alone puts 2,000 connections" in wrong.stdout
    # Sprayed packets are draws, those in turn are counted.
    written(tmp_path, 'scheme = "spray"\n' + PLAN)
    done("apply", plan)
    sprayed = as_planned(lambda _: verified([frame(1000)]))
    assert "as planned: chance alone puts" in sprayed.stdout
    written(tmp_path, 'scheme = "dbb"\n' + PLAN)
    done("apply", plan)
    turned = verified([frame(1000)])
    assert turned.returncode == 0, turned.stdout
    assert re.search("as planned: (exactly|taking turns puts no path off by more than)", turned.stdout)


@with_own_datapaths
def test_other_weights_move_the_fewest_connections_and_keep_the_counters(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN)
    done("apply", plan)
    before = ways(1200)
    written(tmp_path, PLAN.replace("[4, 3, 2]", "[4, 3, 0]"))
    assert [line[:2] for line in done("apply", plan).splitlines()[:2]] == ["~-", "~+"]
    after = ways(1200)
    assert all(after[port] == way for port, way in before.items() if way != "pe3")
    assert {after[port] for port, way in before.items() if way == "pe3"} == {"pe1", "pe2"}
    (counted,) = standing("plan").counters()
    assert sum(packets for packets, _ in counted) == 2400


def ways(count: int) -> dict[int, str]:
    """The device at which each of so many connections arrives, by its source port."""
    arrived = frames(connections(count), "pin", PORTS)
    found = {int.from_bytes(data[34:36], "big"): name for name, all_of_it in arrived.items() for data in all_of_it}
    assert len(found) == count
    return found


def folder(name: str) -> Path:
    return PINS / str(Path("/proc/thread-self/ns/net").stat().st_ino) / name


def standing(name: str) -> KernelDatapath:
    found = KernelDatapath.open(folder(name))
    assert found is not None
    return found


@with_own_datapaths
def test_devices_hooks_and_names(tmp_path: Path) -> None:
    pairs("in", "in2", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN)
    done("apply", plan)
    more = done("apply", plan, "--dev", "in", "--dev", "in2")
    assert more.splitlines()[0] == "+ attached to in2 ingress"
    assert arrivals(connections(90), "pin2", PORTS).total() == 90
    fewer = done("apply", plan, "--dev", "in2")
    assert fewer.splitlines()[0] == "- attached to in ingress"
    assert strays(connections(90), "pin", PORTS) == 0
    turned = done("apply", plan, "--dev", "in2", "--hook", "egress")
    assert turned.splitlines()[:2] == ["+ attached to in2 egress", "- attached to in2 ingress"]
    # What leaves by in2 goes elsewhere now.
    assert arrivals(connections(90), "in2", PORTS).total() == 90
    assert strays(connections(90), "pin2", PORTS) == 0
    raw = done("apply", plan, "--hook", "xdp")
    assert "+ attached to in xdp" in raw
    assert arrivals(connections(90), "pin", PORTS).total() == 90
    # A plan under another name stands beside it, and behind it where both are for a packet.
    other = written(tmp_path, PLAN.replace("[switch]", '[switch]\nname = "other"').replace("10.2.", "10.4."), "b.toml")
    done("apply", other)
    assert arrivals(connections(90, "10.4.0.9"), "pin", PORTS).total() == 90
    done("remove", plan)
    assert strays(connections(90), "pin", PORTS) == 0
    assert arrivals(connections(90, "10.4.0.9"), "pin", PORTS).total() == 90


@pytest.mark.parametrize("hook", ["ingress", "xdp"])
def test_what_is_somebody_elses_stays(hook: str, tmp_path: Path) -> None:
    @with_own_datapaths
    def run() -> None:
        pairs("in", "e1", "e2", "e3")
        index = if_nametoindex("in")
        theirs = KernelDatapath.create("/sys/fs/bpf/theirs", "slots", 8, 16)
        target = if_nametoindex("e1")
        theirs.put([KernelGroup("t", ["10.9.0.0/16"], [target], [1], [True], "redirect")])
        theirs.attach(index, hook)
        filtered = ["tc", "filter", "add", "dev", "in", "ingress", "protocol", "ip", "pref", "7", "u32"]
        subprocess.run(["tc", "qdisc", "add", "dev", "in", "clsact"], check=True)
        subprocess.run([*filtered, "match", "ip", "dst", "10.77.0.0/16", "flowid", "1:1"], check=True)
        show = ["tc", "filter", "show", "dev", "in", "ingress"]
        filters = subprocess.run(show, capture_output=True, check=True).stdout
        plan = written(tmp_path, PLAN)
        if hook == "xdp":
            refused = on_kernel("apply", plan, "--hook", "xdp")
            assert refused.returncode == 2
            assert "in: xdp, which takes one program" in refused.stderr
            assert not folder("plan").exists()
        done("apply", plan)
        assert arrivals(connections(90), "pin", PORTS).total() == 90
        assert arrivals(connections(90, "10.9.0.9"), "pin", PORTS) == {"pe1": 90, "pe2": 0, "pe3": 0}
        written(tmp_path, 'scheme = "valo"\n' + PLAN)
        done("apply", plan)
        assert theirs.attachments() == [(index, hook, True)]
        done("remove", plan)
        assert theirs.attachments() == [(index, hook, True)]
        assert arrivals(connections(90, "10.9.0.9"), "pin", PORTS)["pe1"] == 90
        assert subprocess.run(show, capture_output=True, check=True).stdout == filters

    run()


@with_own_datapaths
def test_all_or_nothing(tmp_path: Path) -> None:
    pairs("in", "in2", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN)
    done("apply", plan)
    theirs = KernelDatapath.create("/sys/fs/bpf/theirs", "slots", 1, 0)
    theirs.attach(if_nametoindex("in2"), "xdp")
    before = on_kernel("diff", plan).stdout, ways(600)
    # One device takes it, the other does not; in the same datapath, and in one that was to replace it.
    for text in (PLAN.replace("[4, 3, 2]", "[1, 1, 9]"), 'scheme = "valo"\n' + PLAN):
        written(tmp_path, text)
        refused = on_kernel("apply", plan, "--dev", "in", "--dev", "in2", "--hook", "xdp")
        assert refused.returncode == 2
        assert "in2: xdp, which takes one program" in refused.stderr
        written(tmp_path, PLAN)
        assert (on_kernel("diff", plan).stdout, ways(600)) == before
        assert [path.name for path in folder("plan").parent.iterdir()] == ["plan"]


@with_own_datapaths
def test_what_a_killed_process_began_is_brought_to_an_end(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN)
    done("apply", plan)
    old, new = folder("plan+old"), folder("plan+new")
    index = if_nametoindex("in")
    # Killed while the new one took the devices: the old one has them back.
    made = KernelDatapath.create(new, "score", 8, 16)
    made.replace(standing("plan"), index, "ingress")
    assert "attached to in ingress" in on_kernel("diff", plan).stdout
    done("apply", plan)
    assert not new.exists()
    assert arrivals(connections(90), "pin", PORTS).total() == 90
    # Killed between the two names.
    folder("plan").rename(old)
    KernelDatapath.create(new, "slots", 8, 16).replace(standing("plan+old"), index, "ingress")
    done("apply", plan)
    assert [path.name for path in folder("plan").parent.iterdir()] == ["plan"]
    assert arrivals(connections(90), "pin", PORTS).total() == 90
    # Killed while it was removed.
    (folder("plan") / f"link-{index}-ingress").unlink()
    (folder("plan") / "PLANS").unlink()
    broken = on_kernel("apply", plan)
    assert broken.returncode == 2
    assert f"`anabranch remove`, or `rm -r {folder('plan')}`, takes the datapath away" in broken.stderr
    assert "- what is left of datapath plan" in done("remove", plan)
    done("apply", plan)
    assert arrivals(connections(90), "pin", PORTS).total() == 90
    # Made by a version whose maps are of other sizes: refused, on its devices still, and removed by the same command.
    (folder("plan") / "PLANS").unlink()
    (folder("plan") / "NAMES").rename(folder("plan") / "PLANS")
    other = on_kernel("apply", plan)
    assert other.returncode == 2
    assert "made by another version" in other.stderr
    assert "`anabranch remove`" in other.stderr
    assert "- what is left of datapath plan" in done("remove", plan)
    done("apply", plan)
    assert arrivals(connections(90), "pin", PORTS).total() == 90
    # The same once nobody could see it any more.
    (folder("plan") / f"link-{index}-ingress").unlink()
    folder("plan").rename(folder("plan+half"))
    assert "- what is left of datapath plan" in done("remove", plan)
    assert not folder("plan+half").exists()


@with_own_datapaths
def test_dead_members_are_masked_when_it_is_applied(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN)
    done("apply", plan)
    whole = ways(900)
    ip("link", "set", "pe2", "down")
    dead = on_kernel("diff", plan)
    assert dead.returncode == 1
    assert "e2 weight=3 down" in dead.stdout
    told = " ".join(done("apply", plan).split())
    assert "note: group to-leaf2: masked without a carrier: e2; in force are e1 66.67 %, e3 33.33 %" in told
    masked = ways(900)
    assert all(masked[port] == way for port, way in whole.items() if way != "pe2")
    assert "pe2" not in masked.values()
    ip("link", "set", "pe2", "up")
    done("apply", plan)
    back = ways(900)
    # As few as can be move again, and all of them to the one that is back.
    assert {back[port] for port, way in masked.items() if back[port] != way} == {"pe2"}
    assert near(Counter(back.values()), [4, 3, 2])
    for port in PORTS:
        ip("link", "set", port, "down")
    assert "none lives that should carry some: its packets are dropped" in " ".join(done("apply", plan).split())


@with_own_datapaths
def test_a_missing_device_is_masked_by_every_verb(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN)
    done("apply", plan)
    ip("link", "del", "e2")
    missing = "note: group to-leaf2: masked without a device: e2 (use one of "
    different = on_kernel("diff", plan)
    assert different.returncode == 1
    assert missing in " ".join(different.stdout.split())
    assert "e2 weight=3 down" in different.stdout
    assert missing in " ".join(done("apply", plan).split())
    assert "nothing to do" in done("diff", plan)
    assert near(arrivals(connections(900), "pin", ["pe1", "pe3"]) + Counter({"pe2": 0}), [4, 0, 2])
    quiet = on_kernel("verify", plan, "--seconds", "0.01")
    assert quiet.returncode == 3
    assert missing in " ".join(quiet.stdout.split())
    # Also where it has never been, and where packets come in.
    done("remove", plan)
    never = done("apply", plan, "--dev", "in", "--dev", "inn")
    assert "a missing device weight=3 down" in never
    assert "switch.dev: inn: no such device; did you mean in?" in never
    pairs("e2", "inn")
    assert "+ attached to inn ingress" in done("apply", plan, "--dev", "in", "--dev", "inn")
    assert near(arrivals(connections(900), "pinn", PORTS), [4, 3, 2])


@with_own_datapaths
def test_an_error_that_the_plan_allows_is_enforced(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN.replace("[4, 3, 2]", "[4294967295, 1, 1]"))
    assert "% off (MAPE), over 1 %" in " ".join(done("apply", plan).split())
    written(tmp_path, plan.read_text() + 'error = "1%"\n')
    for verb in ("apply", "diff", "verify"):
        refused = on_kernel(verb, plan)
        assert refused.returncode == 2
        assert f"{plan}: group to-leaf2: error: 1%: slots_large is " in refused.stderr
    done("remove", plan)


@with_own_datapaths
def test_a_device_that_was_made_anew_is_taken_again(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN)
    done("apply", plan)
    for name in ("in", "e3"):
        ip("link", "del", name)
        pairs(name)
    assert "+ attached to in ingress" in on_kernel("diff", plan).stdout
    done("apply", plan)
    assert near(arrivals(connections(900), "pin", PORTS), [4, 3, 2])
    assert len(standing("plan").attachments()) == 1


@with_own_datapaths
def test_marks(tmp_path: Path) -> None:
    pairs("in", "out")
    ip("link", "add", "bridge1", "type", "bridge")
    for name in ("in", "out"):
        ip("link", "set", name, "master", "bridge1")
    ip("link", "set", "bridge1", "up")
    values = 'match = {}\noutput = "dscp"\nvalues = [10, 12, 14]\nweights = [4, 3, 2]\n'
    plan = written(tmp_path, 'scheme = "wino"\nseed = 7\n[switch]\ndev = ["in"]\n[[group]]\nname = "s"\n' + values)
    assert "datapath plan flow_cycle, room for 1 groups, all IP" in done("apply", plan)
    arrived = frames([frame(1000)] * 90, "pin", ["pout"])["pout"]
    marks = Counter(data[15] >> 2 for data in arrived)
    assert marks == {10: 40, 12: 30, 14: 20}


@with_own_datapaths
def test_a_device_is_free_as_soon_as_it_is_left() -> None:
    pairs("in", "in2", "e1", "e2", "e3")
    devices, plan = devices_now(), replace(ebpf_plan.parse(PLAN, "plan.toml"), hook="xdp")
    # Where one program has room, what takes long to leave is in the way of what comes.
    for device in ("in", "in2") * 10:
        put(replace(plan, devices=(device,)), devices)
    for _ in range(3):
        with ebpf_datapath.locked():
            ebpf_datapath.remove(own_folder() / "plan")
        put(plan, devices)


@with_own_datapaths
def test_the_example_works_as_it_is() -> None:
    names = ["host0", "spine0", "spine1", "spine2"]
    for name in names:
        ip("link", "add", name, "up", "type", "veth", "peer", "name", f"far-{name}")
        ip("link", "set", f"far-{name}", "up")
    assert "datapath leaf0 slots on host0 ingress, 3 groups, 4 routes" in done("apply", EXAMPLE)
    assert "nothing to do" in done("diff", EXAMPLE)
    far = [f"far-{name}" for name in names[1:]]
    for destination in ("10.0.2.9", "fd00:2::9", "10.0.3.9"):
        arrived = [
            one
            for all_of_it in frames(connections(90, destination), "far-host0", far).values()
            for one in all_of_it
            if one[:6] == connections(1)[0][:6]
        ]
        assert len(arrived) == 90
    done("remove", EXAMPLE)


@with_own_datapaths
def test_what_a_device_of_the_command_line_began_ends_without_it(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN.replace('dev = ["in"]\n', ""))
    assert on_kernel("apply", plan, "--dev", "in").returncode == 0
    assert PINS.exists()
    assert "change" in on_kernel("remove", plan, "--dry-run").stdout
    run = on_kernel("remove", plan)
    assert (run.returncode, run.stderr) == (0, "")
    assert not PINS.exists()


@with_own_datapaths
def test_mistakes_of_the_command_line(tmp_path: Path) -> None:
    pairs("in", "e1", "e2", "e3")
    plan = written(tmp_path, PLAN)
    for options, said in (
        (["--bridge", "br0"], "bridge: br0: of Open vSwitch; with --target ebpf leave it out"),
        (["--hook", "tc"], "hook: tc: unknown; use one of ingress, egress, xdp"),
        (
            ["--dev", "e1"],
            "group to-leaf2: ports: e1: in switch.dev too (hook ingress): packets taken there would go back",
        ),
        (["--follow", "--dry-run"], "follow: with --dry-run there is nothing to follow; leave one of them out"),
    ):
        run = on_kernel("apply", plan, *options)
        assert run.returncode == 2
        assert said in run.stderr
    written(tmp_path, PLAN.replace('dev = ["in"]\n', ""))
    for verb in ("apply", "diff", "verify"):
        assert "switch.dev: missing; name the device whose packets these are" in on_kernel(verb, plan).stderr
    for target in ("ovs", "linux"):
        other = anabranch("apply", str(plan), "--target", target, "--dev", "in")
        assert other.returncode == 2
    assert f"dev: in: of the kernel's datapath; with --target {target} leave it out" in other.stderr
    assert not PINS.exists()
