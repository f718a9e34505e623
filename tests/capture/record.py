#!/usr/bin/env python3
"""Records real TCP and UDP connections into a small capture of headers.

    tests/capture/record.py OUT.pcap.zst [--connections 20000] [--seed 1] [--loopback]

Two network namespaces joined by a veth pair hold the two ends; tcpdump listens on the client's side. Without
the right to make namespaces the traffic runs over loopback addresses (IPv4 only). Needs the Debian packages
tcpdump, zstd and, for namespaces, iproute2. Exit status 77 when a program or a privilege is missing, with the
reason.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

from headers_only import headers_only
from plan import Network, plan

HERE = Path(__file__).resolve().parent
EXIT_SKIP = 77
# Ethernet 14, IPv6 40, TCP with all its options 60.
SNAP_BYTES = 114
# Jumbo frames, as within datacenters.
MTU_BYTES = 9000
KERNEL_BUFFER_KIB = 65536

# RFC 5737 and RFC 3849 set these addresses aside for documentation: they are nobody's.
VETH = Network(
    clients_v4=tuple(f"192.0.2.{host}" for host in range(1, 17)),
    servers_v4=tuple(f"198.51.100.{host}" for host in range(1, 9)),
    clients_v6=tuple(f"2001:db8:1::{host:x}" for host in range(1, 9)),
    servers_v6=tuple(f"2001:db8:2::{host:x}" for host in range(1, 5)),
)
LOOPBACK = Network(
    clients_v4=tuple(f"127.20.1.{host}" for host in range(1, 17)),
    servers_v4=tuple(f"127.20.2.{host}" for host in range(1, 9)),
)


def skip(reason: str) -> NoReturn:
    """Ends with the status that test drivers take for a skip."""
    print(f"record.py: {reason}", file=sys.stderr)
    raise SystemExit(EXIT_SKIP)


@dataclass(frozen=True)
class Place:
    """Namespaces of the two ends: commands are prefixed to enter them."""

    network: Network
    client: list[str]
    server: list[str]
    interface: str
    capture_filter: str


@contextmanager
def namespaces() -> Iterator[Place]:
    """Two namespaces and a veth pair with fixed names, so that nothing of this machine enters the capture."""
    client, server = f"anabranch-c{os.getpid()}", f"anabranch-s{os.getpid()}"

    def ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)

    try:
        ip("netns", "add", client)
        ip("netns", "add", server)
        # Locally administered MAC addresses; the link-local IPv6 addresses follow from them.
        ip("-n", client, "link", "add", "end0", "mtu", str(MTU_BYTES), "address", "02:00:00:00:00:01",
           "type", "veth", "peer", "name", "end0", "mtu", str(MTU_BYTES), "address", "02:00:00:00:00:02",
           "netns", server)  # fmt: skip
        for namespace, v4, v6 in (
            (client, VETH.clients_v4, VETH.clients_v6),
            (server, VETH.servers_v4, VETH.servers_v6),
        ):
            for address in v4:
                ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "end0")
            for address in v6:
                ip("-n", namespace, "addr", "add", f"{address}/64", "dev", "end0", "nodad")
            ip("-n", namespace, "link", "set", "lo", "up")
            ip("-n", namespace, "link", "set", "end0", "up")
            # RFC 7323 timestamps are ten bytes of every packet that do not compress.
            ip("netns", "exec", namespace, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/tcp_timestamps")
        ip("-n", client, "route", "add", "198.51.100.0/24", "dev", "end0")
        ip("-n", client, "route", "add", "2001:db8:2::/64", "dev", "end0")
        ip("-n", server, "route", "add", "192.0.2.0/24", "dev", "end0")
        ip("-n", server, "route", "add", "2001:db8:1::/64", "dev", "end0")
        enter = ["ip", "netns", "exec"]
        yield Place(VETH, [*enter, client], [*enter, server], "end0", "")
    finally:
        for namespace in (client, server):
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True)


@contextmanager
def place(loopback: bool) -> Iterator[Place]:
    """Namespaces if allowed, else loopback."""
    if not loopback:
        probe = f"anabranch-p{os.getpid()}"
        allowed = shutil.which("ip") is not None and (
            subprocess.run(["ip", "netns", "add", probe], capture_output=True).returncode == 0
        )
        if allowed:
            subprocess.run(["ip", "netns", "del", probe], check=True)
            with namespaces() as made:
                yield made
            return
        print("record.py: no right to make network namespaces; using loopback, IPv4 only", file=sys.stderr)
    yield Place(LOOPBACK, [], [], "lo", "net 127.20.0.0/16")


@contextmanager
def tcpdump(where: Place, out: Path) -> Iterator[None]:
    """Captures while the body runs; a dropped packet is an error, for the capture would not be whole."""
    command = [*where.client, "tcpdump", "-n", "-i", where.interface, "-w", str(out)]
    command += ["-s", str(SNAP_BYTES), "-B", str(KERNEL_BUFFER_KIB)]
    if os.geteuid() == 0:
        # Else it would become another user, who may not write to our scratch folder.
        command += ["-Z", "root"]
    command += [where.capture_filter] if where.capture_filter else []
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = ""
    while "listening on" not in said:
        line = process.stderr.readline()
        if not line:
            skip(f"tcpdump cannot capture on {where.interface}: {said.strip()}; run as root")
        said += line
    try:
        yield
        # The last FINs and the capture's own ring of blocks.
        time.sleep(1.5)
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
    dropped = re.search(r"(\d+) packets? dropped by kernel", said)
    if dropped is None or int(dropped[1]) > 0:
        raise SystemExit(f"record.py: tcpdump lost packets: {said.strip()}; record again on an idle machine")


def record(out: Path, connections: int, seed: int, loopback: bool) -> None:
    """Runs the planned connections and writes `out` whole or not at all."""
    with tempfile.TemporaryDirectory() as scratch, place(loopback) as where:
        work, raw = Path(scratch) / "plan.json", Path(scratch) / "raw.pcap"
        planned = plan(where.network, connections, seed)
        servers = where.network.servers_v4 + where.network.servers_v6
        work.write_text(json.dumps({"servers": servers, "connections": [asdict(c) for c in planned]}))
        ends = [sys.executable, str(HERE / "endpoints.py")]
        with subprocess.Popen([*where.server, *ends, "serve", str(work)], stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                if server.stdout.readline().strip() != "ready":
                    raise SystemExit("record.py: the server did not start; see above")
                with tcpdump(where, raw):
                    client = subprocess.run([*where.client, *ends, "run", str(work)], check=False)
                if client.returncode != 0:
                    raise SystemExit("record.py: not every connection came to its end; see above")
            finally:
                server.kill()
        small = b"".join(headers_only(raw.read_bytes()))
    part = out.with_name(out.name + ".part")
    subprocess.run(["zstd", "-q", "-f", "--ultra", "-22", "-o", str(part)], input=small, check=True)
    part.replace(out)
    kinds = Counter(f"{c.protocol}{6 if ':' in c.client else 4}" for c in planned)
    facts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(f"{out}: {connections} connections ({facts}), {len(small)} bytes, {out.stat().st_size} compressed")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--connections", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loopback", action="store_true", help="do not try namespaces")
    arguments = parser.parse_args()
    for program in ("tcpdump", "zstd"):
        if shutil.which(program) is None:
            skip(f"{program} is missing; apt-get install {program}")
    record(arguments.out, arguments.connections, arguments.seed, arguments.loopback)


if __name__ == "__main__":
    main()
