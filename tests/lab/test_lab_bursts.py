"""Packets of given 5-tuples on a real wire, and what netlink says of its queue."""

from __future__ import annotations

import socket
import struct

import numpy as np
import pytest

from anabranch import AnabranchError, five_tuples
from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.traffic.bursts import frames, send
from anabranch.lab.traffic.play import Options, play
from anabranch.lab.traffic.queue_counters import QueueReader
from support.lab_pair import device_bytes, shaped_pair
from support.waiting import DEADLINE_S, wait

MACS = "02:ab:00:00:00:01", "02:ab:00:00:00:02"
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
PACKET_OUTGOING = 4


def some_tuples(protocol: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    sources = [f"10.1.{a}.{b}" for a, b in rng.integers(0, 256, (count, 2))]
    ports = rng.integers(0, 65536, (2, count))
    return five_tuples(sources, ["10.2.0.1"] * count, protocol, *ports)


def ones_complement_sum(header: bytes) -> int:
    total: int = sum(struct.unpack(">10H", header))
    return int((total & 0xFFFF) + (total >> 16))


@pytest.mark.parametrize(("protocol", "number"), [("udp", 17), ("tcp", 6)])
def test_every_tuple_arrives_once_as_a_sound_packet(protocol: str, number: int) -> None:
    tuples = some_tuples(protocol, 2000)
    with shaped_pair(100) as (near, far):
        with inside(far.namespace):
            ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        with ear:
            ear.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
            ear.settimeout(DEADLINE_S)
            # Slowly: what waits between two devices is bounded (net.core.netdev_max_backlog, 1000).
            rate = send(near.namespace, "near", frames(tuples, *MACS), 5_000)
            assert 0 < rate <= 5_000
            heard: list[bytes] = []
            while len(heard) < len(tuples):
                packet, address = ear.recvfrom(2048)
                if address[2] != PACKET_OUTGOING:
                    heard.append(packet)
    # In order, but for two processors that meet.
    sources = [bytes(one["source"][:4]) + int(one["source_port"]).to_bytes(2, "big") for one in tuples]
    place = {source: index for index, source in enumerate(sources)}
    heard.sort(key=lambda packet: place[packet[26:30] + packet[34:36]])
    for expected, packet in zip(tuples, heard, strict=True):
        header, ports = packet[14:34], packet[34:38]
        assert packet[:14] == bytes.fromhex("02ab0000000202ab000000010800")
        assert ones_complement_sum(header) == 0xFFFF
        assert struct.unpack(">H", header[2:4])[0] == len(packet) - 14
        assert header[9] == number
        assert header[12:20] == expected["source"][:4].tobytes() + expected["destination"][:4].tobytes()
        assert struct.unpack(">HH", ports) == (expected["source_port"], expected["destination_port"])


def test_tuples_of_other_kinds_are_refused() -> None:
    with pytest.raises(AnabranchError, match="neither UDP nor TCP over IPv4"):
        frames(five_tuples(["fd00::1"], ["fd00::2"], "udp", [1], [2]), *MACS)
    with pytest.raises(AnabranchError, match="neither UDP nor TCP over IPv4"):
        frames(five_tuples(["10.0.0.1"], ["10.0.0.2"], "icmp", [0], [0]), *MACS)


def test_queue_counters_agree_with_the_device_and_see_drops() -> None:
    flows = {"src": [0], "dst": [1], "size_bytes": [3_000_000], "start_ns": [0.0]}
    with shaped_pair(50, room_bytes=30_000) as pair, QueueReader(pair[0].namespace, ["near"]) as reader:
        before, device_before = reader.read()["near"], device_bytes(pair[0].namespace)
        largest = 0

        def sample(_: int) -> None:
            nonlocal largest
            largest = max(largest, reader.read()["near"].backlog_bytes)

        def beyond() -> int:
            device = device_bytes(pair[0].namespace) - device_before
            return device - (reader.read()["near"].sent_bytes - before.sent_bytes)

        found = play(pair, flows, Options(), every_ns=5_000_000, sample=sample)
        # The last packets of the connection may be on their way still.
        wait(lambda: beyond() == 0, lambda: f"{beyond()} bytes more by the device's count")
        after = reader.read()["near"]
    assert after.sent_bytes - before.sent_bytes > 3_000_000
    assert 10_000 < largest <= 30_000
    assert after.dropped_packets > 0
    assert found.unfinished == 0
