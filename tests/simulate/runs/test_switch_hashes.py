"""Switches that hash header fields: each choice computed once more from the headers in captures, by other programs."""

from __future__ import annotations

import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch import AnabranchError
from support.command import anabranch
from support.pcapng import frames

MICROSOFT_KEY = bytes.fromhex(
    "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa",
)
"""Key of Microsoft's verification suite for receive-side scaling."""
ALL = ["src_ip", "dst_ip", "src_port", "dst_port", "protocol", "dst_qp"]


@dataclass(frozen=True)
class Headers:
    """What switches may hash of a frame, as it stands there."""

    fields: dict[str, bytes]

    @classmethod
    def of(cls, frame: bytes) -> Headers:
        """Fields of Ethernet, IPv4, TCP or UDP, and of the base transport header behind UDP port 4791."""
        ip = frame[14:]
        assert ip[0] == 0x45
        layer4 = ip[20:]
        fields = {
            "src_ip": ip[12:16],
            "dst_ip": ip[16:20],
            "src_port": layer4[0:2],
            "dst_port": layer4[2:4],
            "protocol": ip[9:10],
        }
        if ip[9] == 17 and layer4[2:4] == (4791).to_bytes(2, "big"):
            fields["dst_qp"] = layer4[8 + 5 : 8 + 8]
        return cls(fields)

    def packed(self, names: list[str]) -> bytes:
        """The fields of these names that the frame has, one behind the other."""
        return b"".join(self.fields[name] for name in ALL if name in names and name in self.fields)


