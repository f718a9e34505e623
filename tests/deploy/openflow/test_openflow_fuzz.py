"""Bytes that no switch should send: a decoder answers by values or by `ProtocolError`, by nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch import AnabranchError
from anabranch.deploy.openflow.blocks import pad
from anabranch.deploy.openflow.bundle import Step, check_control
from anabranch.deploy.openflow.commit import encode_mod
from anabranch.deploy.openflow.error import ProtocolError, decode_error
from anabranch.deploy.openflow.flow_codec import decode_flow_counters, decode_flows
from anabranch.deploy.openflow.framing import HEADER, VERSION, Frames, Kind, Message, message
from anabranch.deploy.openflow.group_codec import decode_bucket_counters, decode_groups
from anabranch.deploy.openflow.handshake import check_hello, decode_features
from anabranch.deploy.openflow.meter_codec import decode_meters
from anabranch.deploy.openflow.modification import FlowMod, GroupMod, MeterMod
from anabranch.deploy.openflow.multipart import Answer, What
from anabranch.deploy.openflow.port_codec import decode_port_counters, decode_port_status, decode_ports
from anabranch.deploy.openflow.tables import Flow, Group, Meter

# Parts of Open vSwitch 3.1's answers, as recorded.
GROUPS = bytes.fromhex(
    "00e00100000000050078000000000000002800100000000000000010000000010000000000000000000000080001000000010008"
    "000000010030002000000003001900100001000400000003000000000000001000000002000000000000000000000008ffff0000"
    "0020001000000004000000100000000200000000000000000000000800000000ffff00540000154d000000010000000068617368"
    "000000000000000000000000000000000000000780001604ffffffff80001804ffffffff80001401ff80001001ff80001a02ffff"
    "80001c02ffff80001e02ffff00000000005003000000000600400000000000000020001000000000000000100000000100000000"
    "00000000000100080000000100200010000000030000001000000002000000000000000000010008000000020040000000000007"
    "00300000000000000018001000000000000000100000000100000000000000000018001000000003000000100000000200000000"
    "00000000"
)
FLOWS = bytes.fromhex(
    "013000000100000700000000000000000000000000000abc0001006c800000040000000180000806000000000001800006060000"
    "0000000280000a02080080000c021003800017080a000000ff00000080001804010203048000100108800014010680001a020050"
    "80001d04001000f0800101100000000500000010ffffffff000000f000000000000000348002000800000000014fb18080020208"
    "000000000000000080020808000000000000000080020a080000000000000000000000000004006800000000001d000800000005"
    "00190010800010010a00000000000000ffff002000002320000a0001000700000000000f000000000000001f0001000400160008"
    "0000000500000010fffffff8000000000000000000000010fffffffdffff00000000000000010008020000000068000002000007"
    "00000000000000000000000000000abc0001001280000a02080680002e0401020304000000000000000000348002000800000000"
    "00c65d4080020208000000000000000080020808000000000000000080020a08000000000000000000000000"
)
METERS = bytes.fromhex(
    "001800020000000600010010000003e8000003e8000000000018000d0000000500010010000003e80000006400000000"
)
PORTS = bytes.fromhex(
    "fffffffe00480000f27052e910460000627230000000000000000000000000000000000000000004000000200000000000000000"
    "00000000000000000000000000000000000000000000000100480000aa55aa55000f000070310000000000000000000000000000"
    "00000000000000040000002000000000000000000000000000000000000000000000000000000000"
)
BUCKET_COUNTERS = bytes.fromhex(
    "005800000000000500000001000000000000000000000000000000000000000000000000042c1d80000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000"
)
PORT_COUNTERS = bytes.fromhex(
    "00500000000000010000000004b571c0000000000000000100000000000000020000000000000003000000000000000400000000"
    "00000005ffffffffffffffffffffffffffffffffffffffffffffffff"
)
RECORDED: list[tuple[Callable[[bytes], Iterable[object]], bytes, int]] = [
    (decode_groups, GROUPS, 3),
    (decode_flows, FLOWS, 2),
    (decode_flow_counters, FLOWS, 2),
    (decode_meters, METERS, 2),
    (decode_ports, PORTS, 2),
    (decode_bucket_counters, BUCKET_COUNTERS, 1),
    (decode_port_counters, PORT_COUNTERS, 1),
]
NAMES = [decode.__name__ for decode, _, _ in RECORDED]
OTHERS: list[Callable[[bytes], object]] = [
    decode_error,
    decode_features,
    decode_port_status,
    lambda data: check_hello(Message(VERSION, Kind.HELLO, 0, data)),
    lambda data: Answer(What.FLOWS).add(data),
    lambda data: check_control(data, 1, Step.OPEN),
]


@pytest.mark.parametrize(("decode", "recorded", "count"), RECORDED, ids=NAMES)
def test_recorded_answers_decode(decode: Callable[[bytes], Iterable[object]], recorded: bytes, count: int) -> None:
    assert len(list(decode(recorded))) == count
    for length in range(len(recorded)):
        with contextlib.suppress(ProtocolError):
            assert len(list(decode(recorded[:length]))) < count


def check(decode: Callable[[bytes], Iterable[object]], data: bytes) -> None:
    """Decodes it; what comes of it is not more than the bytes can say, and can be written again."""
    try:
        found = list(decode(data))
    except ProtocolError:
        return
    assert len(found) <= len(data) / HEADER.size
    for one in found:
        with contextlib.suppress(AnabranchError):
            if isinstance(one, Flow):
                encode_mod(FlowMod("add", one))
            elif isinstance(one, Group):
                encode_mod(GroupMod("add", one))
            elif isinstance(one, Meter):
                encode_mod(MeterMod("add", one))


@pytest.mark.parametrize(("decode", "recorded", "count"), RECORDED, ids=NAMES)
def test_any_one_byte_changed(decode: Callable[[bytes], Iterable[object]], recorded: bytes, count: int) -> None:
    assert count
    for at, byte in enumerate(recorded):
        for other in {0, 1, 0x7F, 0x80, 0xFF, byte + 1 & 0xFF, byte - 1 & 0xFF, *(byte ^ 1 << bit for bit in range(8))}:
            check(decode, recorded[:at] + bytes([other]) + recorded[at + 1 :])


@pytest.mark.parametrize(
    ("decode", "recorded", "at", "length", "text"),
    [
        (decode_groups, GROUPS, 8, 0x79, "bucket"),
        (decode_groups, GROUPS, 8, 0xD1, "bytes of buckets"),
        (decode_groups, GROUPS, 16, 0x7F, "bucket 0"),
        (decode_groups, GROUPS, 18, 0x21, "bucket 0: a length of 40 bytes"),
        (decode_groups, GROUPS, 18, 0x0F, "actions: type 0: a length of 16 bytes where 15"),
        (decode_groups, GROUPS, 26, 0x18, "actions: type 0: a length of 24 bytes where 16"),
        (decode_groups, GROUPS, 26, 0x02, "actions"),
        (decode_groups, GROUPS, 138, 0x80, "group properties"),
        (decode_groups, GROUPS, 138, 0x4F, "field"),
        (decode_groups, GROUPS, 0, 0x0F, "group: a length of 15"),
        (decode_flows, FLOWS, 0, 0x17, "flow: a length of 23"),
        (decode_flows, FLOWS, 26, 0x03, "match"),
        (decode_flows, FLOWS, 26, 0xFFF, "match"),
        (decode_flows, FLOWS, 26, 0x0B, "field"),
        (decode_flows, FLOWS, 138, 0xFFF, "statistics"),
        (decode_flow_counters, FLOWS, 138, 0x08, "statistic 0"),
        (decode_flows, FLOWS, 194, 0x78, "instructions"),
        (decode_flows, FLOWS, 194, 0x06, "apply-actions"),
        (decode_meters, METERS, 0, 0x07, "meter"),
        (decode_meters, METERS, 0, 0x31, "meter"),
        (decode_ports, PORTS, 4, 0x27, "port"),
        (decode_ports, PORTS, 42, 0x21, "port properties"),
        (decode_bucket_counters, BUCKET_COUNTERS, 0, 0x57, "bucket counters|group"),
        (decode_port_counters, PORT_COUNTERS, 0, 0x4F, "counters of 79 bytes"),
    ],
)
def test_lengths_that_lie(
    decode: Callable[[bytes], Iterable[object]], recorded: bytes, at: int, length: int, text: str
) -> None:
    with pytest.raises(ProtocolError, match=text):
        list(decode(recorded[:at] + length.to_bytes(2, "big") + recorded[at + 2 :]))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ("8000000400000001" * 2, "in_port twice"),
        ("80001001ff", "ip_dscp: 0xff: more than 6 bits"),
        ("80001703010203", "field 0x8000/11: a length of 3"),
    ],
)
def test_fields_that_cannot_be(fields: str, text: str) -> None:
    match = bytes.fromhex(fields)
    rest = (4 + len(match)).to_bytes(2, "big") + pad(bytes(4) + match)[4:] + FLOWS[136:192]
    flow = FLOWS[:24] + b"\0\1" + rest
    with pytest.raises(ProtocolError, match=text):
        list(decode_flows(len(flow).to_bytes(2, "big") + flow[2:]))


@st.composite
def mutated(draw: st.DrawFn, recorded: bytes) -> bytes:
    """A few bytes changed, taken out or put in twice: lengths and counts among them."""
    data = bytearray(recorded)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        what = draw(st.sampled_from(["byte", "bit", "short", "cut", "copy"]))
        if what == "byte":
            data[at : at + 1] = bytes([draw(st.integers(0, 255))])
        elif what == "bit":
            data[at : at + 1] = bytes([one ^ 1 << draw(st.integers(0, 7)) for one in data[at : at + 1]])
        elif what == "short":
            at &= ~1
            data[at : at + 2] = draw(st.sampled_from([0, 1, 4, 8, 0xFFF8, 0xFFFF])).to_bytes(2, "big")
        elif what == "cut":
            del data[at : at + draw(st.integers(1, 16))]
        else:
            data[at:at] = data[at : at + draw(st.integers(1, 64))]
    return bytes(data)


@pytest.mark.parametrize(("decode", "recorded"), [(decode, recorded) for decode, recorded, _ in RECORDED], ids=NAMES)
def test_mutated_answers(decode: Callable[[bytes], Iterable[object]], recorded: bytes) -> None:
    @settings(max_examples=300, deadline=None)
    @given(mutated(recorded))
    def run(data: bytes) -> None:
        check(decode, data)

    run()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    for decode, _, _ in RECORDED:
        check(decode, data)
    for other in OTHERS:
        with contextlib.suppress(ProtocolError):
            other(data)


@pytest.mark.parametrize("decode", [decode for decode, _, _ in RECORDED], ids=NAMES)
@pytest.mark.parametrize(
    "unit", [b"\0\0\0\0", b"\0\x08\0\0\0\0\0\0", b"\xff\xff\0\x08\0\0\0\0", b"\0\x04\0\x04", b"\xff" * 8]
)
def test_the_largest_message_of_the_smallest_parts(decode: Callable[[bytes], Iterable[object]], unit: bytes) -> None:
    for head in (b"", GROUPS[:16], FLOWS[:24], FLOWS[:28], METERS[:8], PORTS[:40]):
        # Lengths that say "all of it", wherever a length may stand.
        long = bytearray((head + unit * 16384)[:65528])
        for place in (0, 2, 4, 8, 10, 24, 26):
            long[place : place + 2] = len(long).to_bytes(2, "big")
            check(decode, bytes(long))


@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(0, 60), max_size=12))
def test_messages_are_the_same_however_the_stream_is_cut(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(message(Kind.ECHO_REQUEST, number, body) for number, body in enumerate(bodies))
    frames = Frames()
    found: list[Message] = []
    for size in cuts:
        found += frames.feed(stream[:size])
        stream = stream[size:]
    found += frames.feed(stream)
    assert found == [Message(VERSION, Kind.ECHO_REQUEST, number, body) for number, body in enumerate(bodies)]


@given(st.lists(st.binary(max_size=200), max_size=8))
def test_a_stream_of_anything(pieces: list[bytes]) -> None:
    frames = Frames()
    with contextlib.suppress(ProtocolError):
        for piece in pieces:
            list(frames.feed(piece))
