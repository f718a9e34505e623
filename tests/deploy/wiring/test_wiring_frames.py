"""LLDP frames as bytes: what goes in comes out, tshark reads the same, and nothing of a stranger's does harm."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.deploy.wiring.frame import (
    ETHERTYPE,
    NEAREST_BRIDGE,
    SENDER,
    TEXT_MAX,
    Advertisement,
    FrameError,
    Mark,
    decode,
)
from anabranch.deploy.wiring.marks import REMEMBERED, Marks
from support.header_frames import pcap

HEAD = NEAREST_BRIDGE + SENDER + ETHERTYPE.to_bytes(2, "big")


def tlv(kind: int, value: bytes) -> bytes:
    return struct.pack(">H", kind << 9 | len(value)) + value


FIRST = tlv(1, b"\x07leaf0") + tlv(2, b"\x05eth1") + tlv(3, b"\0\x78")
marks = st.builds(
    Mark,
    st.integers(0, 255),
    st.binary(min_size=8, max_size=8),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.binary(min_size=16, max_size=16),
)
names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20)


@given(names, names, st.integers(0, 65535), names, st.none() | marks, st.binary(max_size=40))
def test_what_was_written_is_read(
    chassis: str, port: str, ttl_s: int, system: str, mark: Mark | None, padding: bytes
) -> None:
    written = Advertisement(chassis, port, ttl_s, system, mark)
    assert decode(written.encode() + padding) == written


@given(st.binary(max_size=300))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    for frame in (data, HEAD + data, HEAD + FIRST + data):
        try:
            said = decode(frame)
        except FrameError:
            continue
        for text in (said.chassis, said.port, said.system):
            assert not set(text) & set(map(chr, (*range(32), 127, 0x9B)))
            assert len(text) <= TEXT_MAX + 3


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        (HEAD[:12] + b"\x08\0" + FIRST, "ethertype"),
        (HEAD[:13], "ethertype"),
        (HEAD + FIRST + b"\xfe", "half a TLV"),
        (HEAD + FIRST + b"\xfe\x20abc", "32 bytes where 3 are left"),
        (HEAD + tlv(2, b"\x05e") + tlv(1, b"\x07l") + tlv(3, b"\0\1"), "does not begin with"),
        (HEAD + tlv(1, b"\x07l") + tlv(2, b"\x05e") + tlv(0, b"") + tlv(3, b"\0\1"), "does not begin with"),
        (HEAD + tlv(1, b"\x07") + tlv(2, b"\x05e") + tlv(3, b"\0\1"), "identifier of 1 bytes"),
        (HEAD + tlv(1, b"\x07" + b"c" * 256) + tlv(2, b"\x05e") + tlv(3, b"\0\1"), "identifier of 257 bytes"),
        (HEAD + tlv(1, b"\x07l") + tlv(2, b"\x05e") + tlv(3, b"\1"), "time to live of 1 bytes"),
    ],
)
def test_what_is_no_frame_is_refused(frame: bytes, problem: str) -> None:
    with pytest.raises(FrameError, match=problem):
        decode(frame)


def test_identifiers_of_all_sorts_are_text() -> None:
    def chassis(value: bytes) -> str:
        return decode(HEAD + tlv(1, value) + FIRST[FIRST.index(tlv(2, b"\x05eth1")) :]).chassis

    assert chassis(bytes.fromhex("04020000000001")) == "02:00:00:00:00:01"
    assert chassis(bytes.fromhex("05010a000001")) == "10.0.0.1"
    assert chassis(b"\x05\x02" + bytes(15) + b"\1") == "::1"
    assert chassis(b"\x05\x01\x0a") == "\\x01\\n"
    assert chassis(b"\x07\xff\xfe\x1b[2J") == "\\xff\\xfe\\x1b[2J"
    assert chassis(b"\x07" + b"A" * 255) == "A" * TEXT_MAX + "..."
    # A mark of another length is another version's: its frame is a stranger's.
    assert decode(HEAD + FIRST + tlv(127, bytes.fromhex("0ab5a001") + bytes(32))).mark is None


def test_tshark_reads_what_was_written(tmp_path: Path) -> None:
    if not shutil.which("tshark"):
        pytest.skip("tshark is missing: apt install tshark")
    frame = Advertisement("leaf0", "eth1", 8, "leaf0", Mark(3, b"12345678", 7, 9)).encode()
    file = tmp_path / "frame.pcap"
    file.write_bytes(pcap([frame]))
    command = ["tshark", "-r", str(file), "-T", "json"]
    (packet,) = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    text = json.dumps(packet["_source"]["layers"]["lldp"])
    for part in ("leaf0", "eth1", '"lldp.time_to_live": "8"', "End of LLDPDU"):
        assert part in text
    assert "malformed" not in text.lower()


def test_a_mark_is_believed_once_made_and_not_for_long() -> None:
    ours, others = Marks(3), Marks(3)
    mark = ours.next(7, 100.0)
    assert ours.is_ours(mark)
    assert not others.is_ours(mark)
    for changed in (Mark(4, mark.run, 7, 0, mark.tag), Mark(3, mark.run, 8, 0, mark.tag), Mark(3, mark.run, 7, 0)):
        assert not ours.is_ours(changed)
    assert ours.is_fresh(mark, 102.0, 2.0)
    assert not ours.is_fresh(mark, 102.5, 2.0)
    later = [ours.next(7, 101.0) for _ in range(REMEMBERED)]
    assert [one.sequence for one in later] == list(range(1, REMEMBERED + 1))
    assert not ours.is_fresh(mark, 101.0, 2.0)
    assert ours.sent_since(7, 100.5, 101.0) == REMEMBERED
    assert ours.sent_since(8, 0.0, 200.0) == 0
