"""Captures that are cut, damaged, followed by something, cut above the ports, or full of tunnels."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import pytest

import anabranch as ab
from support.command import anabranch

ETHERNET = bytes(12) + b"\x08\x00"
PACKETS = 300


def ipv4(protocol: int, payload: bytes, host: int = 1) -> bytes:
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0, bytes([10, 0, 0, host]),
                       bytes([10, 0, 1, 1])) + payload  # fmt: skip


def tcp(port: int) -> bytes:
    return struct.pack(">HH", port, 80) + bytes(16)


def udp(source: int, destination: int, payload: bytes) -> bytes:
    return struct.pack(">HHHH", source, destination, 8 + len(payload), 0) + payload


def pcap(packets: list[bytes], snap: int = 65535) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, 1)
    records = (struct.pack("<IIII", 1, i, len(p[:snap]), len(p)) + p[:snap] for i, p in enumerate(packets))
    return head + b"".join(records)


CAPTURE = pcap([ETHERNET + ipv4(6, tcp(1000 + i)) for i in range(PACKETS)])
RECORD = (len(CAPTURE) - 24) // PACKETS
DAMAGED = {
    "cut.pcap": (CAPTURE[:-30], PACKETS - 1, "cut at byte"),
    "wrong.pcap": (CAPTURE[: 24 + 100 * RECORD] + b"\xff" * 5000, 100, "the file is damaged here"),
    "trailing.pcap.gz": (gzip.compress(CAPTURE) + b"junk", PACKETS, "other bytes follow the gzip data"),
    "cut.pcap.gz": (gzip.compress(CAPTURE, 0)[:-2000], None, "the gzip data is damaged or cut short"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_good_of_a_damaged_capture_is_split(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content, packets, problem = DAMAGED[name]
    (tmp_path / name).write_bytes(content)
    run = anabranch("split", name, "--weights", "4,3,2", "--json", "o.json", "--report", "o.html")
    assert run.returncode == 0, run.stderr
    (warning,) = run.stderr.splitlines()
    trace = json.loads((tmp_path / "o.json").read_text())["trace"]
    read = trace["packets"]
    assert read == packets if packets is not None else 200 < read < PACKETS
    assert warning.startswith(f"anabranch: warning: only the first {read} packets are counted: {name}: ")
    assert problem in warning
    assert trace["damage"] in warning
    assert trace["damage"].split(":")[0] in (tmp_path / "o.html").read_text()
    assert f"{read} packets" in run.stdout
    # A program is not given a part for the whole, unless it asks.
    with pytest.raises(ab.AnabranchError, match=problem):
        ab.read_trace(tmp_path / name)
    assert len(ab.read_trace(tmp_path / name, partial=True)) == read
    for verb in (("split", "hashes", name), ("explain", "--file", name, "--weights", "1,1")):
        run = anabranch(*verb)
        assert (run.returncode, run.stderr) == (0, warning + "\n")


def test_a_whole_capture_has_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("whole.pcap", CAPTURE), ("padded.pcap.gz", gzip.compress(CAPTURE) + bytes(512))):
        (tmp_path / name).write_bytes(content)
        run = anabranch("split", name, "--weights", "1,1", "--json", "-")
        assert (run.returncode, run.stderr) == (0, "")
        assert json.loads(run.stdout)["trace"]["damage"] is None
        assert ab.read_trace(tmp_path / name).damage is None


def test_a_capture_without_one_good_packet_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none.pcap").write_bytes(CAPTURE[:50])
    run = anabranch("split", "none.pcap", "--weights", "1,1")
    assert (run.returncode, run.stdout) == (2, "")
    assert "none.pcap: cut at byte 50" in run.stderr


def test_a_snap_length_above_the_ports_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.pcap").write_bytes(pcap([ETHERNET + ipv4(6, tcp(i + 1)) for i in range(20)], snap=34))
    run = anabranch("split", "short.pcap", "--weights", "1,1")
    assert (run.returncode, run.stdout) == (2, "")
    assert "short.pcap: no ports in 20 of 20 packets: the snap length cut them off" in run.stderr
    assert "tcpdump -s 96" in run.stderr


def tunnelled(kind: str, port: int) -> bytes:
    inside = ipv4(6, tcp(port), host=port % 200)
    match kind:
        case "gre":
            return ETHERNET + ipv4(47, struct.pack(">HH", 0, 0x0800) + inside)
        case "gre-keyed-ethernet":
            return ETHERNET + ipv4(47, struct.pack(">HHI", 0x2000, 0x6558, 7) + ETHERNET + inside)
        case _:
            return ETHERNET + ipv4(17, udp(5000, int(kind), struct.pack(">II", 0x08000000, 0x700) + ETHERNET + inside))


@pytest.mark.parametrize("kind", ["8472", "4789", "gre", "gre-keyed-ethernet"])
def test_tunnels_are_named_and_opened(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tunnel.pcap").write_bytes(pcap([tunnelled(kind, 1000 + i) for i in range(50)]))
    outer = anabranch("split", "tunnel.pcap", "--weights", "1,1")
    assert outer.returncode == 0, outer.stderr
    assert "1 connections are split" in outer.stdout
    assert "50 packets belong to VXLAN, GENEVE or GRE tunnels" in outer.stdout
    assert "--encap inner" in outer.stdout
    inner = anabranch("split", "tunnel.pcap", "--weights", "1,1", "--encap", "inner")
    assert "50 connections are split" in inner.stdout
    assert "belong to" not in inner.stdout
