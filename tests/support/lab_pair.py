"""Two network namespaces joined by a shaped link: the smallest real network that TCP can be tried on."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from anabranch.lab.fabric.machine import privileged
from anabranch.lab.traffic.play import Endpoint
from support.needs import brings

OFFLOADS = [word for name in ("tx", "rx", "tso", "gso", "gro") for word in (name, "off")]
PROGRAMS = ("ip", "tc", "ethtool")


def lacking() -> str:
    """Why namespaces cannot be made here; empty if they can."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    return "" if privileged() else "takes root, for network namespaces"


@brings("root")
@contextmanager
def shaped_pair(rate_mbps: int, room_bytes: int = 1 << 20) -> Iterator[tuple[Endpoint, Endpoint]]:
    """Both directions limited by HTB, which counts Ethernet frames without their checksum; offloads off."""
    if why := lacking():
        pytest.skip(why)
    mark = uuid.uuid4().hex[:8]
    names = [f"traffic-{mark}-{end}" for end in "ab"]
    try:
        for name in names:
            _run("ip", "netns", "add", name)
        _run("ip", "-n", names[0], "link", "add", "near", "type", "veth", "peer", "name", "near", "netns", names[1])
        for number, name in enumerate(names, 1):
            _run("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv6.conf.near.disable_ipv6=1")
            _run("ip", "netns", "exec", name, "ethtool", "-K", "near", *OFFLOADS)
            _run("ip", "-n", name, "address", "add", f"10.9.0.{number}/24", "dev", "near")
            _run("ip", "-n", name, "link", "set", "near", "up")
            htb = ("tc", "-n", name, "qdisc", "add", "dev", "near", "root", "handle", "1:", "htb", "default", "1")
            _run(*htb, "r2q", "1000")
            limit = ("parent", "1:", "classid", "1:1", "htb", "rate", f"{rate_mbps}mbit")
            _run("tc", "-n", name, "class", "add", "dev", "near", *limit)
            room = ("parent", "1:1", "handle", "10:", "bfifo", "limit", str(room_bytes))
            _run("tc", "-n", name, "qdisc", "add", "dev", "near", *room)
        yield Endpoint(names[0], "10.9.0.1"), Endpoint(names[1], "10.9.0.2")
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def device_bytes(namespace: str) -> int:
    """Bytes that the end of the link has sent."""
    file = "/sys/class/net/near/statistics/tx_bytes"
    return int(_run("ip", "netns", "exec", namespace, "cat", file))


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
