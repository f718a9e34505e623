#!/usr/bin/env python3
"""Ask a running Open vSwitch which bucket of a select group each of many random connections takes.

Starts ovsdb-server and ovs-vswitchd of its own on a dummy datapath in a temporary directory (no root, no network
change), and writes, beside this file,

* select_group.csv: the choice of `selection_method=hash`, by `ofproto/trace`;
* dp_hash.csv: the low eight bits of `dp_hash`, by packets through a group of 256 equal buckets, which makes bucket
  number and hash slot the same.

Needs the Debian package openvswitch-switch. Usage: python3 record.py
"""

import csv
import ipaddress
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
FIELDS = "ip_src,ip_dst,ipv6_src,ipv6_dst,nw_proto,tcp_src,tcp_dst,udp_src,udp_dst,sctp_src,sctp_dst"
PROTOCOLS = {6: "tcp", 17: "udp", 132: "sctp"}
NO_PORTS = 47  # GRE: a protocol without ports
SLOTS = 256

# Weights, bucket ids, selection_method_param. Gravity weights, a zero weight, ties and ids out of order included.
GROUPS = [
    ([4, 3, 2], [0, 1, 2], 0),
    ([65535, 45183, 23878, 12066], [0, 1, 2, 3], 7),
    ([1] * 8, [8, 7, 6, 5, 4, 3, 2, 1], 0x0123456789ABCDEF),
    ([100, 50, 0, 10, 1], [10, 7, 300, 4, 0xFFFFFF00], 2**64 - 1),
    ([1000, 999], [1, 2], 42),
]
# Algorithm (enum ovs_hash_alg), basis.
DP_HASHES = [("l4", 0, 0), ("l4", 0, 12345), ("sym-l4", 1, 0), ("sym-l4", 1, 0xDEADBEEF)]

Tuple = tuple[str, str, int, int, int]
TUPLE = ("source", "destination", "protocol", "source_port", "destination_port")


def random_tuples(count: int, seed: int) -> Iterator[Tuple]:
    """Connections over IPv4 and, every fourth, IPv6; TCP, UDP, SCTP and a protocol without ports."""
    draw = random.Random(seed)
    for i in range(count):
        bits = 128 if i % 4 == 3 else 32
        make = ipaddress.IPv6Address if bits == 128 else ipaddress.IPv4Address
        # No multicast source: switches drop those.
        source, destination = (str(make(draw.getrandbits(bits - 1))) for _ in range(2))
        protocol = draw.choices([6, 17, 132, NO_PORTS], [5, 5, 2, 1])[0]
        ports = (draw.randrange(1, 65536), draw.randrange(1, 65536)) if protocol in PROTOCOLS else (0, 0)
        yield source, destination, protocol, *ports


def openflow_text(flow: Tuple) -> str:
    source, destination, protocol, source_port, destination_port = flow
    v6 = ":" in source
    prefix = "ipv6" if v6 else "nw"
    text = f"in_port=1,{prefix}_src={source},{prefix}_dst={destination}"
    if protocol in PROTOCOLS:
        name = PROTOCOLS[protocol]
        return f"{name}{'6' if v6 else ''},{text},{name}_src={source_port},{name}_dst={destination_port}"
    return f"{'ipv6' if v6 else 'ip'},{text},nw_proto={protocol}"


def datapath_text(flow: Tuple, number: int) -> str:
    """The flow as a packet whose Ethernet source is `number`."""
    source, destination, protocol, source_port, destination_port = flow
    mac = ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))
    text = f"in_port(1),eth(src={mac},dst=02:00:00:00:00:01),"
    if ":" in source:
        text += f"eth_type(0x86dd),ipv6(src={source},dst={destination},label=0,proto={protocol},"
        text += "tclass=0,hlimit=64,frag=no)"
    else:
        text += f"eth_type(0x0800),ipv4(src={source},dst={destination},proto={protocol},tos=0,ttl=64,frag=no)"
    if protocol in PROTOCOLS:
        text += f",{PROTOCOLS[protocol]}(src={source_port},dst={destination_port})"
    return text