def crc16(data: bytes) -> int:
    """CRC-16/ARC, bit by bit."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc


def toeplitz(data: bytes) -> int:
    """Toeplitz: each set bit of the input adds the 32 bits of the key that begin at its position."""
    key, hashed = int.from_bytes(MICROSOFT_KEY, "big"), 0
    for position in range(8 * len(data)):
        if data[position // 8] & 0x80 >> position % 8:
            hashed ^= key >> (8 * len(MICROSOFT_KEY) - 32 - position) & 0xFFFF_FFFF
    return hashed


def xor32(data: bytes) -> int:
    """XOR of 32-bit words, the last one padded with zeros."""
    hashed = 0
    for (word,) in struct.iter_unpack(">I", data + bytes(-len(data) % 4)):
        hashed ^= word
    return hashed


FUNCTIONS: dict[str, tuple[int, Callable[[bytes], int]]] = {
    "crc32": (32, zlib.crc32),
    "crc16": (16, crc16),
    "toeplitz": (32, toeplitz),
    "xor32": (32, xor32),
}
"""Bits of each function, and the function."""


def index(algorithm: str, offset: int, data: bytes, members: int) -> int:
    """Number of the next hop that ECMP picks: the highest bits of the result, which was rotated right before."""
    bits, function = FUNCTIONS[algorithm]
    result = function(data)
    rotated = (result >> offset | result << (bits - offset)) & ((1 << bits) - 1)
    # 16 bits fill 32 by a prime below 2^16 (`Hash::factor`).
    wide = rotated if bits == 32 else rotated * 65_519
    return wide * members >> 32


ROCE = {"kind": "roce", "queue_pairs": 4, "source_ports": [50_000, 50_001]}


@pytest.mark.parametrize(
    ("transport", "leaf", "aggregation"),
    [
        ({"kind": "dctcp"}, ("crc32", 0, ALL[:5]), ("toeplitz", 5, ALL[:4])),
        ({"kind": "mptcp", "subflows": 3}, ("xor32", 17, ["src_port", "src_ip"]), ("crc32", 31, ["dst_port"])),
        (ROCE, ("crc16", 3, ALL), ("crc32", 0, ["dst_qp"])),
        ({"kind": "uec"}, ("toeplitz", 0, ALL[:5]), ("crc16", 0, ["src_port", "dst_ip"])),
    ],
)
def test_every_choice_is_what_the_headers_hash_to(
    tmp_path: Path, transport: dict[str, Any], leaf: tuple[str, int, list[str]], aggregation: tuple[str, int, list[str]]
) -> None:
    tiers = {"leaf": leaf, "aggregation": aggregation}
    pods, half = 6, 3
    uplinks = {f"leaf{i}": [f"agg{i // half}.{j}" for j in range(half)] for i in range(pods * half)}
    for pod in range(pods):
        for j in range(half):
            uplinks[f"agg{pod}.{j}"] = [f"core{j * half + c}" for c in range(half)]
    aggregations = [name for name in uplinks if name.startswith("agg")]
    scenario = {
        "fabric": {"kind": "fat-tree", "k": pods},
        "routing": {
            "hash": [
                {"algorithm": "murmur3"},
                *(
                    {"at": at, "algorithm": algorithm, "offset": offset, "fields": fields}
                    for at, (algorithm, offset, fields) in zip(("leaf", aggregations), tiers.values(), strict=True)
                ),
            ]
        },
        "transport": transport,
        "traffic": [{"sizes": "20 KB", "load": 0.2, "flows": 150, "pattern": "inter-pod"}],
        "record": {"captures": [f"{low}>{high}" for low, highs in uplinks.items() for high in highs]},
    }
    run = ab.run(scenario, runs=tmp_path, progress=False)
    taken: Counter[tuple[str, int]] = Counter()
    for low, highs in uplinks.items():
        tier = "leaf" if low.startswith("leaf") else "aggregation"
        algorithm, offset, fields = tiers[tier]
        for number, high in enumerate(highs):
            path = run.folder / f"{low}-{high}.pcapng"
            for frame in frames(path) if path.exists() else ():
                headers = Headers.of(frame)
                assert index(algorithm, offset, headers.packed(fields), half) == number, (low, high, headers)
                taken[tier, number] += 1
    assert sum(taken.values()) > 3000
    if transport != {"kind": "mptcp", "subflows": 3}:
        # The destination port of MPTCP's data is one, that of its answers another.
        assert len(taken) == 2 * half, taken
    if transport is ROCE:
        ports = {
            int.from_bytes(Headers.of(frame).fields["src_port"], "big")
            for path in run.folder.glob("leaf*.pcapng")
            for frame in frames(path)
        }
        assert {50_000, 50_001} < ports
        assert all(port >= 0xC000 for port in ports)


LISTED = """\
name = "listed"
fabric = { leaves = 2, spines = 4, hosts_per_leaf = 2 }
traffic = [{ kind = "flow-list", file = "flows.csv" }]
record.captures = "host0"
"""
HASHED = LISTED + 'routing.hash = { algorithm = "crc32" }\n'


def _listed(where: Path, text: str = HASHED) -> Path:
    rows = [f"{i},0,2,3000,{i * 1000},{1000 + i},{'' if i % 2 else 80}" for i in range(32)]
    (where / "flows.csv").write_text("\n".join(["id,src,dst,size_bytes,start_ns,src_port,dst_port", *rows]) + "\n")
    (where / "listed.toml").write_text(text)
    return where / "listed.toml"


def test_a_flow_list_gives_ports(tmp_path: Path) -> None:
    run = ab.run(_listed(tmp_path), runs=tmp_path / "runs", progress=False)
    headers = [Headers.of(frame).fields for frame in frames(run.folder / "host0-leaf0.pcapng")]
    ports = {tuple(int.from_bytes(fields[name], "big") for name in ("src_port", "dst_port")) for fields in headers}
    assert ports == {(1000 + i, 5001 if i % 2 else 80) for i in range(32)}


def test_ports_that_nothing_reads_are_told(tmp_path: Path) -> None:
    done = anabranch("show", str(_listed(tmp_path, LISTED)))
    assert "src_port and dst_port of the flow list: nothing reads them" in done.stdout
    done = anabranch("show", str(_listed(tmp_path)))
    assert "nothing reads them" not in done.stdout
    roce = LISTED + 'transport = { kind = "roce", source_ports = 50_000 }\n'
    assert "source_ports: nothing reads them" in anabranch("show", str(_listed(tmp_path, roce))).stdout


@pytest.mark.parametrize(
    ("key", "value", "parts"),
    [
        ("routing.balance", "spray", ["routing.hash", "does not choose by a hash", "ecmp"]),
        ("routing.balance", "conga", ["routing.hash", "does not choose by a hash", "ecmp"]),
        ("routing.balance", "letflow", ["routing.hash", "does not choose by a hash", "ecmp"]),
        ("routing.hash", '{ at = "aggregation" }', ["routing.hash.at", "no tier `aggregation`", "leaf, spine"]),
        ("routing.hash", '{ at = "leaf7" }', ["leaf7"]),
        ("routing.hash", '{ at = "host1" }', ["host1 is a host"]),
        ("routing.hash", '{ algorithm = "crc" }', ["routing.hash.algorithm: `crc` is unknown"]),
        ("routing.hash", '{ algorithm = "ovs-l4" }', ["routing.hash.algorithm: `ovs-l4` is unknown"]),
        ("routing.hash", "{ fields = [] }", ["routing.hash.fields: no field"]),
        ("routing.hash", '{ fields = ["src_ip", "src_ip"] }', ["routing.hash.fields: a field stands twice"]),
        ("routing.hash", '{ fields = "dst_qp" }', ["routing.hash.fields", "no transport is RoCE"]),
        ("routing.hash", '{ seed = "own" }', ["routing.hash.seed", '"switch"']),
        ("routing.hash", "{ seed = 4294967296 }", ["routing.hash.seed", '"switch"']),
        ("routing.hash", "{ offset = 32 }", ["routing.hash.offset", "from 0 to 31"]),
        ("transport", '{ kind = "roce", source_ports = [1, 2] }', ["transport.source_ports", "2 ports for 1"]),
        ("transport", '{ kind = "roce", source_ports = 0 }', ["transport.source_ports", "from 1 to 65535"]),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, key: str, value: str, parts: list[str]) -> None:
    with pytest.raises(AnabranchError) as refused:
        ab.run(_listed(tmp_path), [(key, value)], runs=tmp_path / "runs", progress=False)
    for part in parts:
        assert part in str(refused.value), refused.value


class ByFlow(ab.Scheme):
    """Decides in place of the tables."""

    def pick(self, packet: ab.Packet, view: ab.View) -> int:
        """Picks by the packet's flow."""
        return int(packet.flow % len(view.members))


