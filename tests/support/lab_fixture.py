"""Labs for tests: made under a name of their own, measured by TCP and by datagrams, their controllers asked."""

from __future__ import annotations

import contextlib
import http.client
import json
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch import AnabranchError, _core
from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.calibration.goodput import goodput_bps
from anabranch.lab.fabric import controller
from anabranch.lab.fabric.machine import check_machine
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.traffic.paced_sender import TX_PACKETS, DeviceCounters
from support.needs import brings, need_open_vswitch
from support.waiting import DEADLINE_S, wait

GOODPUTS = 10
SCENARIO = """
name = "small"
[fabric]
leaves = 2
spines = 2
hosts_per_leaf = 2
link = { rate = "50 Mbps", delay = "20 us", buffer = "100 KB", ecn = "off" }
[transport]
kind = "cubic"
min_rto = "200 ms"
initial_rto = "1 s"
persistent = true
[[traffic]]
sizes = "20 KB"
flows_per_s = 200
duration = "2500 ms"
[record]
interval = "100 ms"
"""
"""Scenario of a lab that any machine can run."""
UNHURRIED = (("FIRST_PPS", 1000.0), ("DRAIN_S", 0.5))
"""Constants of `calibrate` for busy machines: the first load any machine forwards, and patience until it has."""


@brings("root")
def need_lab() -> None:
    """Skips the test where no lab can be made."""
    try:
        check_machine()
    except AnabranchError as error:
        pytest.skip(str(error))


@brings("root", "ovs")
def need_ovs_lab() -> None:
    """Skips the test where none can be made whose switches are Open vSwitch's."""
    need_lab()
    need_open_vswitch()


@brings("root", "bpf")
def need_kernel_lab() -> None:
    """Skips the test where none can be made whose switches are datapaths in the kernel."""
    need_lab()
    for feature, there, note in _core.probe_kernel():
        if not there:
            pytest.skip(f"{feature}: {note}")


def new_name() -> str:
    """Name of a lab that no other test has."""
    return f"lab-test-{secrets.token_hex(4)}"


def lab_of(folder: Path, fabric: str, **options: Any) -> AbstractContextManager[Lab]:
    """A lab with switches of Open vSwitch while the test runs."""
    need_ovs_lab()
    return _lab(folder, fabric, options)


def kernel_lab_of(folder: Path, fabric: str, **options: Any) -> AbstractContextManager[Lab]:
    """A lab whose switches are datapaths in the kernel while the test runs."""
    need_kernel_lab()
    return _lab(folder, fabric, {**options, "switch": "ebpf"})


@contextmanager
def _lab(folder: Path, fabric: str, options: dict[str, Any]) -> Iterator[Lab]:
    scenario = folder / "scenario.toml"
    scenario.write_text(f"[fabric]\n{fabric}\n")
    lab = Lab.up(scenario, new_name(), **options)
    try:
        yield lab
    finally:
        lab.down()


def reaches(lab: Lab, source: str, target: str, timeout_s: float = DEADLINE_S) -> bool:
    """Whether a datagram arrives, sent again and again until it does."""
    with inside(lab.hosts[target].namespace):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with inside(lab.hosts[source].namespace):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with receiver, sender:
        receiver.bind((lab.hosts[target].address, 0))
        receiver.settimeout(0.05)
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            sender.sendto(b"x", receiver.getsockname())
            with contextlib.suppress(TimeoutError):
                return bool(receiver.recv(1))
    return False


def assert_goodput(lab: Lab, source: str, target: str, rate_bps: float) -> None:
    """A path is as fast as asked: never for long above, and not below in one of several measurements."""
    # 1448 bytes of payload in 1538 on the wire.
    expected = rate_bps * 1448 / 1538
    found: list[float] = []
    # A busy machine makes it slower, and a reader that is held up reads more at once than the link carried meanwhile.
    while not any(0.5 < one < 1.05 for one in found):
        assert len(found) < GOODPUTS, found
        found.append(goodput_bps(lab.hosts[source], lab.hosts[target], 0.7) / expected)


def carried(lab: Lab, a: str, b: str) -> int:
    """Packets that a switch has sent by its link to another."""
    counters = DeviceCounters(lab.blueprint.switch_namespace)
    try:
        return counters.read(TX_PACKETS)[lab.interface(a, b)]
    finally:
        counters.close()


def status(lab: Lab) -> dict[str, Any]:
    """Reports of the controller on all switches."""
    connection = http.client.HTTPConnection(lab.record.http, timeout=DEADLINE_S)
    try:
        connection.request("GET", "/status.json")
        found: dict[str, Any] = json.loads(connection.getresponse().read())
        return found
    finally:
        connection.close()


def failure(lab: Lab, a: str, b: str, **how: bool) -> Callable[[], None]:
    """Has a link fail, and waits until the controller has done what follows, however long that takes."""

    def known() -> bool:
        down = [not link["up"] for link in status(lab)["links"] if {link["a"], link["b"]} == {a, b}]
        return all(down) and controller.converged(lab)

    def fail() -> None:
        lab.set_link(a, b, **(how or {"up": False}))
        wait(known, lambda: str(status(lab)["links"]))

    return fail


def assert_dead(run: ab.Run, leaf: str, dead: str, alive: str) -> None:
    """Checks that one uplink carried much until it died, and nothing afterwards while others went on."""
    names = run.topology["nodes"]["name"]
    ports = run.ports.filter((pl.col("from") == names.index(leaf)) & (pl.col("sent_bytes") > 0))
    died, lived = (ports.filter(pl.col("to") == names.index(spine)) for spine in (dead, alive))
    assert int(died["sent_bytes"].sum()) > 20_000
    # A dozen flows and more: they cannot all have been hashed to the other one by chance.
    last_ns = float(died["start_ns"].max())  # type: ignore[arg-type]
    assert int(lived.filter(pl.col("start_ns") > last_ns)["sent_bytes"].sum()) > 500_000
