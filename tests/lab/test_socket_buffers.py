"""Sockets of another process, widened while it opens and closes others, and when it has ended."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from anabranch.lab.fabric import socket_buffers
from support.lab_fixture import need_lab

RESTLESS = """
import os, socket
sending = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
print(flush=True)
while True:
    with socket.socket(), open(os.devnull):
        pass
"""
"""A process with one packet socket that stays, beside files and sockets under numbers that are used again at once."""
LOOKS = 300


@contextmanager
def process(code: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as started:
        try:
            assert started.stdout is not None
            assert started.stdout.readline()
            yield started
        finally:
            started.kill()


def test_sockets_that_are_closed_meanwhile_are_passed_over() -> None:
    need_lab()
    with process(RESTLESS) as restless:
        assert all(socket_buffers.widen(restless.pid) for _ in range(LOOKS))


def test_a_process_without_packet_sockets_sends_nothing() -> None:
    need_lab()
    with process("import socket, time; here = socket.socket(); print(flush=True); time.sleep(60)") as other:
        assert not socket_buffers.widen(other.pid)


def test_a_process_that_ends_meanwhile_has_no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    need_lab()
    copy = socket_buffers._copy
    with process(RESTLESS) as ending:

        def late(handle: int, descriptor: int) -> object:
            ending.kill()
            ending.wait()
            return copy(handle, descriptor)

        monkeypatch.setattr(socket_buffers, "_copy", late)
        assert not socket_buffers.widen(ending.pid)
    assert not socket_buffers.widen(ending.pid)
