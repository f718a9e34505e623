"""`anabranch agent` as a process in the namespace of a switch, with no privilege but CAP_NET_ADMIN."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch.deploy.openflow.tls import Tls
from support.routed_fabric import RoutedFabric
from support.waiting import wait

ADDRESS = "192.0.2.2"
"""Address of a switch at its link to the controller."""
ONLY = ("setpriv", "--bounding-set=-all,+net_admin", "--inh-caps=-all,+net_admin")


class AgentProcess:
    """One after the other for one switch, at one address."""

    def __init__(self, fabric: RoutedFabric, switch: str, address: str, tls: Tls | None, log: Path) -> None:
        self.log = log
        self._fabric, self._switch, self._address, self.tls = fabric, switch, address, tls
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts one, and waits until it listens."""
        files = [] if self.tls is None else [f"--{name}={path}" for name, path in vars(self.tls).items()]
        entered = ["nsenter", f"--net={self._fabric.namespace(self._switch)}", *ONLY]
        before = self.said().count("listening at")
        with self.log.open("ab") as log:
            process = self._process = subprocess.Popen(
                [*entered, sys.executable, "-m", "anabranch", "agent", self._address, *files],
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        wait(lambda: self.said().count("listening at") > before or process.poll() is not None, self.said)
        assert process.poll() is None, self.said()

    def said(self) -> str:
        """All that was printed so far."""
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    @property
    def pid(self) -> int:
        """Process id of the one that runs."""
        assert self._process is not None
        return self._process.pid

    def signal(self, number: int) -> None:
        """Sends a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Ends it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def ended(self) -> int:
        """Waits for its end, and gives its status."""
        assert self._process is not None
        status = self._process.wait(120)
        self._process = None
        return status


@contextmanager
def agent(
    fabric: RoutedFabric, switch: str, folder: Path, address: str = f"ssl:{ADDRESS}:6655", tls: Tls | None = None
) -> Iterator[AgentProcess]:
    """Runs one for a switch, which the fabric's file then names, and ends it."""
    process = AgentProcess(fabric, switch, address, tls, folder / "agent.log")
    fabric.reached[switch] = f'agent = "{address}"'
    process.start()
    try:
        yield process
    finally:
        process.kill()


def manage(fabric: RoutedFabric, switch: str) -> None:
    """Makes a link between the namespace of the test and a switch, beside the fabric."""
    pid = fabric.processes[switch].pid
    lines = [f"link add manage type veth peer name manage netns {pid}", "addr add 192.0.2.1/24 dev manage"]
    lines += ["link set manage up", "link set lo up"]
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)
    fabric.ip(switch, f"addr add {ADDRESS}/24 dev manage", "link set manage up")
