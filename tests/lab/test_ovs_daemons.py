"""A daemon as seen from outside: its end while no process waits for it, and connections that it ends."""

from __future__ import annotations

import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from anabranch.deploy.targets.ovs.daemons import SWITCH, OpenVSwitch
from support.dummy_switch import BRIDGE, dummy_switch


def test_a_daemon_that_ends_while_its_state_is_read_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_text = Path.read_text
    with subprocess.Popen(["sleep", "60"]) as process:
        (tmp_path / f"{SWITCH}.pid").write_text(f"{process.pid}\n")

        def late(path: Path, *arguments: Any, **named: Any) -> str:
            if path.parts[1] != "proc":
                return read_text(path, *arguments, **named)
            with path.open() as file:
                process.kill()
                process.wait()
                return file.read()

        monkeypatch.setattr(Path, "read_text", late)
        assert OpenVSwitch(tmp_path, dummy=True).pid(SWITCH) is None
    assert process.returncode == -9


def test_a_connection_that_ends_before_its_hello_is_made_again(tmp_path: Path) -> None:
    """Open vSwitch ends one whose hello comes after a second, as of a client that is not scheduled."""
    with dummy_switch() as switch, socket.socket(socket.AF_UNIX) as listening:
        before = OpenVSwitch(tmp_path, dummy=True)
        address = tmp_path / f"{BRIDGE}.mgmt"
        listening.bind(str(address))
        listening.listen()

        def end() -> None:
            connection, _ = listening.accept()
            address.unlink()
            address.symlink_to(switch.openflow(BRIDGE).removeprefix("unix:"))
            connection.close()

        with ThreadPoolExecutor() as pool:
            ended = pool.submit(end)
            assert "OFPST_FLOW" in before.ofctl("dump-flows", BRIDGE)
            ended.result()
