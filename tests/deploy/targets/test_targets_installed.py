"""The lines of a plan, given to a real Open vSwitch and a real Linux kernel: what they make of them."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch.deploy.targets.forecast import plan
from anabranch.deploy.targets.plan.explanation import parse_tuples
from anabranch.deploy.targets.plan.group import group
from anabranch.deploy.targets.plan.recipe import Recipe
from support.dummy_switch import PATIENCE_S
from support.needs import brings, need_open_vswitch

RECORDER = Path(__file__).parents[3] / "vectors" / "ovs" / "record.py"
GROUPS = ["1,1,1", "3,7,11,13", "5,100,100", "1,300", "4,3,2", "2.5,0,1", "1,2,3,4,5,6,7,8,9"]


def recipes(weights: str, target: str, ports: str | None = None) -> list[Recipe]:
    return plan(group(weights, ports=ports), [target]).targets[0].recipes


@pytest.fixture(scope="module")
def switch() -> Iterator[Any]:
    """A switch of its own on a dummy datapath; touches nothing of the system's."""
    need_open_vswitch()
    spec = importlib.util.spec_from_file_location("record", RECORDER)
    assert spec is not None
    assert spec.loader is not None
    recorder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recorder)
    with tempfile.TemporaryDirectory() as folder:
        started = recorder.Switch(Path(folder))
        try:
            started.control.ask("vlog/set", "ofproto_dpif:file:dbg")
            for number in range(3, 10):
                started.vsctl("add-port", "br0", f"p{number}", "--", "set", "interface", f"p{number}", "type=dummy")
            yield started
        finally:
            started.close()
            started.control.socket.close()


def shell(lines: list[str], switch: Any) -> None:
    run = subprocess.run(["bash", "-e"], input="\n".join(lines), env=switch.environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def output(switch: Any, *arguments: str) -> str:
    command = ["ovs-ofctl", "-O", "OpenFlow15", *arguments]
    return subprocess.run(command, env=switch.environment, check=True, capture_output=True, text=True).stdout


def constructed(log: Path, before: int) -> str:
    """What the log says of a group after its first bytes: a thread of its own writes it, after the fact."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        said = log.read_bytes()[before:].decode()
        if re.search(r"\|(Use dp_hash with|Hash fields:|.*Falling back).*\n", said):
            return said
        assert time.monotonic() < deadline, said
        time.sleep(0.01)


@pytest.mark.parametrize("weights", GROUPS)
def test_open_vswitch_takes_the_lines_and_as_many_slots(switch: Any, weights: str) -> None:
    log = switch.folder / "ovs-vswitchd.log"
    for recipe in recipes(weights, "ovs"):
        if not recipe.name.startswith(("dp_hash", "hash")):
            continue
        before = log.stat().st_size
        output(switch, "del-groups", "br0")
        shell(list(recipe.lines), switch)
        (shown,) = [line for line in output(switch, "dump-groups", "br0").splitlines() if "group_id=1" in line]
        assert f"selection_method={recipe.name.partition('-')[0]}," in shown
        # The dump leaves out a weight of 1.
        sent = re.findall(r"bucket_id=(\d+),weight=(\d+),watch_port=(\d+)", recipe.lines[0])
        held = re.findall(r"bucket_id:(\d+),(?:weight:(\d+),)?watch_port:p?(\d+)", shown)
        assert [(i, w or "1", p) for i, w, p in held] == sent
        said = constructed(log, before)
        if not recipe.name.startswith("dp_hash"):
            continue
        hits = [int(number) for number in re.findall(r"Bucket \d+: .*hits=(\d+)", said)]
        assert sum(hits) == recipe.used
        ports = [int(port) - 1 for _, _, port in sent]
        if recipe.used:
            slots = np.bincount(ports, hits, minlength=len(recipe.asked))
            assert (slots / recipe.used).tolist() == pytest.approx(recipe.achieved)


def test_open_vswitch_takes_a_rule_per_slot(switch: Any) -> None:
    (recipe,) = (found for found in recipes("4,3,2", "ovs") if found.name == "multipath")
    output(switch, "del-flows", "br0")
    shell(list(recipe.lines), switch)
    flows = output(switch, "dump-flows", "br0")
    assert flows.count("multipath(symmetric_l3l4+udp,0,modulo_n,256,0,NXM_NX_REG0[])") == 2
    assert flows.count("table=1") == 256
    # The switch's own choice, connection by connection, falls on the paths as planned.
    taken, foreseen = np.zeros(3), []
    for number in range(900):
        source, destination = f"10.0.{number % 7}.1", f"10.1.0.{number % 11}"
        text = f"tcp,in_port=1,nw_src={source},nw_dst={destination},tcp_src={1000 + number},tcp_dst=80"
        trace = switch.control.ask("ofproto/trace", "br0", text)
        port = re.search(r"output:(\d+)", trace)
        assert port is not None
        taken[int(port[1]) - 1] += 1
        foreseen.append(f"{source},{destination},tcp,{1000 + number},80")
    assert recipe.own_hash is not None
    paths = recipe.own_hash.paths(parse_tuples(foreseen))
    assert np.bincount(paths, minlength=3).tolist() == taken.tolist()
    expected = 900 * np.array(recipe.achieved)
    # Chi-square of 2 degrees of freedom: 13.8 in one of a thousand.
    assert np.sum((taken - expected) ** 2 / expected) < 13.8


def namespace(script: str) -> str:
    run = subprocess.run(["unshare", "--net", "bash", "-e"], input=script, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
@brings("root")
def nexthops() -> None:
    if not (shutil.which("unshare") and shutil.which("ip")):
        pytest.skip("unshare or ip is missing: apt install util-linux iproute2")
    trial = "ip link set lo up; ip nexthop add id 1 dev lo; ip nexthop add id 2 group 1 type resilient buckets 32"
    run = subprocess.run(["unshare", "--net", "bash", "-e", "-c", trial], capture_output=True, text=True)
    if run.returncode:
        pytest.skip(f"no nexthop groups in a namespace of its own (root needed): {run.stderr.strip()}")


@pytest.mark.usefixtures("nexthops")
@pytest.mark.parametrize("weights", [text for text in GROUPS if "300" not in text])
def test_linux_takes_the_lines_and_as_many_buckets(weights: str) -> None:
    paths = weights.count(",") + 1
    for recipe in recipes(weights, "linux", ",".join(["lo"] * paths)):
        lines = [line for line in recipe.lines if not line.startswith("sysctl")]
        shown = namespace("\n".join(["ip link set lo up", *lines, "ip nexthop show id 10000"]))
        assert ("type resilient" in shown) == recipe.name.startswith("resilient")
        if recipe.name.startswith("resilient"):
            held = namespace("\n".join(["ip link set lo up", *lines, "ip nexthop bucket show id 10000"]))
            owners = [int(path) - 1 for path in re.findall(r" nhid (\d+)", held)]
            assert len(owners) == recipe.used
            counts = np.bincount(owners, minlength=paths)
            assert (counts / recipe.used).tolist() == pytest.approx(recipe.achieved)
