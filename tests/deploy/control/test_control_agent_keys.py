"""The key `agent` of a switch and the addresses of agents, as they must and must not be."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from anabranch.deploy.control import file
from anabranch.deploy.openflow.tls import Tls
from anabranch.deploy.targets.linux.agent import daemon
from anabranch.files.errors import AnabranchError
from support.certificates import make_certificates
from support.command import anabranch

EXAMPLE = Path(__file__).parents[3] / "examples" / "remote-kernels.toml"
TLS = '[tls]\nkey = "controller.key"\ncertificate = "controller.pem"\nauthority = "fabric.pem"\n'
FIRST = 'agent = "ssl:10.255.0.1:6655"'


def test_the_example_is_a_fabric_of_agents(tmp_path: Path) -> None:
    files = "\n".join(f'{name} = "{path}"' for name, path in vars(make_certificates(tmp_path)["controller"]).items())
    fabric = file.parse(EXAMPLE.read_text(encoding="utf-8").replace(TLS, f"[tls]\n{files}\n"), "fabric.toml")
    agents = [switch.keys.agent for switch in fabric.switches.values()]
    assert agents == [f"ssl:10.255.0.{number}:6655" for number in range(1, 5)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (FIRST, "switch.leaf0.agent: ssl:10.255.0.1:6655: it needs [tls]; give key, certificate and authority"),
        ('agent = "tcp:10.255.0.1:6655"', "not the controller's machine; take ssl:10.255.0.1:6655"),
        ('agent = "tcp:leaf0:6655"', "not the controller's machine; take ssl:leaf0:6655"),
        ('agent = "10.255.0.1"', "not unix: or tcp: or ssl:"),
        ('agent = "unix:/run/leaf0"\nnamespace = "leaf0"', "the agent is in the namespace; leave out one of the two"),
        ('agent = "unix:/run/leaf1"', "switch.leaf0.agent: unix:/run/leaf1: leaf1 has it; each has its own"),
    ],
)
def test_a_wrong_agent_is_refused_with_a_hint(line: str, problem: str) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").replace(TLS, "").replace(FIRST, line)
    with pytest.raises(AnabranchError) as refused:
        file.parse(text.replace("ssl:10.255.0.2:6655", "unix:/run/leaf1"), "fabric.toml")
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("address", "tls", "problem"),
    [
        ("tcp:0.0.0.0:6655", None, "without TLS at loopback only"),
        ("ssl:0.0.0.0:6655", None, "ssl needs a key, a certificate and an authority"),
        ("leaf0", None, "not an address; write unix:/path, tcp:host:6655"),
        ("unix:/nowhere/agent", None, "listen: unix:/nowhere/agent: No such file"),
        ("ssl:127.0.0.1:6655", Tls(Path("no"), Path("no"), Path("no")), "tls: no: No such file"),
    ],
)
def test_an_agent_that_cannot_listen_says_why(address: str, tls: Tls | None, problem: str) -> None:
    with pytest.raises(AnabranchError) as refused:
        asyncio.run(daemon.serve(address, tls, print))
    assert problem in str(refused.value)


def test_an_agent_takes_certificates_as_a_whole_only() -> None:
    ended = anabranch("agent", "unix:x", "--key", "x.key")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "certificate: missing; ssl takes --key, --certificate and --authority together" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("ssl:127.0.0.1:6655",), 2),
        (("ssl:127.0.0.1:6655", "--key", "no", "--certificate", "no", "--authority", "no"), 2),
        (("tcp:127.0.0.1:6655", "--key", "no", "--certificate", "no", "--authority", "no"), 2),
        (("unix:/nowhere/agent",), 75),
    ],
)
def test_only_what_may_pass_is_to_be_tried_again(arguments: tuple[str, ...], status: int) -> None:
    ended = anabranch("agent", *arguments)
    assert (ended.returncode, ended.stderr.count("\n")) == (status, 1), ended.stderr
