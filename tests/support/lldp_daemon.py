"""`lldpd` at devices of the test's own namespace: an LLDP implementation of others."""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.needs import brings
from support.waiting import wait


class LldpDaemon:
    """A running one, asked by `lldpcli`."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def control(self, *words: str) -> str:
        """What `lldpcli` prints."""
        command = ["lldpcli", "-u", str(self._socket), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def neighbours(self, count: int) -> dict[str, tuple[str, str, str]]:
        """Chassis id, system name and port id that it has heard, by device; waits until there are so many."""
        heard: dict[str, tuple[str, str, str]] = {}

        def known() -> bool:
            interfaces = json.loads(self.control("-f", "json0", "show", "neighbors")).get("lldp", [{}])[0]
            for one in interfaces.get("interface", []):
                chassis, port = one["chassis"][0], one["port"][0]
                values = chassis["id"][0]["value"], chassis["name"][0]["value"], port["id"][0]["value"]
                heard[one["name"]] = values
            return len(heard) >= count

        wait(known, lambda: f"{heard}\n{self.control('show', 'neighbors')}")
        return heard


@brings("root")
def need_lldpd() -> None:
    """Skips the test where lldpd is missing."""
    if not shutil.which("lldpd"):
        pytest.skip("lldpd is missing: apt install lldpd")


@contextmanager
def lldp_daemon(folder: Path, devices: Sequence[str], system: str) -> Iterator[LldpDaemon]:
    """One that speaks under a name every second."""
    need_lldpd()
    # It changes its root to a folder below /run, which a test's own world begins without, and its user, who cannot
    # enter the folders of tests.
    Path("/run/lldpd").mkdir(exist_ok=True)
    socket = Path(f"/run/lldpd-{secrets.token_hex(4)}.socket")
    log = (folder / "lldpd.log").open("w")
    command = ["lldpd", "-d", "-I", ",".join(devices), "-u", str(socket), "-S", "a switch"]
    process = subprocess.Popen(command, stderr=log, stdin=subprocess.DEVNULL)
    try:
        daemon = LldpDaemon(socket)
        wait(lambda: "lldp" in daemon.control("-f", "json", "show", "configuration"), lambda: log.name)
        for words in (
            ["system", "hostname", system],
            ["lldp", "tx-interval", "1"],
            ["lldp", "portidsubtype", "ifname"],
        ):
            daemon.control("configure", *words)
        yield daemon
    finally:
        process.terminate()
        process.wait()
        log.close()