def test_schemes_of_ones_own_do_not_hash_headers(tmp_path: Path) -> None:
    with pytest.raises(AnabranchError, match="does not choose by a hash of header fields"):
        ab.run(_listed(tmp_path), scheme=ByFlow(), runs=tmp_path / "runs", progress=False)


def test_flows_with_ports_have_connections_of_their_own(tmp_path: Path) -> None:
    kept = HASHED + "transport.persistent = true\n"
    with pytest.raises(AnabranchError, match="flow 0: it is given ports"):
        ab.run(_listed(tmp_path, kept), runs=tmp_path / "runs", progress=False)


ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "polarisation.toml"
ROWS = re.findall(
    r"^\| `(\w+)`, `(\w+)`(?: with (seed|offset) (\d+))? \| (\d+)",
    (ROOT / "docs" / "hashes.md").read_text(),
    re.MULTILINE,
)
"""Rows of the page's table of cures: algorithms of both tiers, a key of the second and its value, core links in use."""


@pytest.mark.parametrize(("leaf", "aggregation", "key", "value", "used"), ROWS)
def test_the_example_is_polarised_and_cured_as_its_page_says(
    tmp_path: Path, leaf: str, aggregation: str, key: str, value: str, used: str
) -> None:
    overrides = [("routing.hash.0.algorithm", leaf), ("routing.hash.1.algorithm", aggregation)]
    if key:
        overrides.append((f"routing.hash.1.{key}", value))
    small = [("traffic.0.sizes", "2 KB"), ("traffic.0.flows", "1500")]
    run = ab.run(EXAMPLE, [*overrides, *small], runs=tmp_path, progress=False)
    nodes, ports = run.topology["nodes"]["name"], run.topology["ports"]
    sent = run.ports.group_by("port").agg(pl.col("sent_packets").sum()).rows()
    links = [(nodes[ports["from"][port]], nodes[ports["to"][port]]) for port, packets in sent if packets]
    up = {(low, high) for low, high in links if low.startswith("agg") and high.startswith("core")}
    assert len(up) == int(used)
    if (leaf, aggregation, key) == ("crc32", "crc32", ""):
        # Both tiers read the same two bits: number j of the aggregation switches of a pod has core 4 j + j.
        assert up == {(f"agg{pod}.{j}", f"core{5 * j}") for pod in range(8) for j in range(4)}
    options = [text for name, word in overrides for text in ("-o", f"{name}={word}")]
    assert ("(polarisation)" in anabranch("show", str(EXAMPLE), *options).stdout) == (int(used) < 128)


def test_the_page_has_rows_to_be_tested() -> None:
    assert len(ROWS) == 8
    assert {int(row[-1]) for row in ROWS} == {32, 64, 128}
