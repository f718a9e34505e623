"""Slots of bridges over reboots: `apply --state` keeps them in a file, by the names of ports."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.deploy.targets import state_file
from anabranch.deploy.targets.ebpf.state_form import FORM as DATAPATH
from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from anabranch.deploy.targets.ovs.kept import FORM, KeptSplit
from support.dummy_switch import BRIDGE, ofctl
from support.needs import need_open_vswitch
from support.operator_bridge import group, verb, written

HISTORY = ("[4, 3, 2]", "[1, 9, 3]", "[7, 2, 5]")
LAST = HISTORY[-1]


@contextmanager
def bridge(*ports: str) -> Iterator[OpenVSwitch]:
    """A bridge as a machine has it after its boot, with ports that are numbered from 1 in this order."""
    need_open_vswitch()
    with tempfile.TemporaryDirectory(prefix="ovs") as folder:
        switch = OpenVSwitch(Path(folder), dummy=True)
        switch.start()
        try:
            switch.vsctl("add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=dummy", "fail_mode=secure")
            for port in ports:
                add(switch, port)
            yield switch
        finally:
            switch.stop()


def add(switch: OpenVSwitch, port: str) -> None:
    switch.vsctl("add-port", BRIDGE, port, "--", "set", "interface", port, "type=dummy")


def rows(switch: OpenVSwitch) -> dict[int, str]:
    """Name of the port that each slot of the one group leaves by, as `ovs-ofctl` says it."""
    ports = {
        match[1]: match[2]
        for line in ofctl(switch, "dump-groups", "--names").splitlines()
        if (match := re.search(r"group_id=(\d+),type=ff,bucket=bucket_id:0,watch_port:(\w+)", line))
    }
    found = re.findall(r"reg0=(\w+),reg1=\w+ actions=group:(\d+)", ofctl(switch, "dump-flows"))
    return {int(slot, 0): ports[path] for slot, path in found}


def applied(folder: Path, switch: OpenVSwitch, weights: str, *options: str, head: str = "seed = 7") -> None:
    verb("apply", written(folder, group(1, weights, "multipath"), head=head), switch, *options)


def test_a_bridge_that_is_made_anew_goes_on_from_the_file(tmp_path: Path) -> None:
    keeps = ("--state", str(tmp_path / "plan.state"))
    with bridge("p1", "p2", "p3") as switch:
        for weights in HISTORY:
            applied(tmp_path, switch, weights, *keeps)
        before = rows(switch)
        assert len(before) == 256
        assert set(before.values()) == {"p1", "p2", "p3"}
    # The ports have other numbers.
    with bridge("p3", "p1", "p2") as switch:
        applied(tmp_path, switch, LAST)
        assert rows(switch) != before
        verb("remove", tmp_path / "plan1.toml", switch)
        applied(tmp_path, switch, LAST, *keeps)
        assert rows(switch) == before
        assert "nothing to do" in verb("diff", tmp_path / "plan1.toml", switch, *keeps).stdout


def test_a_port_that_comes_late_gets_its_own_slots(tmp_path: Path) -> None:
    keeps = ("--state", str(tmp_path / "plan.state"))
    with bridge("p1", "p2", "p3") as switch:
        for weights in HISTORY:
            applied(tmp_path, switch, weights, *keeps)
        before = rows(switch)
    with bridge("p3") as switch:
        applied(tmp_path, switch, LAST, *keeps)
        assert set(rows(switch).values()) == {"p3"}
        add(switch, "p4")
        for port in ("p2", "p1"):
            add(switch, port)
            applied(tmp_path, switch, LAST, *keeps)
            meanwhile = rows(switch)
            own = [slot for slot, owner in before.items() if owner in (port, "p3")]
            assert all(meanwhile[slot] == before[slot] for slot in own)
        assert meanwhile == before


def test_the_bridge_goes_before_the_file(tmp_path: Path) -> None:
    state = tmp_path / "plan.state"
    with bridge("p1", "p2", "p3") as switch:
        applied(tmp_path, switch, HISTORY[0], "--state", str(state))
        old, first = state.read_bytes(), rows(switch)
        for weights in HISTORY[1:]:
            applied(tmp_path, switch, weights)
        before = rows(switch)
        stays = next(slot for slot, owner in first.items() if slot and before[slot] == owner)
        ofctl(switch, "del-flows", f"table=200,reg0={stays}")
        assert stays not in rows(switch)
        state.write_bytes(old)
        applied(tmp_path, switch, LAST, "--state", str(state))
        assert rows(switch) == before


def test_seed_and_recipe_are_kept_where_the_plan_leaves_them_open(tmp_path: Path) -> None:
    state = tmp_path / "plan.state"
    text = group(1, recipe="auto") + 'error = "3%"\n'
    # At 3 % the first choice of `auto` is another one than the one that stood.
    plan = written(tmp_path, text.replace("auto", "hash-gravity"), head="")
    with bridge("p1", "p2", "p3") as switch:
        verb("apply", plan, switch, "--state", str(state))
        groups = re.sub(r" xid=\S+", "", ofctl(switch, "dump-groups"))
    plan = written(tmp_path, text, head="")
    with bridge("p1", "p2", "p3") as switch:
        switch.vsctl("set", "bridge", BRIDGE, "other-config:datapath-id=00000000000000ff")
        verb("apply", plan, switch, "--state", str(state))
        assert re.sub(r" xid=\S+", "", ofctl(switch, "dump-groups")) == groups
        verb("remove", plan, switch, "--state", str(state))
        verb("apply", plan, switch)
        assert re.sub(r" xid=\S+", "", ofctl(switch, "dump-groups")) != groups


def test_a_file_that_is_missing_is_a_change_and_one_that_is_wrong_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "plan.state"
    with bridge("p1", "p2", "p3") as switch:
        applied(tmp_path, switch, LAST)
        before, plan = rows(switch), tmp_path / "plan1.toml"
        shown = verb("diff", plan, switch, "--state", str(state), status=1)
        assert "~+ splits of owner 1 in" in shown.stdout
        assert not state.exists()
        applied(tmp_path, switch, LAST, "--state", str(state))
        assert "nothing to do" in verb("diff", plan, switch, "--state", str(state)).stdout
        datapath = {"a": ab.Splitter("min-move", [4, 3, 2], slots=4096).snapshot()}
        state_file.write(str(state), DATAPATH, datapath)
        other = written(tmp_path, group(1, "[1, 1, 1]", "multipath"))
        run = verb("apply", other, switch, "--state", str(state), status=2)
        assert run.stderr.startswith(f"anabranch: error: {state}: not the state of a bridge; hint: move it away")
        assert rows(switch) == before


SPLIT = '{"recipe": "multipath", "seed": 7, "ports": ["p1"], "owners": [OWNERS], "homes": [HOMES]}'
ZEROS = ", ".join(["0"] * 256)


@pytest.mark.parametrize(
    "split",
    [
        "3",
        "[]",
        "{}",
        '{"recipe": "hash-gravity", "seed": -1}',
        '{"recipe": "hash-gravity", "seed": true}',
        '{"recipe": "multipath", "seed": 7}',
        '{"recipe": "hash-graviti", "seed": 7}',
        '{"recipe": ["hash"], "seed": 7}',
        SPLIT.replace("OWNERS", ZEROS).replace("HOMES", "0"),
        SPLIT.replace("OWNERS", ZEROS.replace("0", "1", 1)).replace("HOMES", ZEROS),
        SPLIT.replace("OWNERS", ZEROS).replace("HOMES", ZEROS).replace('"p1"', "[]"),
        SPLIT.replace("OWNERS", ZEROS).replace("HOMES", ZEROS).replace('["p1"]', "3"),
    ],
)
def test_what_is_no_split_is_refused_with_a_hint(split: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.state"
    file.write_text('{"format": 1, "tables": {"a": ' + split + "}}")
    with pytest.raises(ab.AnabranchError, match=r"plan.state: not the state of a bridge; hint: move it away"):
        state_file.read(str(file), FORM)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = str(tmp_path / "plan.state")
    zeros = (0,) * 256
    splits = {
        'a "b"': KeptSplit("multipath", 2**64 - 1, ("p1", 7), (1, *zeros[1:]), zeros),
        "c": KeptSplit("dp_hash-twin", 0),
    }
    state_file.write(file, FORM, splits)
    assert state_file.read(file, FORM) == splits
    assert len(Path(file).read_text().splitlines()) == 4
