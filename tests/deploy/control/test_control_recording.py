"""Recordings of controllers over real switches, played back: the same plans, and where they are not the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch import AnabranchError
from anabranch.deploy.control.damping import Damper
from anabranch.deploy.control.recording import Recorder
from anabranch.deploy.control.replay import replay
from support.command import anabranch
from support.controller_process import controller
from support.dummy_fabric import DummyFabric, Running, dummy_fabric, members
from support.dummy_traffic import sending
from support.own_namespace import in_own_namespace
from support.reserved_port import reserved_port
from support.routed_fabric import routed_fabric
from support.waiting import wait

SETTINGS = '[measure]\ninterval = "50 ms"\naudit = "300 ms"\n[damping]\nsuppress = 2\nhalf_life = "1 s"'
PAGES = 'http = "127.0.0.1:0"'
LOAD = 'weights = "load"\n[policy.load]\nsmoothing = 0.3'


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[DummyFabric]:
    with dummy_fabric(tmp_path, settings=SETTINGS) as made:
        yield made


def records(recording: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in recording.read_bytes().splitlines()]


async def flap(fabric: DummyFabric, recording: Path) -> None:
    """Records a link that goes and comes until it is damped, and a rate."""
    recorder = Recorder(recording)
    async with Running(fabric.file(), recorder=recorder) as running:
        await running.converged()
        while link(running.controller.snapshot()).reason != "damped":
            fabric.link("spine1-leaf1", up=False)
            await running.until(lambda one: not link(one).up)
            fabric.link("spine1-leaf1", up=True)
            await running.until(lambda one: link(one).reason != "spine1: port down")
        await running.until(lambda one: link(one).up and one.converged)
        fabric.open_vswitch.vsctl("set", "interface", "leaf0-spine0", "external-ids:anabranch-rate-bps=2500000000")
        await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine0": 1, "spine1": 4} and one.converged)
    recorder.close()


def link(snapshot: Any) -> Any:
    (found,) = [one for one in snapshot.links if (one.a, one.b) == ("leaf1", "spine1")]
    return found


def test_a_recording_is_planned_again_the_same(fabric: DummyFabric, tmp_path: Path) -> None:
    recording = tmp_path / "field.jsonl"
    asyncio.run(flap(fabric, recording))
    assert recording.stat().st_mode & 0o777 == 0o600
    played = replay(recording)
    assert (played.differences, played.is_cut) == ([], False)
    assert played.records == len(records(recording))
    # The first plan, the damped link's loss and return, and a rate; a loss that is over before the next plan has none.
    assert decided(recording) >= 4
    run = anabranch("control", "--replay", str(recording))
    assert (run.returncode, run.stdout.split(", ")[-1]) == (0, "each as recorded\n")


def test_a_plan_that_is_another_by_now_is_named(
    fabric: DummyFabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = tmp_path / "field.jsonl"
    asyncio.run(flap(fabric, recording))
    with monkeypatch.context() as patch:
        # A controller that believes a link that flaps.
        patch.setattr(Damper, "lost", lambda *_: None)
        differences = replay(recording).differences
    assert differences
    assert f"{recording}:" in differences[0]
    # By the plan that came first: of the link's return, or of a loss whose end was there already.
    first = ("as before recorded, spine0 1, spine1 1 now", "spine0 1 recorded, as before now")
    assert differences[0].partition(": leaf0 to leaf1: ")[2] in first
    # A weight that was decided otherwise, as by another version.
    lines = recording.read_text().splitlines()
    index = max(number for number, line in enumerate(lines) if '"spine1",0,' in line and '"decided"' in line)
    changed = json.loads(lines[index])
    changed["changed"]["leaf0"]["leaf1"][0][3] = 7
    lines[index] = json.dumps(changed)
    recording.write_text("\n".join(lines) + "\n")
    run = anabranch("control", "--replay", str(recording), "--json", str(tmp_path / "found.json"))
    assert run.returncode == 1
    assert f"{recording}:{index + 1}: plan " in run.stdout
    assert "leaf0 to leaf1: spine0 7, spine1 4 recorded, spine0 1, spine1 4 now" in run.stdout
    assert len(json.loads((tmp_path / "found.json").read_text())["differences"]) == 1


def test_plans_by_load_are_the_same_to_the_last_bit(fabric: DummyFabric, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    fabric.rate = "10 Mbps"

    def flow(_: int) -> str:
        # One connection is enough load for one of the two paths.
        return f"in_port(1),eth(src=50:54:00:00:00:01,dst=50:54:00:00:00:02),eth_type(0x0800),{ADDRESSES},{PORTS}"

    async def follow(recording: Path, *, busy: bool) -> None:
        recorder = Recorder(recording)
        async with Running(fabric.file(LOAD), recorder=recorder) as running:
            await running.converged()
            if busy:
                # A first measurement is taken as it is: smoothing is seen where the load begins after it.
                await running.until(lambda _: running.controller.network.measurements > 1)
                async with sending(fabric.open_vswitch, "leaf0-host0", flow, 500, 1000):
                    await running.until(lambda one: shifted(one))
            await running.until(lambda one: one.plans > 0 and running.controller.network.measurements > 5)
        recorder.close()

    asyncio.run(follow(first, busy=True))
    # The next one begins with the shares that it reads.
    asyncio.run(follow(second, busy=False))
    assert any(one["installed"] for one in records(second) if one["record"] == "plan")
    for recording in (first, second):
        assert replay(recording).differences == []
    text = first.read_text().replace("smoothing = 0.3", "smoothing = 0.9")
    assert text != first.read_text()
    first.write_text(text)
    assert replay(first).differences


ADDRESSES = "ipv4(src=10.1.0.1,dst=10.1.1.1,proto=17,tos=0,ttl=64,frag=no)"
PORTS = "udp(src=4000,dst=9)"


def shifted(snapshot: Any) -> bool:
    weights = members(snapshot, "leaf0", "leaf1")
    return len(weights) == 2 and len(set(weights.values())) == 2


def test_a_recording_of_a_controller_that_was_killed_is_read_to_its_last_whole_line(
    fabric: DummyFabric, tmp_path: Path
) -> None:
    recording = tmp_path / "field.jsonl"
    with reserved_port() as port:
        file = tmp_path / "fabric.toml"
        file.write_text(fabric.text().replace(PAGES, f'http = "127.0.0.1:{port}"'))
        with controller(file, port, "--record", str(recording)) as process:
            process.wait_healthy()
            fabric.link("spine1-leaf1", up=False)
            wait(lambda: decided(recording) >= 2, process.log.read_text)
            process.kill()
    whole = replay(recording)
    assert (whole.differences, whole.plans >= 2) == ([], True)
    content = recording.read_bytes()
    content = content[: content.rindex(b"\n") + 1]
    last = content[:-1].rindex(b"\n") + 1
    for end in (last + 1, (last + len(content)) // 2, len(content) - 1):
        recording.write_bytes(content[:end])
        cut = replay(recording)
        assert (cut.is_cut, cut.records, cut.differences) == (True, content.count(b"\n") - 1, [])
    assert "its last line is not whole" in anabranch("control", "--replay", str(recording)).stdout


def decided(recording: Path) -> int:
    """Plans that changed a group, in the whole lines so far."""
    lines = [line for line in recording.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return sum(bool(one["changed"]) for one in map(json.loads, lines) if one["record"] == "decided")


@in_own_namespace
def test_a_kernel_that_routes_is_recorded_as_well(tmp_path: Path) -> None:
    recording = tmp_path / "field.jsonl"
    with routed_fabric() as fabric:

        async def follow() -> None:
            recorder = Recorder(recording)
            async with Running(fabric.file(), recorder=recorder) as running:
                await running.converged()
                fabric.link("spine0-leaf0", up=False)
                await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine1": 1} and one.converged)
            recorder.close()

        asyncio.run(follow())
    played = replay(recording)
    assert (played.differences, decided(recording) >= 2) == ([], True)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", r"field.jsonl: no record; is it a file"),
        (b"hello\n", r"field.jsonl:1: no JSON object; is it a file"),
        (b'{"record":"measure","t":1}\n', r"field.jsonl:1: measure: no fabric before it"),
        (b'{"t":1}\n', r"field.jsonl:1: no such record \('record'\)"),
        (
            b'{"record":"fabric","t":1,"format":9,"version":"7.0","file":"a.toml","text":""}\n',
            r"field.jsonl:1: format: 9: this version reads 1; take anabranch 7.0",
        ),
        (
            b'{"record":"fabric","t":1,"format":1,"version":"7.0","file":"a.toml","text":"x"}\n',
            r"field.jsonl:1: a.toml: not TOML",
        ),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, content: bytes, error: str) -> None:
    path = tmp_path / "field.jsonl"
    path.write_bytes(content)
    with pytest.raises(AnabranchError, match=error):
        replay(path)


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    file, recording = tmp_path / "fabric.toml", tmp_path / "field.jsonl"
    file.write_text(DummyFabric(tmp_path).text())
    recording.write_text("")
    for arguments, problem in (
        ((str(file), "--once", "--record", str(recording)), "only for a controller that follows"),
        ((str(file), "--replay", str(recording)), "the recording has its fabric file"),
        (("--replay", str(recording), "--timeout", "3"), "timeout: 3: only --once and --dry-run wait; give one of"),
        ((str(file), "--timeout", "3"), "timeout: 3: only --once and --dry-run wait; give one of them"),
        ((), "FABRIC.toml: missing; give the fabric file"),
        ((str(file), "--record", str(recording)), f"{recording}: record: File exists; give the name of a new file"),
    ):
        run = anabranch("control", *arguments)
        assert run.returncode == 2
        assert problem in " ".join(run.stderr.split()), arguments
    file.write_text(DummyFabric(tmp_path).text('weights = "wino"'))
    run = anabranch("control", str(file), "--record", str(tmp_path / "other.jsonl"))
    assert run.returncode == 2
    assert "policy.weights: wino: its plans follow the tables of switches" in " ".join(run.stderr.split())
    assert not (tmp_path / "other.jsonl").exists()