class Unixctl:
    """A switch daemon's control socket (JSON-RPC), kept open: ovs-appctl would start a process per question."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(path))
        self.number = 0

    def ask(self, method: str, *params: str) -> str:
        self.number += 1
        self.socket.sendall(json.dumps({"id": self.number, "method": method, "params": params}).encode())
        text = ""
        while True:
            text += self.socket.recv(1 << 20).decode()
            try:
                reply = json.loads(text)
            except json.JSONDecodeError:
                continue
            if reply["error"]:
                raise RuntimeError(f"{method}: {reply['error']}")
            return reply["result"]


class Switch:
    """One bridge `br0` with port 1 in and port 2 out, whose sent packets go to `self.sent`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sent = folder / "sent.pcap"
        self.database = f"unix:{folder}/db.sock"
        self.environment = os.environ | {
            name: str(folder) for name in ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")
        }
        self.run("ovsdb-tool", "create", f"{folder}/conf.db", SCHEMA)
        daemon = ["--detach", "--no-chdir", "--pidfile", "--log-file"]
        self.run("ovsdb-server", f"{folder}/conf.db", f"--remote=punix:{folder}/db.sock", *daemon)
        self.vsctl("--no-wait", "init")
        self.run("ovs-vswitchd", self.database, "--enable-dummy=override", "--disable-system", *daemon)
        self.vsctl(
            "add-br",
            "br0",
            "--",
            "set",
            "bridge",
            "br0",
            "datapath_type=dummy",
            "fail_mode=secure",
            "protocols=OpenFlow15",
        )
        for number, options in ((1, []), (2, [f"options:tx_pcap={self.sent}"])):
            self.vsctl(
                "add-port",
                "br0",
                f"p{number}",
                "--",
                "set",
                "interface",
                f"p{number}",
                "type=dummy",
                f"ofport_request={number}",
                *options,
            )
        pid = (folder / "ovs-vswitchd.pid").read_text().strip()
        self.control = Unixctl(folder / f"ovs-vswitchd.{pid}.ctl")

    def run(self, *command: str, text: str | None = None) -> None:
        subprocess.run(command, env=self.environment, input=text, text=True, check=True, timeout=60)

    def vsctl(self, *arguments: str) -> None:
        self.run("ovs-vsctl", "--timeout=20", f"--db={self.database}", *arguments)

    def set_group(self, method: str, weights: list[int], bucket_ids: list[int]) -> None:
        """Group 1, whose bucket at position i writes i to the Ethernet destination and sends to port 2."""
        buckets = "".join(
            f",bucket=bucket_id={bucket_id},weight={weight},"
            f"actions=set_field:02:01:00:00:{i >> 8:02x}:{i & 255:02x}->eth_dst,output:2"
            for i, (weight, bucket_id) in enumerate(zip(weights, bucket_ids, strict=True))
        )
        ofctl = ("ovs-ofctl", "-O", "OpenFlow15")
        self.run(*ofctl, "del-groups", "br0")
        self.run(*ofctl, "add-groups", "br0", "-", text=f"group_id=1,type=select{method}{buckets}\n")
        self.run(*ofctl, "add-flow", "br0", "in_port=1,actions=group:1")

    def close(self) -> None:
        self.run("ovs-appctl", "-t", "ovs-vswitchd", "exit", "--cleanup")
        self.run("ovs-appctl", "-t", "ovsdb-server", "exit")


def position_in_trace(trace: str) -> int:
    """The bucket's position, from `Datapath actions: set(eth(dst=02:01:00:00:00:03)),2`."""
    actions = trace.rsplit("Datapath actions: ", 1)[1]
    return int.from_bytes(bytes.fromhex(actions.split("dst=", 1)[1][:17].replace(":", ""))[4:], "big")


def packets_in(pcap: bytes) -> Iterator[bytes]:
    """The packets of a capture in this machine's byte order."""
    at = 24
    while at < len(pcap):
        (length,) = struct.unpack_from("=I", pcap, at + 8)
        yield pcap[at + 16 : at + 16 + length]
        at += 16 + length


def record_select_group(switch: Switch) -> Iterator[Sequence[object]]:
    yield ("weights", "bucket_ids", "parameter", *TUPLE, "bucket_id")
    for seed, (weights, bucket_ids, parameter) in enumerate(GROUPS):
        method = f",selection_method=hash,selection_method_param={parameter},fields({FIELDS})"
        switch.set_group(method, weights, bucket_ids)
        for flow in random_tuples(800, seed):
            trace = switch.control.ask("ofproto/trace", "br0", openflow_text(flow))
            bucket_id = bucket_ids[position_in_trace(trace)]
            yield ":".join(map(str, weights)), ":".join(map(str, bucket_ids)), parameter, *flow, bucket_id


def record_dp_hash(switch: Switch) -> Iterator[Sequence[object]]:
    yield ("algorithm", "basis", *TUPLE, "slot")
    seen = 0
    for seed, (name, algorithm, basis) in enumerate(DP_HASHES, start=100):
        parameter = algorithm << 32 | basis
        switch.set_group(
            f",selection_method=dp_hash,selection_method_param={parameter}", [1] * SLOTS, list(range(SLOTS))
        )
        flows = list(random_tuples(800, seed))
        slots: dict[int, int] = {}
        for number, flow in enumerate(flows):
            switch.control.ask("netdev-dummy/receive", "p1", datapath_text(flow, number))
        deadline = time.monotonic() + 30
        while len(slots) < len(flows):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(slots)} of {len(flows)} packets came out of the switch")
            time.sleep(0.2)
            packets = list(packets_in(switch.sent.read_bytes()))[seen:]
            slots = {int.from_bytes(p[6:12], "big"): int.from_bytes(p[4:6], "big") for p in packets}
        seen += len(packets)
        for number, flow in enumerate(flows):
            yield name, basis, *flow, slots[number]


def main() -> None:
    if not shutil.which("ovs-vswitchd"):
        raise SystemExit("record.py: ovs-vswitchd is missing; install the Debian package openvswitch-switch")
    with tempfile.TemporaryDirectory() as folder:
        switch = Switch(Path(folder))
        try:
            for name, record in (("select_group", record_select_group), ("dp_hash", record_dp_hash)):
                rows = list(record(switch))
                with (HERE / f"{name}.csv").open("w", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows(rows)
        finally:
            switch.close()


if __name__ == "__main__":
    main()
