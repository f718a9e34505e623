"""Scenarios run on real switches: what comes of flows, links and tables, and what is refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch import AnabranchError, _core
from anabranch.lab.calibration.unloaded import Unloaded, delays
from anabranch.lab.fabric import record
from anabranch.lab.fabric.iproute import present
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.run.beside import Pairs, as_simulated, shares, times, waiting
from anabranch.lab.run.load import mean_switches, offered_bps
from anabranch.lab.run.run import Choices, check
from anabranch.lab.run.transport import options
from anabranch.lab.switches.ovs.forwarding import choose
from anabranch.simulate.stats.size_classes import size_classes
from support.command import anabranch
from support.lab_fixture import SCENARIO, assert_dead, need_ovs_lab, new_name
from support.proc import children_of, command_of
from support.waiting import DEADLINE_S, wait

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def scenario(tmp_path: Path, more: str = "") -> Path:
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO + more)
    return file


def loaded(**overrides: str) -> _core.Scenario:
    return _core.Scenario(SCENARIO, "small.toml", [(key.replace("__", "."), text) for key, text in overrides.items()])


def lab_run(*arguments: object) -> subprocess.CompletedProcess[str]:
    # Whether the machine is busy is not what these are about.
    command = [sys.executable, "-m", "anabranch", "lab", "run", "--allow-busy", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_a_run_leaves_a_folder_like_the_simulators_and_no_lab(tmp_path: Path) -> None:
    need_ovs_lab()
    name = new_name()
    change = '[[change]]\nat = "700 ms"\nlink = "leaf0-spine1"\nset = "down"\n'
    # New connections: those of few persistent ones may all be hashed to the other uplink.
    own = ("-o", "transport.persistent=false")
    ran = lab_run(scenario(tmp_path, change), "-n", name, "--runs", tmp_path / "runs", "--unchecked", *own)
    assert ran.returncode == 0, ran.stderr
    assert "achieved load" in ran.stdout
    assert name not in record.names()
    assert not [namespace for namespace in present() if name in namespace]
    (folder,) = (tmp_path / "runs").iterdir()
    run = ab.Run(folder)
    assert folder.name.endswith("-lab")
    assert run.flows["finished"].all()
    assert run.flows["received_bytes"].to_list() == run.flows["size_bytes"].to_list()
    assert set(run.flows.columns) == set(run.manifest["columns"]["flows"])
    assert set(run.ports.columns) == set(run.manifest["columns"]["ports"])
    assert run.manifest["lab"]["forwarding"] == "hash, weights equal"
    assert run.manifest["lab"]["changes"] == ["0.7 s: leaf0>spine1 down, spine1>leaf0 down"]
    assert "Open vSwitch" in run.manifest["lab"]["switch"]
    # What the senders' sockets ran, whatever their namespaces have by default.
    settings = run.manifest["lab"]["settings"]
    assert settings["congestion_control"] == "cubic"
    assert "net.ipv4.tcp_congestion_control" not in settings
    assert_dead(run, "leaf0", "spine1", "spine0")
    # Hosts put the payload, headers and retransmissions on their links, and little else.
    hosts = run.ports.filter(pl.col("from") < 4)
    data = int(run.flows["sent_bytes"].sum()) + 70 * int(run.flows["sent_packets"].sum())
    assert data <= int(hosts["sent_bytes"].sum()) < 1.15 * data
    assert anabranch("report", str(folder), "--out", str(tmp_path / "report.html")).returncode == 0


def test_a_silent_link_starves_its_flows_and_they_are_counted(tmp_path: Path) -> None:
    need_ovs_lab()
    change = '[[change]]\nat = "300 ms"\nlink = "leaf0-spine1"\nloss = 1\n[stop]\nat = "6 s"\n'
    arguments = ("--runs", tmp_path / "runs", "--unchecked", "-o", "transport.persistent=false")
    ran = lab_run(scenario(tmp_path, change), "-n", new_name(), *arguments)
    assert ran.returncode == 0, ran.stderr
    assert "unfinished; they are in no mean" in ran.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    run = ab.Run(folder)
    # However long the change itself takes, and with seconds left for those that can end.
    late = run.flows.filter(pl.col("start_ns") > 13e8)
    # Data and acknowledgements are hashed each by itself, by half to the silent link: a quarter of connections live.
    assert late.height > 150
    assert 0.45 < 1 - late["finished"].mean() < 0.98  # type: ignore[operator]
    assert run.manifest["flows_unfinished"] == run.flows.height - int(run.flows["finished"].sum())
    assert run.manifest["dropped_packets"] > 0


def test_a_standing_lab_is_used_and_left_as_it_was(tmp_path: Path) -> None:
    need_ovs_lab()
    file, name = scenario(tmp_path), new_name()
    first = lab_run(
        file, "-n", name, "--runs", tmp_path, "--unchecked", "--keep", "-q", "-o", "traffic.duration=200 ms"
    )
    try:
        assert first.returncode == 0, first.stderr
        assert name in record.names()
        again = ("-n", name, "--runs", tmp_path, "--unchecked", "-q")
        overrides = ("-o", "traffic.duration=200 ms", "-o", "routing.balance=wcmp", "-o", "seed=2")
        ran = lab_run(file, *again, *overrides, "--json", "-")
        assert ran.returncode == 0, ran.stderr
        document = json.loads(ran.stdout)
        assert list(document) == ["command", "made_by", "results", "manifest", "classes", "load", "machine"]
        assert document["manifest"] == ab.Run(document["results"]).manifest
        assert name in record.names()
        other = lab_run(file, *again, "-o", "fabric.link.buffer=50 KB")
        assert other.returncode == 2
        assert "of another fabric" in other.stderr
    finally:
        assert anabranch("lab", "down", name).returncode == 0


def test_what_exceeds_the_machine_is_refused() -> None:
    beyond = loaded(fabric__link__rate='"40 Gbps"', traffic__flows_per_s="400000")
    assert offered_bps(beyond, 1.0) == pytest.approx(64e9, rel=0.1)
    assert offered_bps(beyond, 0.001) == pytest.approx(64e6, rel=0.1)
    assert mean_switches(beyond) == 3
    assert 1 < mean_switches(loaded(traffic__pattern='"random-pairs"')) < 3


@pytest.mark.parametrize(
    ("balance", "expected"),
    [
        ("ecmp", "hash, weights equal"),
        ("random", "hash-gravity, weights equal"),
        ("valo", "hash-gravity, weights capacity"),
        ("scoring", "hash, weights capacity"),
        ("wcmp", "multipath, weights capacity"),
        ("weighted", "multipath, weights capacity"),
    ],
)
def test_balances_have_their_recipes(balance: str, expected: str) -> None:
    resolved = tomllib.loads(loaded(routing__balance=f'"{balance}"').resolved_toml())
    assert str(choose(resolved["routing"])) == expected


def test_a_lab_does_what_schemes_say_of_open_vswitch() -> None:
    for balancer in ab.schemes():
        if balancer.setting != "routing.balance":
            continue
        routing = tomllib.loads(loaded(routing__balance=f'"{balancer.name}"').resolved_toml())["routing"]
        if balancer.runs.open_vswitch is None:
            with pytest.raises(AnabranchError, match=r"a lab can do ecmp, random, weighted, .*scoring, valo$"):
                choose(routing)
        else:
            assert choose(routing).recipe == balancer.runs.open_vswitch, balancer.name


@pytest.mark.parametrize("balance", ["conga", "wino", "letflow", "spray", "wrr", "ideal", "deficit", "clove-ecn"])
def test_what_no_switch_does_is_refused_with_what_it_does(balance: str) -> None:
    resolved = tomllib.loads(loaded(routing__balance=f'"{balance}"').resolved_toml())
    with pytest.raises(AnabranchError, match="a lab can do ecmp, "):
        choose(resolved["routing"])


def test_transports_become_linuxs() -> None:
    resolved = tomllib.loads(loaded(transport__kind='"newreno"', transport__rack="true").resolved_toml())
    found = options(resolved, 1.0)
    assert found.congestion_control == "reno"
    assert found.persistent
    assert found.sysctls["net.ipv4.tcp_rto_min_us"] == "200000"
    assert found.sysctls["net.ipv4.tcp_recovery"] == "1"
    assert options(resolved, 10.0).sysctls["net.ipv4.tcp_rto_min_us"] == "2000000"
    assert options(resolved, 1.0, "bbr").congestion_control == "bbr"
    for key, value, said in (
        ("transport__kind", '"dctcp"', "queues do not mark"),
        ("transport__initial_window", "20", "Linux has 10"),
        ("traffic__transport__kind", '"newreno"', "one transport"),
    ):
        with pytest.raises(AnabranchError, match=said):
            options(tomllib.loads(loaded(**{key: value}).resolved_toml()), 1.0)


def test_a_run_that_is_ended_leaves_nothing(tmp_path: Path) -> None:
    need_ovs_lab()
    name = new_name()
    arguments = ["-n", name, "--runs", str(tmp_path / "runs"), "--unchecked", "-q", "-o", "traffic.duration=60 s"]
    command = [sys.executable, "-m", "anabranch", "lab", "run", str(scenario(tmp_path)), *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as running:
        wait(lambda: bool(players(running.pid)), lambda: f"no player; it ended with {running.poll()}")
        (player,) = players(running.pid)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=DEADLINE_S)
    assert running.returncode != 0
    # One that was not waited for, because it had only just been made, sees by itself that nobody asks any more.
    wait(lambda: not command_of(player), lambda: f"{command_of(player)!r} goes on")
    assert name not in record.names()
    assert not [namespace for namespace in present() if name in namespace]
    assert not list((tmp_path / "runs").iterdir())


def test_a_reproduction_that_is_ended_leaves_nothing(tmp_path: Path) -> None:
    need_ovs_lab()
    command = [sys.executable, "-m", "anabranch", "lab", "reproduce", "wino", "--quick"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        wait(lambda: bool(made(running.pid)), lambda: f"no lab; it ended with {running.poll()}")
        running.send_signal(signal.SIGTERM)
        running.wait(timeout=DEADLINE_S)
    assert running.returncode == 128 + signal.SIGTERM
    # Other tests make labs meanwhile.
    assert not [name for name in record.names() if name.endswith(f"-{running.pid}")]
    assert not [namespace for namespace in present() if f"-{running.pid}" in namespace]


def test_a_lab_that_is_whole_when_its_command_is_ended_goes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_ovs_lab()
    name, up = new_name(), Lab.up

    def ended(*arguments: Any, **choices: Any) -> Lab:
        up(*arguments, **choices)
        assert name in record.names()
        sys.exit(128 + signal.SIGTERM)

    monkeypatch.setattr(Lab, "up", ended)
    with pytest.raises(SystemExit), Lab.temporary(scenario(tmp_path), name):
        pytest.fail("the lab is handed out")
    assert name not in record.names()


def test_a_name_that_no_lab_can_have_is_refused_with_what_one_can(tmp_path: Path) -> None:
    run = anabranch("lab", "run", str(scenario(tmp_path)), "--unchecked", "-n", "No_Name")
    assert run.returncode != 0
    assert "name: No_Name: not the name of a lab; take up to 40" in run.stderr


def made(pid: int) -> list[str]:
    """Labs of a process that stand."""
    return [
        name for name in record.names() if name.endswith(f"-{pid}") and (found := record.read(name)) and found.complete
    ]


def players(parent: int) -> list[str]:
    """Children of a process that play traffic."""
    return [child for child in children_of(parent) if b"traffic.player" in command_of(child)]


def test_flows_that_wait_for_others_are_refused_before_anything_is_made() -> None:
    ring = '[[traffic]]\nkind = "ring-all-reduce"\nworkers = [0, 1, 2]\nsize = "1 MB"\n'
    with pytest.raises(AnabranchError, match="wait for others"):
        check(_core.Scenario(SCENARIO.partition("[[traffic]]")[0] + ring, "ring.toml"), Choices())


@pytest.mark.parametrize("change", ['link = "leaf0>spine0"\nloss = 0.1', 'switch = "spine0"\nblackhole = 0.1'])
def test_partial_losses_are_refused(change: str) -> None:
    with pytest.raises(AnabranchError, match="loses all that a link carries or nothing"):
        check(_core.Scenario(f"{SCENARIO}[[change]]\n{change}\n", "small.toml"), Choices())


def test_delays_of_links_add_up_to_what_was_measured() -> None:
    topology = loaded().topology()
    found = delays(topology, 1.0, near_ns=100_000, far_ns=220_000, near_links=2, far_links=4)
    wire_ns = 8e9 * 91 / 50e6
    assert 2 * (found.host_delay_ns + wire_ns) == pytest.approx(100_000)
    assert 2 * (found.host_delay_ns + found.uplink_delay_ns + 2 * wire_ns) == pytest.approx(220_000)
    simulated = loaded(**{key.replace(".", "__"): text for key, text in as_simulated(found, "leaf-spine", 1.0)})
    assert set(simulated.topology()["ports"]["delay_ns"]) == {round(found.host_delay_ns), round(found.uplink_delay_ns)}


def test_equal_runs_compare_as_equal(tmp_path: Path) -> None:
    runs = [ab.run(scenario(tmp_path), {"seed": seed}, runs=tmp_path, progress=False) for seed in (1, 2)]
    empty = Unloaded(1.0, 2.0, 4, 0.0, 0.0)
    rows = times(Pairs(empty, 1.0, runs, runs), size_classes())
    assert {row.statistic for row in rows} == {"mean", "p50", "p95"}
    assert all(row.ratio.mean == row.ratio.low == row.ratio.high == 1 for row in rows)
    # A lab of half the rates takes twice the time: in the scenario's time that is as long again.
    slow = replace(Pairs(empty, 0.5, runs, runs))
    assert times(slow, size_classes())[0].lab_ns == pytest.approx(rows[0].lab_ns / 2)
    links = shares(Pairs(empty, 1.0, runs, runs))
    assert [link.port for link in links] == ["leaf0>spine0", "leaf0>spine1", "leaf1>spine0", "leaf1>spine1"]
    assert links[0].lab_share + links[1].lab_share == pytest.approx(1)
    assert all(link.lab_share == link.simulated_share for link in links)
    queues = waiting(Pairs(empty, 1.0, runs, runs))
    assert [queue.direction for queue in queues] == ["host to leaf", "leaf to host", "leaf to spine", "spine to leaf"]
    assert all(queue.lab_bytes == queue.simulated_bytes > 0 for queue in queues)


def test_a_silence_counts_for_as_long_as_it_lasts(tmp_path: Path) -> None:
    # One flow at each end of a second in which nothing happens: its intervals are joined.
    flows = tmp_path / "flows.csv"
    flows.write_text(
        "id,src,dst,size_bytes,start_ns\n0,0,2,100000,0\n1,0,2,100000,1000000000\n2,0,2,100000,1100000000\n"
    )
    text = SCENARIO.partition("[[traffic]]")[0] + '[[traffic]]\nkind = "flow-list"\nfile = "flows.csv"\n'
    file = tmp_path / "three.toml"
    file.write_text(f'{text}[record]\ninterval = "10 ms"\n')
    run = ab.run(file, runs=tmp_path, progress=False)
    ports = run.ports.filter(pl.col("start_ns") < 1_100_000_000, port=0)
    assert ports["length_ns"].max() == pytest.approx(950_000_000, rel=0.05)
    assert ports["length_ns"].sum() == 1_100_000_000
    byte_ns = float((ports["backlog_mean_bytes"] * ports["length_ns"]).sum())
    from_hosts = waiting(Pairs(Unloaded(1.0, 2.0, 4, 0.0, 0.0), 1.0, [run], [run]))[0]
    # Of four hosts one sends data, and one acknowledges.
    assert from_hosts.direction == "host to leaf"
    assert from_hosts.lab_bytes == pytest.approx(byte_ns / 1.1e9 / 4, rel=0.01)
    assert from_hosts.lab_bytes > 0
