"""A real Open vSwitch and the controller over TLS, each with a certificate that the other verifies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anabranch.openflow.tls import Tls
from certificates import make_certificates
from controller_process import ControllerProcess, controller, wait
from dummy_bridges import DummyBridges, dummy_bridges
from reserved_port import reserved_port


@dataclass
class Ends:
    """A fabric whose leaf0 listens for us, and whose leaf1 comes to us."""

    fabric: DummyBridges
    certificates: dict[str, Tls]
    listens_at: int
    comes_to: int
    http: int

    def text(self, tls: Tls) -> str:
        """The controller's file."""
        files = "\n".join(f'{name} = "{path}"' for name, path in vars(tls).items())
        return self.fabric.fabric_toml(
            openflow={"leaf0": f"ssl:127.0.0.1:{self.listens_at}", "leaf1": ""},
            listen=f"ssl:127.0.0.1:{self.comes_to}",
            http=f"127.0.0.1:{self.http}",
            more=f"[tls]\n{files}",
        )


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    certificates = make_certificates(tmp_path)
    with (
        dummy_bridges(tmp_path, leaves=2, spines=1) as fabric,
        reserved_port() as listens_at,
        reserved_port() as comes_to,
        reserved_port() as http,
    ):
        switch, ovs = certificates["switch"], fabric.open_vswitch
        ovs.vsctl("set-ssl", str(switch.key), str(switch.certificate), str(switch.authority))
        ovs.vsctl("set-controller", "leaf0", f"pssl:{listens_at}:127.0.0.1")
        ovs.vsctl("set-controller", "leaf1", f"ssl:127.0.0.1:{comes_to}")
        yield Ends(fabric, certificates, listens_at, comes_to, http)


def test_switches_that_listen_and_that_come_are_followed_over_tls(ends: Ends, tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text(ends.text(ends.certificates["controller"]))
    with controller(file, ends.http) as process:
        process.wait_healthy()
        assert all(switch["commits"] for switch in switches(process).values())
        # Of whatever the process made, nothing may be written by others.
        assert not [path for path in (*tmp_path.iterdir(), file) if path.stat().st_mode & 0o002]


def test_an_authority_that_is_not_theirs_is_refused_by_both(ends: Ends, tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text(ends.text(ends.certificates["stranger"]))
    with controller(file, ends.http) as process:
        # A busy machine may be too slow for a handshake; the certificate is refused in the first that is not.
        wait(lambda: refused(process, ends), lambda: process.log.read_text())
        assert not any(event["event"] == "connected" and event["switch"] != "spine0" for event in process.events())


def refused(process: ControllerProcess, ends: Ends) -> bool:
    """Both say why; the spine, on a unix socket, is followed whatever becomes of the others."""
    found = switches(process)
    if not found:
        return False
    error, log = found["leaf0"]["last_error"], (ends.fabric.folder / "ovs-vswitchd.log").read_text()
    ours = "certificate" in error and str(ends.listens_at) in error
    theirs = re.search("SSL_connect: .*certificate verify failed", log) is not None
    return ours and theirs and found["spine0"]["connected"]


def switches(process: ControllerProcess) -> dict[str, dict[str, Any]]:
    """What the controller says of each."""
    _, status = process.get("/status.json")
    return {switch["name"]: switch for switch in status["switches"]} if status else {}
