"""How long flows are interrupted when a link fails: datagrams of many flows, counted at the receiver."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.deploy.netlink.namespace import inside
from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric.blueprint import Host
from anabranch.lab.fabric.socket_buffers import SO_RCVBUFFORCE
from anabranch.lab.traffic.bursts import frames
from anabranch.split.tuples import five_tuples

HEADERS = 42
"""Ethernet, IPv4, UDP."""
NUMBER_BYTES = 8
NO_NUMBER = (1 << 8 * NUMBER_BYTES) - 1
"""Number that packets carry which do not count."""
FIRST_PORT, SINK_PORT = 20_000, 9
BATCH_NS = 400_000
"""Packets that are due are sent together; the clock is looked at so often."""
BATCH_MAX = 256
"""At once, however many are due: fewer than wait between two devices (net.core.netdev_max_backlog, 1000)."""
SET_UP_S, WARM_UP_S, SILENCE_S = 0.1, 0.5, 1.0
"""Silence is the end once all is sent: a busy machine may keep a packet for a while."""
ROOM_BYTES = 1 << 26
END_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Outage:
    """Cost of a failure."""

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
        fail: Makes the failure; called after half a second. It may wait for what is to follow.
        packets_per_s: All flows together, in turn.
        flows: How many.
        duration_s: Of all; longer where `fail` takes so long that not half a second would follow it.

    Raises:
        AnabranchError: nothing arrives even before the failure, or sending does not end.

    """
    with inside(target.namespace):
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with inside(source.namespace):
        outlet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    arrived: set[int] = set()
    sent: list[int] = []
    with sink, outlet:
        sink.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM_BYTES)
        sink.bind((target.address, SINK_PORT))
        sink.settimeout(SILENCE_S)
        outlet.bind((source.interface, 0))
        wave = _wave(source, target, flows)
        for frame in wave:
            # Flows are set up before: that is not what is measured.
            outlet.send(frame)
        receiver = threading.Thread(target=_receive, args=(sink, arrived, sent), daemon=True)
        receiver.start()
        time.sleep(SET_UP_S)
        ended = threading.Event()
        sender = threading.Thread(target=_send, args=(outlet, wave, packets_per_s, ended, sent), daemon=True)
        sender.start()
        try:
            end_s = time.monotonic() + duration_s
            time.sleep(WARM_UP_S)
            fail()
            time.sleep(max(WARM_UP_S, end_s - time.monotonic()))
        finally:
            ended.set()
            for thread, what in ((sender, "the sender"), (receiver, "the receiver")):
                thread.join(END_TIMEOUT_S)
                if thread.is_alive():
                    raise AnabranchError(f"outage: {what} has not ended {END_TIMEOUT_S:g} s after the measurement")
    has_arrived = np.isin(np.arange(sent[0]), list(arrived))
    return _judge(has_arrived, flows, packets_per_s)


def _wave(source: Host, target: Host, flows: int) -> list[bytes]:
    ports = np.arange(flows, dtype=np.uint16) + FIRST_PORT
    tuples = five_tuples(source.address, target.address, "udp", ports, SINK_PORT)
    bursts = frames(tuples, source.mac, target.mac, payload=NUMBER_BYTES + 16)
    bursts[:, HEADERS : HEADERS + NUMBER_BYTES] = 0xFF
    return [bytes(frame) for frame in bursts]


def _send(
    outlet: socket.socket, wave: list[bytes], packets_per_s: float, ended: threading.Event, sent: list[int]
) -> None:
    """Until it is to end, and then what is due by then; `sent` has how many that were."""
    began = time.monotonic_ns()
    count, due, last = 0, 0, False
    try:
        while count < due or not last:
            if count == due:
                last = ended.is_set()
                due = int((time.monotonic_ns() - began) * packets_per_s / 1e9) + 1
            batch = range(count, min(due, count + BATCH_MAX))
            for number in batch:
                frame = wave[number % len(wave)]
                outlet.send(frame[:HEADERS] + number.to_bytes(NUMBER_BYTES, "big") + frame[HEADERS + NUMBER_BYTES :])
            count = batch.stop
            time.sleep(BATCH_NS / 1e9)
    finally:
        sent.append(count)


def _receive(sink: socket.socket, arrived: set[int], sent: list[int]) -> None:
    """Until all that was sent is there, or nothing has come for a while after all was sent."""
    while not sent or len(arrived) < sent[0]:
        last = bool(sent)
        try:
            number = int.from_bytes(sink.recv(64)[:NUMBER_BYTES], "big")
        except TimeoutError:
            if last:
                return
            continue
        if number != NO_NUMBER:
            arrived.add(number)


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
        recovered=bool(by_flow[-max(1, min(waves // 20, before)) :].all()),
    )
