"""Scenarios over real TCP through datapaths in the kernel, each by the scenario's own scheme."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch import AnabranchError, _core
from anabranch.deploy.control.topology import End
from anabranch.lab.calibration import calibrate
from anabranch.lab.fabric import record
from anabranch.lab.fabric.iproute import present
from anabranch.lab.run.forwarding import check, switches_of
from anabranch.lab.switches.ebpf.forwarding import choose
from anabranch.lab.switches.ebpf.switching import kernel_switches
from support.lab_fixture import SCENARIO, UNHURRIED, assert_dead, kernel_lab_of, need_kernel_lab, new_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def resolved(*overrides: tuple[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(_core.Scenario(SCENARIO, "small.toml", list(overrides)).resolved_toml())
    return found


@pytest.mark.parametrize("balance", ["ecmp", "letflow", "dbb"])
def test_flows_run_by_the_scenarios_scheme(tmp_path: Path, balance: str) -> None:
    need_kernel_lab()
    name = new_name()
    file = tmp_path / "small.toml"
    # New connections: those of few persistent ones may all be hashed to the other uplink.
    text = SCENARIO.replace("persistent = true", "persistent = false")
    file.write_text(text + '[[change]]\nat = "700 ms"\nlink = "leaf0-spine1"\nset = "down"\n')
    arguments = ["-n", name, "--runs", str(tmp_path / "runs"), "--unchecked", "--allow-busy", "--switch", "ebpf"]
    command = [
        sys.executable,
        "-m",
        "anabranch",
        "lab",
        "run",
        str(file),
        *arguments,
        "-o",
        f"routing.balance={balance}",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert name not in record.names()
    assert not [namespace for namespace in present() if name in namespace]
    (folder,) = (tmp_path / "runs").iterdir()
    run = ab.Run(folder)
    assert run.flows["finished"].all()
    lab = run.manifest["lab"]
    assert lab["switch"] == "eBPF datapaths"
    assert lab["forwarding"] == str(choose(run.scenario["routing"]))
    assert_dead(run, "leaf0", "spine1", "spine0")


@pytest.mark.parametrize(
    ("balance", "expected"),
    [
        ("ecmp", "slots, weights equal"),
        ("weighted", "slots, weights capacity"),
        ("wcmp", "slots, weights capacity"),
        ("valo", "score, weights capacity"),
        ("scoring", "score, weights capacity as factors"),
        ("random", "score, weights equal"),
        ("letflow", "flowlet, weights equal, pause 500 us"),
        ("presto", "presto, weights equal"),
        ("weighted-presto", "presto, weights capacity"),
        ("spray", "spray, weights equal"),
        ("weighted-spray", "cycle, weights capacity"),
        ("dbb", "cycle, lists of dbb"),
    ],
)
def test_balances_have_their_programs(balance: str, expected: str) -> None:
    found = choose(resolved(("routing.balance", f'"{balance}"'))["routing"])
    assert str(found) == expected
    assert found.scheme in _core.KERNEL_SCHEMES


def test_a_lab_does_what_schemes_say_of_ebpf() -> None:
    for balancer in ab.schemes():
        if balancer.setting != "routing.balance":
            continue
        routing, program = resolved(("routing.balance", f'"{balancer.name}"'))["routing"], balancer.runs.kernel
        if program is None or program.output:
            with pytest.raises(AnabranchError, match="can do ecmp, random, weighted, "):
                choose(routing)
        else:
            assert choose(routing).scheme == program.programs[0], balancer.name


@pytest.mark.parametrize(
    ("granularity", "table", "expected"),
    [
        ("flow", "intervals", "score, weights capacity"),
        ("flowlet", "min-move", "flowlet, weights capacity, pause 500 us"),
        ("packet", "wcmp", "spray, weights capacity"),
        ("flowlet", "valo", None),
        ("packet", "deficit", None),
    ],
)
def test_tables_that_are_slots_have_programs_for_every_granularity(
    granularity: str, table: str, expected: str | None
) -> None:
    keys = {"granularity": granularity, "table": table, "weights": "capacity"}
    routing = resolved(*((f"routing.{key}", f'"{value}"') for key, value in keys.items()))["routing"]
    assert (routing["granularity"], routing["table"]) == (granularity, table)
    if expected is None:
        with pytest.raises(AnabranchError, match=r"no program|not been written"):
            choose(routing)
    else:
        assert str(choose(routing)) == expected


def test_dbb_counts_each_flow_by_itself_where_it_is_asked_to() -> None:
    overrides = (("routing.balance", '"dbb"'), ("routing.scheme.counter", '"independent"'))
    assert str(choose(resolved(*overrides)["routing"])) == "flow_cycle, lists of dbb, pause 100000 us"


@pytest.mark.parametrize(
    ("balance", "reason"),
    [
        ("conga", "it needs .*feedback"),
        ("drill", "it needs .*backlog"),
        ("hula", "it needs .*probes"),
        ("flowcell", "flowcells in random order"),
        ("deficit", "no program"),
        ("wrr", "no program"),
        ("ideal", "beforehand"),
        ("wino", "marks of hosts"),
    ],
)
def test_what_no_program_does_is_refused_with_the_reason_and_what_they_do(balance: str, reason: str) -> None:
    with pytest.raises(AnabranchError, match=f"{reason}.*; a lab with --switch ebpf can do ecmp, "):
        choose(resolved(("routing.balance", f'"{balance}"'))["routing"])


def test_scoring_has_weights_as_factors_and_their_error(tmp_path: Path) -> None:
    fabric = SCENARIO.partition("[fabric]\n")[2].partition("[transport]")[0]
    with kernel_lab_of(tmp_path, fabric) as lab:
        for balance, expected in (("scoring", [0.75, 0.25]), ("valo", [2 / 3, 1 / 3])):
            switches = switches_of(lab, resolved(("routing.balance", f'"{balance}"'))["routing"])
            topology = switches.file.topology
            for node, neighbour in (("leaf0", "spine1"), ("spine1", "leaf0")):
                switches.rate_bps[topology.port[End(node, neighbour, 0)]] //= 2
            switches.install()
            datapath = kernel_switches(lab).datapath("leaf0")
            assert datapath is not None
            place = [group.name for group in datapath.observed()].index("leaf1")
            assert datapath.observed()[place].weights == [2, 1]
            # Of two the lighter wins half of its weight's share (VALO Eq. 6).
            assert datapath.shares()[place] == pytest.approx(expected, abs=1e-4)


def test_recipes_are_refused() -> None:
    with pytest.raises(AnabranchError, match="--recipe dp_hash"):
        check(resolved()["routing"], "ebpf", "dp_hash")


def test_this_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    need_kernel_lab()
    for name, value in (("SWITCHES", (1, 3)), ("BISECTIONS", 1), ("TCP_S", 0.3), ("FACTOR", 4.0), *UNHURRIED):
        monkeypatch.setattr(calibrate, name, value)
    found = calibrate.calibrate(switch="ebpf")
    assert found.switch == "eBPF datapaths"
    for path in found.paths:
        assert path.full_pps > 0
        assert path.tcp_bps > 1e6
        assert path.switch_cpu_ns is None


def test_a_switch_leaves_out_its_own_dead_ports_before_others_know(tmp_path: Path) -> None:
    fabric = SCENARIO.partition("[fabric]\n")[2].partition("[transport]")[0]
    with kernel_lab_of(tmp_path, fabric) as lab:
        switches = switches_of(lab, resolved(("routing.balance", '"weighted"'))["routing"])
        switches.install()
        topology = switches.file.topology
        for node, neighbour in (("leaf0", "spine1"), ("spine1", "leaf0")):
            switches.up[topology.port[End(node, neighbour, 0)]] = False

        def towards(switch: str, leaf: str) -> tuple[list[int], list[bool]]:
            found = kernel_switches(lab).datapath(switch)
            assert found is not None
            (group,) = (one for one in found.observed() if one.name == leaf)
            return group.weights, group.up

        switches.notice()
        assert towards("leaf0", "leaf1") == ([1, 1], [True, False])
        assert towards("leaf1", "leaf0") == ([1, 1], [True, True])
        switches.install()
        assert [weight > 0 for weight in towards("leaf1", "leaf0")[0]] == [True, False]
        assert switches.clear() == len(lab.switches)
        assert kernel_switches(lab).datapath("leaf0") is None
