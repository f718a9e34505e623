"""Two network namespaces joined by a link that overtakes by a known depth: of two delays each packet draws one.

The link (`late_link`) is a process between two tun devices, so that the sender's kernel does not see its own packets
under way, as it does on veth: it would know what is only late.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from anabranch.lab.traffic.play import Endpoint
from support.lab_pair import lacking
from support.needs import brings

LINK = Path(__file__).with_name("late_link.py")
DEVICE = Path("/dev/net/tun")


@brings("root")
@contextmanager
def late_pair(
    rate_mbps: float, delay_ms: float, later_ms: float, sysctls: Mapping[str, str]
) -> Iterator[tuple[Endpoint, Endpoint]]:
    """Packets of the first wait for the rate; both ways each draws one of two delays by a fair coin."""
    if why := lacking():
        pytest.skip(why)
    if not DEVICE.exists():
        pytest.skip(f"{DEVICE} is missing")
    mark = uuid.uuid4().hex[:8]
    names = [f"late-{mark}-{end}" for end in "ab"]
    link = None
    try:
        for name in names:
            _run("ip", "netns", "add", name)
            _run("ip", "netns", "exec", name, "sysctl", "-qw", *(f"{key}={value}" for key, value in sysctls.items()))
        numbers = [str(number) for number in (rate_mbps, delay_ms, later_ms)]
        link = subprocess.Popen([sys.executable, str(LINK), *names, *numbers], stdout=subprocess.PIPE, text=True)
        assert link.stdout is not None
        assert link.stdout.readline() == "ready\n"
        for number, name in enumerate(names, 1):
            _run("ip", "-n", name, "address", "add", f"10.9.0.{number}/24", "dev", "late")
            _run("ip", "-n", name, "link", "set", "late", "up", "txqueuelen", "10000")
        yield Endpoint(names[0], "10.9.0.1"), Endpoint(names[1], "10.9.0.2")
    finally:
        if link is not None:
            link.kill()
            link.communicate(timeout=10)
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def _run(*command: str) -> None:
    subprocess.run(command, capture_output=True, check=True)
