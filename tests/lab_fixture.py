"""Labs for tests: made under a name of their own, measured by TCP and by datagrams."""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from anabranch import AnabranchError, _core
from anabranch.lab.fabric.machine import check_machine
from anabranch.lab.fabric.switching import EBPF
from anabranch.lab.fabric.topology import Lab
from anabranch.netlink.namespace import inside

TIMEOUT_S = 10


def need_lab() -> None:
    """Skips the test where no lab can be made."""
    try:
        check_machine()
    except AnabranchError as error:
        pytest.skip(str(error))


def need_kernel_lab() -> None:
    """Skips the test where none can be made whose switches are datapaths in the kernel."""
    need_lab()
    for feature, there, note in _core.probe_kernel():
        if not there:
            pytest.skip(f"{feature}: {note}")


def new_name() -> str:
    """Of a lab that no other test has."""
    return f"lab-test-{secrets.token_hex(4)}"


@contextmanager
def lab_of(folder: Path, fabric: str, **options: Any) -> Iterator[Lab]:
    """A lab while the test runs."""
    if options.get("switch") == EBPF:
        need_kernel_lab()
    need_lab()
    scenario = folder / "scenario.toml"
    scenario.write_text(f"[fabric]\n{fabric}\n")
    lab = Lab.up(scenario, new_name(), **options)
    try:
        yield lab
    finally:
        lab.down()


def reaches(lab: Lab, source: str, target: str, timeout_s: float = TIMEOUT_S) -> bool:
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
