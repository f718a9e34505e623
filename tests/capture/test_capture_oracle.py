"""A capture of real connections, made now, counted by us and by tshark."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import anabranch as ab
from support.needs import brings

RECORDER = Path(__file__).parent / "record.py"
MISSING = 77
FIELDS = ("ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "ip.proto", "ipv6.nxt")
PORTS = ("tcp.srcport", "udp.srcport", "tcp.dstport", "udp.dstport", "frame.len")


@pytest.fixture(scope="module")
@brings("root")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is missing; apt install tshark")
    out = tmp_path_factory.mktemp("capture") / "small.pcap.zst"
    command = [sys.executable, str(RECORDER), str(out), "--connections", "120"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if run.returncode == MISSING:
        pytest.skip(run.stderr.strip().splitlines()[-1])
    assert run.returncode == 0, run.stderr
    return out


def test_connections_packets_and_bytes_are_those_of_tshark(capture: Path, tmp_path: Path) -> None:
    plain = tmp_path / "small.pcap"
    subprocess.run(["zstd", "-q", "-d", str(capture), "-o", str(plain)], check=True)
    wanted = [word for field in (*FIELDS, *PORTS) for word in ("-e", field)]
    listed = subprocess.run(
        ["tshark", "-r", str(plain), "-n", "-T", "fields", *wanted, "tcp or udp"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    packets: Counter[frozenset[tuple[str, str]] | tuple[object, str]] = Counter()
    sizes: Counter[frozenset[tuple[str, str]] | tuple[object, str]] = Counter()
    for line in listed.splitlines():
        src4, src6, dst4, dst6, proto4, proto6, tcp_s, udp_s, tcp_d, udp_d, size = line.split("\t")
        ends = frozenset([(src4 or src6, tcp_s or udp_s), (dst4 or dst6, tcp_d or udp_d)])
        key = (ends, proto4 or proto6)
        packets[key] += 1
        sizes[key] += int(size)

    trace = ab.read_trace(capture)
    ours_packets: Counter[object] = Counter()
    ours_sizes: Counter[object] = Counter()
    for tuple_, count, size in zip(trace.tuples, trace.packets, trace.bytes, strict=True):
        if tuple_["protocol"] not in (6, 17):
            continue
        ends = frozenset(
            (_text(tuple_[end], tuple_["version"]), str(tuple_[f"{end}_port"])) for end in ("source", "destination")
        )
        key = (ends, str(tuple_["protocol"]))
        ours_packets[key] += int(count)
        ours_sizes[key] += int(size)
    assert len(packets) >= 120
    assert ours_packets == packets
    assert ours_sizes == sizes


def _text(address: object, version: int) -> str:
    import ipaddress

    raw = bytes(address)  # type: ignore[call-overload]
    return str(ipaddress.ip_address(raw[:4] if version == 4 else raw))
