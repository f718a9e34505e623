"""What is asked and never answers: limits are short here, and each error names what it awaited."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import long_flows
from anabranch.cli import machine
from anabranch.deploy.openflow import listener
from anabranch.deploy.targets.ebpf import datapath
from anabranch.deploy.targets.ovs import daemons
from anabranch.files.errors import AnabranchError
from anabranch.lab.calibration import goodput
from anabranch.lab.fabric import iproute
from anabranch.lab.traffic.queue_counters import QueueReader
from anabranch.simulate.study import cell_process

SHORT_S = 0.05


@pytest.fixture
def hanging(tmp_path: Path) -> str:
    """A program that says nothing and does not end."""
    program = tmp_path / "hanging"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    return str(program)


def test_commands(hanging: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iproute, "TIMEOUT_S", SHORT_S)
    with pytest.raises(AnabranchError, match=r"hanging: no end after 0.05 s; its last command is `link add b`"):
        iproute.batch(hanging, None, ["link add a", "link add b"])
    monkeypatch.setattr(daemons, "COMMAND_TIMEOUT_S", SHORT_S)
    with pytest.raises(AnabranchError, match=r"hanging --db=x: no end after 0.05 s"):
        daemons.OpenVSwitch(tmp_path)._run(hanging, "--db=x")
    monkeypatch.setattr(machine, "TIMEOUT_S", SHORT_S)
    assert machine._tried([hanging], "works") == (False, "no answer within 0.05 s")


def test_a_server_that_does_not_start(hanging: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_flows, "START_TIMEOUT_S", SHORT_S)
    message = "iperf3: its server does not start: says nothing"
    with (
        subprocess.Popen([hanging], stdout=subprocess.PIPE, text=True) as server,
        pytest.raises(AnabranchError, match=message),
    ):
        long_flows._await_listening(server)


def test_a_daemon_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ovs", reason="ovs is not installed: pip install ovs")
    monkeypatch.setattr(daemons, "START_TIMEOUT_S", SHORT_S)
    monkeypatch.setattr(daemons.OpenVSwitch, "pid", lambda *_: 1)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "ovs-vswitchd.1.ctl"))
        listening.listen()
        with pytest.raises(AnabranchError, match="ovs-vswitchd: version: Connection timed out"):
            daemons.OpenVSwitch(tmp_path).appctl("version")


def test_a_host_that_nothing_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goodput, "inside", lambda _: nullcontext())
    monkeypatch.setattr(goodput, "_send", lambda *_: None)
    host: Any = SimpleNamespace(name="host0", address="127.0.0.1", namespace="")
    with pytest.raises(AnabranchError, match="TCP from host0 to host0: nothing arrives; do the switches forward"):
        goodput.goodput_bps(host, host, 1)


def test_a_kernel_that_is_silent() -> None:
    reader = object.__new__(QueueReader)
    reader._sequence = 0
    reader._socket, other = socket.socketpair()
    with other, reader._socket:
        reader._socket.settimeout(SHORT_S)
        with pytest.raises(AnabranchError, match="kernel: says nothing of queues within 10 s"):
            reader.read()


def test_a_lock_that_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datapath, "ROOT", tmp_path)
    monkeypatch.setattr(datapath, "require_file_system", lambda: None)
    monkeypatch.setattr(datapath, "LOCK_TIMEOUT_S", SHORT_S)
    held = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(AnabranchError, match="another process has locked it for"), datapath.locked():
        pass
    os.close(held)


def test_a_listener_that_takes_nobody(tmp_path: Path) -> None:
    path = tmp_path / "full"
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as first:
        listening.bind(str(path))
        listening.listen(0)
        first.connect(str(path))
        assert not listener._abandoned(path)
    assert listener._abandoned(path)


def test_a_cell_whose_process_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_process, "END_TIMEOUT_S", SHORT_S)
    command = ["sh", "-c", "exec sleep 60 >&-"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    monkeypatch.setattr(cell_process, "_start", lambda: process)
    job: Any = SimpleNamespace(words="seed 1")
    monkeypatch.setattr("pickle.dump", lambda *_: None)
    message = "at seed 1: its process has closed its output and not ended within"
    with cell_process.CellProcesses() as processes, pytest.raises(AnabranchError, match=message):
        processes.run(job, cell_process.ProcessProgress(), [])
    # Its process is ended all the same.
    assert process.wait(10) < 0
