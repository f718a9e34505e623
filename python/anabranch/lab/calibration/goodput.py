"""Goodput of one TCP connection between two hosts."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

from anabranch.deploy.netlink.namespace import inside
from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric.blueprint import Host

TIMEOUT_S = 10.0
SEND_BYTES, RECEIVE_BYTES = 1 << 17, 1 << 18


def goodput_bps(source: Host, target: Host, duration_s: float) -> float:
    """Payload that arrives in a second, after the first tenth of the time: without the connection's beginning.

    Raises:
        AnabranchError: the connection is not made, or stalls.

    """
    with inside(target.namespace):
        listener = socket.create_server((target.address, 0))
    with inside(source.namespace):
        sender = socket.socket()
    arrived: list[tuple[float, int]] = []
    ended = threading.Event()
    with listener, sender:
        for end in (listener, sender):
            end.settimeout(TIMEOUT_S)
        try:
            sender.connect(listener.getsockname())
            receiver, _ = listener.accept()
            receiver.settimeout(TIMEOUT_S)
            thread = threading.Thread(target=_receive, args=(receiver, arrived, ended), daemon=True)
            thread.start()
            _send(sender, duration_s)
            sender.shutdown(socket.SHUT_WR)
            if not ended.wait(TIMEOUT_S):
                receiver.shutdown(socket.SHUT_RDWR)
            thread.join(TIMEOUT_S)
            if not arrived:
                raise TimeoutError("nothing arrives")
        except OSError as error:
            raise AnabranchError(
                f"TCP from {source.name} to {target.name}: {error}; do the switches forward between them?"
            ) from None
    return _rate_bps(arrived, duration_s)


def _send(sender: socket.socket, duration_s: float) -> None:
    end = time.monotonic() + duration_s
    data = bytes(SEND_BYTES)
    while time.monotonic() < end:
        sender.send(data)


def _receive(receiver: socket.socket, arrived: list[tuple[float, int]], ended: threading.Event) -> None:
    # Silence is its end too: what has arrived by then counts.
    with receiver, suppress(TimeoutError):
        while data := receiver.recv(RECEIVE_BYTES):
            arrived.append((time.monotonic(), len(data)))
    ended.set()


def _rate_bps(arrived: list[tuple[float, int]], duration_s: float) -> float:
    began = arrived[0][0] + duration_s / 10
    counted = [(at, size) for at, size in arrived if at >= began]
    if len(counted) < 2 or counted[-1][0] == counted[0][0]:
        return 0.0
    return 8 * sum(size for _, size in counted[1:]) / (counted[-1][0] - counted[0][0])
