"""Packets that the controller sends by a bridge's ports, and those that a bridge's rules send to it."""

from __future__ import annotations

import asyncio
import struct
import subprocess
from collections.abc import Iterator

import pytest

from anabranch.deploy.openflow.action import CONTROLLER, Output
from anabranch.deploy.openflow.error import ProtocolError
from anabranch.deploy.openflow.framing import Kind, message
from anabranch.deploy.openflow.match import Match
from anabranch.deploy.openflow.modification import FlowMod
from anabranch.deploy.openflow.oxm import encode_match
from anabranch.deploy.openflow.packet_codec import PacketIn, decode_packet_in, encode_packet_out
from anabranch.deploy.openflow.tables import Flow
from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from support.dummy_switch import BRIDGE, PATIENCE_S, connected, dummy_switch, empty, run_strictly

FRAME = bytes.fromhex("0180c200000e 0ab5a0000000 88cc") + bytes(46)


@pytest.fixture(scope="module")
def switch() -> Iterator[OpenVSwitch]:
    with dummy_switch() as started:
        yield started


def test_ovs_ofctl_reads_a_packet_out(switch: OpenVSwitch) -> None:
    assert switch.pid("ovs-vswitchd")
    sent = message(Kind.PACKET_OUT, 5, encode_packet_out(7, FRAME))
    text = subprocess.run(["ovs-ofctl", "ofp-parse", "-"], input=sent, check=True, capture_output=True).stdout.decode()
    assert "in_port=CONTROLLER actions=output:7 data_len=60" in text
    assert "dl_type=0x88cc" in text


def test_a_packet_in_is_whole_or_ends_the_connection() -> None:
    """By section 7.4.1: buffer, length, reason, table, cookie, match, padding, frame."""
    head = struct.pack(">IHBBQ", 0xFFFFFFFF, len(FRAME), 1, 0, 0xAB5A << 48)
    whole = head + encode_match(Match.of(in_port=3)) + bytes(2) + FRAME
    assert decode_packet_in(whole) == PacketIn(3, 0xAB5A << 48, FRAME)
    for cut in range(len(whole) - len(FRAME)):
        with pytest.raises(ProtocolError):
            decode_packet_in(whole[:cut])
    with pytest.raises(ProtocolError, match="port that it came by"):
        decode_packet_in(head + encode_match(Match.of(eth_type=0x88CC)) + bytes(2) + FRAME)


def test_a_bridge_passes_on_what_a_rule_sends_and_a_refusal_ends_nothing(switch: OpenVSwitch) -> None:
    async def work() -> None:
        async with connected(switch.openflow(BRIDGE)) as connection:
            await empty(connection)
            got: list[PacketIn] = []
            came = asyncio.Event()

            def take(packet: PacketIn) -> None:
                got.append(packet)
                came.set()

            connection.on_packet_in = take
            port, *_ = await connection.described_ports()
            rule = Flow(0, 7, Match.of(eth_type=0x88CC), (Output(CONTROLLER),), cookie=0x1234)
            await connection.commit([FlowMod("add", rule)])
            # Not a port of this bridge: refused, and that is all.
            for number in (0xFFFE, 4711, 4711):
                connection.send_packet(number, FRAME)
            await connection.barrier()
            assert not connection.failure
            switch.appctl("netdev-dummy/receive", port.name, FRAME.hex())
            await asyncio.wait_for(came.wait(), PATIENCE_S)
            assert got == [PacketIn(port.number, 0x1234, FRAME)]

    run_strictly(work)
