"""A real Open vSwitch and the controller over TLS, each with a certificate that the other verifies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from anabranch.deploy.control.exposure import exposures
from anabranch.deploy.control.file import read
from anabranch.deploy.openflow.tls import Tls
from support.certificates import make_certificates
from support.command import anabranch
from support.controller_process import ControllerProcess, controller
from support.dummy_bridges import DummyBridges, dummy_bridges
from support.reserved_port import reserved_port
from support.waiting import wait


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


def test_who_comes_and_fails_is_logged_once_and_named_by_health(ends: Ends, tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text(ends.text(ends.certificates["controller"]))
    bridge = ends.fabric.open_vswitch
    bridge.vsctl("set", "bridge", "leaf1", "protocols=OpenFlow13")
    with controller(file, ends.http) as process:
        wait(lambda: "OpenFlow 1.3" in health(process).get("leaf1", ""), lambda: process.log.read_text())
        reason = health(process)["leaf1"]
        assert re.match("not connected yet; .* ago a handshake failed: ssl:127.0.0.1:[0-9]+: switch: it offers", reason)
        assert reason.endswith("ovs-vsctl add bridge BRIDGE protocols OpenFlow15")
        # Open vSwitch tries again after a second, then after two.
        before = refusals(ends)
        wait(lambda: refusals(ends) >= before + 2, lambda: process.log.read_text())
        told = [event for event in process.events() if event["event"] == "handshake-failed" and "1.3" in event["error"]]
        assert len(told) == 1
        assert re.fullmatch("ssl:127.0.0.1:[0-9]+", told[0]["peer"])
        assert told[0]["level"] == "warning"
        # What it was is said for as long as it is not connected.
        bridge.vsctl("set", "bridge", "leaf1", "protocols=OpenFlow15")
        process.wait_healthy()
        bridge.vsctl("del-controller", "leaf1")
        wait(lambda: "leaf1" in health(process), lambda: process.log.read_text())
        assert re.fullmatch(
            r"lost .* ago: switch ssl:\S+: it closed the connection; is it running\?", health(process)["leaf1"]
        )
        (lost,) = (event for event in process.events() if event["event"] == "lost")
        assert "it closed the connection" in lost["error"]


def test_what_lets_others_in_is_warned_of(ends: Ends, tmp_path: Path) -> None:
    tls = ends.certificates["controller"]
    text = ends.text(tls).replace(f'"ssl:127.0.0.1:{ends.comes_to}"', f'"tcp:0.0.0.0:{ends.comes_to}"')
    text = text.replace(f'"127.0.0.1:{ends.http}"', f'"0.0.0.0:{ends.http}"')
    file = tmp_path / "fabric.toml"
    file.write_text(text)
    tls.key.chmod(0o644)
    with controller(file, ends.http) as process:
        process.status()
        told = [event["error"] for event in process.events() if event["event"] == "exposed"]
    key = f"{file}: tls.key: {tls.key}: mode 0644: others on this machine can use the private key; chmod 600 {tls.key}"
    assert [line.partition(": ")[2].partition(": ")[0] for line in told] == [
        "listen.openflow",
        "listen.http",
        "tls.key",
    ]
    assert told[2] == key
    once = anabranch("control", str(file), "--dry-run", "--timeout", "0.1")
    assert [line for line in once.stderr.splitlines() if line.startswith("warning: ")] == [
        f"warning: {line}" for line in told
    ]
    tls.key.chmod(0o640)
    file.write_text(ends.text(tls))
    assert exposures(read(file)) == []
    for address, everywhere in (("[::]:1", 1), ("[::1]:1", 0), ("10.0.0.1:1", 0), ("localhost:1", 0)):
        assert len(exposures(replace(read(file), openflow=f"tcp:{address}"))) == everywhere
        assert len(exposures(replace(read(file), openflow=f"ssl:{address}"))) == 0


def refusals(ends: Ends) -> int:
    """How often Open vSwitch found that it and the controller have no version in common."""
    return (ends.fabric.folder / "ovs-vswitchd.log").read_text().count("version negotiation failed")


def health(process: ControllerProcess) -> dict[str, str]:
    """The reason of each switch that is not as planned."""
    _, found = process.get("/healthz")
    return {one["switch"]: one["reason"] for one in found["reasons"]} if found else {}


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
    """Reports of the controller on each switch."""
    _, status = process.get("/status.json")
    return {switch["name"]: switch for switch in status["switches"]} if status else {}
