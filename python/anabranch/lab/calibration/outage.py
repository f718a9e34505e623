"""How long flows are interrupted when a link fails: datagrams of many flows, counted at the receiver."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch import AnabranchError, five_tuples
from anabranch.lab.fabric.blueprint import Host
from anabranch.lab.fabric.socket_buffers import SO_RCVBUFFORCE
from anabranch.lab.traffic.bursts import frames
from anabranch.netlink.namespace import inside

HEADERS = 42
"""Ethernet, IPv4, UDP."""
NUMBER_BYTES = 8
FIRST_PORT, SINK_PORT = 20_000, 9
BATCH_NS = 400_000
"""Packets that are due are sent together; the clock is looked at so often."""
WARM_UP_S, DRAIN_S = 0.5, 0.2
ROOM_BYTES = 1 << 26


@dataclass(frozen=True)
class Outage:
    """What a failure cost."""

    sent: int
    lost: int
    flows: int
    flows_hit: int
    """Flows that lost packets."""
    mean_ms: float
    """Lost packets over the rate at which the flows that were hit send; 0 where none was."""
    longest_ms: float
    """Most packets that one flow lost, as time at its rate."""
    recovered: bool
    """Whether every flow arrives again at the end."""


def measure(
    source: Host,
    target: Host,
    fail: Callable[[], None],
    *,
    packets_per_s: float = 20_000,
    flows: int = 32,
    duration_s: float = 2.0,
) -> Outage:
    """Sends datagrams in flows of different source ports, has something fail, and counts.

    Args:
        source: Who sends.
        target: Who receives.
        fail: Makes the failure; called after half a second.
        packets_per_s: All flows together, in turn.
        flows: How many.
        duration_s: Of all.

    Raises:
        AnabranchError: nothing arrives even before the failure.

    """
    count = int(packets_per_s * duration_s)
    with inside(target.namespace):
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with inside(source.namespace):
        outlet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    arrived = np.zeros(count, bool)
    with sink, outlet:
        sink.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM_BYTES)
        sink.bind((target.address, SINK_PORT))
        sink.settimeout(DRAIN_S)
        outlet.bind((source.interface, 0))
        wave = _wave(source, target, flows)
        for frame in wave:
            # Flows are set up before: that is not what is measured.
            outlet.send(frame)
        sent = threading.Event()
        receiver = threading.Thread(target=_receive, args=(sink, arrived, sent))
        receiver.start()
        time.sleep(DRAIN_S / 2)
        sender = threading.Thread(target=_send, args=(outlet, wave, count, packets_per_s))
        sender.start()
        time.sleep(WARM_UP_S)
        fail()
        sender.join()
        sent.set()
        receiver.join()
    return _judge(arrived, flows, packets_per_s)


def _wave(source: Host, target: Host, flows: int) -> list[bytes]:
    ports = np.arange(flows, dtype=np.uint16) + FIRST_PORT
    tuples = five_tuples(source.address, target.address, "udp", ports, SINK_PORT)
    made = frames(tuples, source.mac, target.mac, payload=NUMBER_BYTES + 16)
    # The number that a packet of the wave itself bears is of none that counts.
    made[:, HEADERS : HEADERS + NUMBER_BYTES] = 0xFF
    return [bytes(frame) for frame in made]


def _send(outlet: socket.socket, wave: list[bytes], count: int, packets_per_s: float) -> None:
    began = time.monotonic_ns()
    sent = 0
    while sent < count:
        due = min(count, int((time.monotonic_ns() - began) * packets_per_s / 1e9) + 1)
        for number in range(sent, due):
            frame = wave[number % len(wave)]
            outlet.send(frame[:HEADERS] + number.to_bytes(NUMBER_BYTES, "big") + frame[HEADERS + NUMBER_BYTES :])
        sent = due
        time.sleep(BATCH_NS / 1e9)


def _receive(sink: socket.socket, arrived: npt.NDArray[np.bool_], sent: threading.Event) -> None:
    """Until nothing has come for a while after all is sent: a busy machine may be silent for as long before that."""
    while True:
        last = sent.is_set()
        try:
            number = int.from_bytes(sink.recv(64)[:NUMBER_BYTES], "big")
        except TimeoutError:
            if last:
                return
            continue
        if number < len(arrived):
            arrived[number] = True


def _judge(arrived: npt.NDArray[np.bool_], flows: int, packets_per_s: float) -> Outage:
    waves = len(arrived) // flows
    by_flow = arrived[: waves * flows].reshape(waves, flows)
    before = int(WARM_UP_S / 2 * packets_per_s / flows)
    if not by_flow[:before].any():
        raise AnabranchError("outage: nothing arrives before the failure; do the switches forward between the hosts?")
    lost_of = (~by_flow).sum(axis=0)
    hit, lost = int((lost_of > 0).sum()), int(lost_of.sum())
    flow_pps = packets_per_s / flows
    return Outage(
        sent=waves * flows,
        lost=lost,
        flows=flows,
        flows_hit=hit,
        mean_ms=1e3 * lost / (hit * flow_pps) if hit else 0.0,
        longest_ms=1e3 * float(lost_of.max()) / flow_pps,
        recovered=bool(by_flow[-max(1, waves // 20) :].all()),
    )
