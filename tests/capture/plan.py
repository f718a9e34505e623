"""The connections of one recording: who talks to whom, on which ports, and how much."""

from __future__ import annotations

import random
from bisect import bisect_left
from dataclasses import dataclass

# Ports above 1023, so that the loopback fallback needs no privilege to listen.
TCP_SERVICES = (3306, 6379, 8080, 8443, 9092)
UDP_SERVICES = (4433, 8125, 11211)
# Linux's own range of ephemeral ports (net.ipv4.ip_local_port_range).
EPHEMERAL_PORTS = range(32768, 61000)
IPV6_SHARE = 0.15
TCP_SHARE = 0.7
# Pushes send the bulk from client to server, as replication and uploads do.
PUSH_SHARE = 0.25
UDP_DATAGRAM_BYTES = 1200

# Web search flow sizes: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, as tabulated in
# HKUST-SING/TrafficGenerator conf/DCTCP_CDF.txt.
WEB_SEARCH_BYTES = (
    (0, 0.0),
    (10_000, 0.15),
    (20_000, 0.2),
    (30_000, 0.3),
    (50_000, 0.4),
    (80_000, 0.53),
    (200_000, 0.6),
    (1_000_000, 0.7),
    (2_000_000, 0.8),
    (5_000_000, 0.9),
    (10_000_000, 0.97),
    (30_000_000, 1.0),
)
# The shape is kept, the sizes are not: unshrunk, 20,000 connections would carry 34 GB.
SHRINK = 64


@dataclass(frozen=True)
class Network:
    """Addresses that the recording may use; every one is made by the recording itself."""

    clients_v4: tuple[str, ...]
    servers_v4: tuple[str, ...]
    clients_v6: tuple[str, ...] = ()
    servers_v6: tuple[str, ...] = ()


@dataclass(frozen=True)
class Connection:
    """One planned connection; sizes are application bytes."""

    protocol: str
    client: str
    client_port: int
    server: str
    server_port: int
    push_bytes: int
    pull_bytes: int


def web_search_bytes(draw: random.Random) -> int:
    """A shrunk flow size, at least one byte, linear between the knots of the table."""
    u = draw.random()
    i = max(1, bisect_left([p for _, p in WEB_SEARCH_BYTES], u))
    (low, p_low), (high, p_high) = WEB_SEARCH_BYTES[i - 1], WEB_SEARCH_BYTES[i]
    return max(1, round((low + (high - low) * (u - p_low) / (p_high - p_low)) / SHRINK))


def plan(network: Network, connections: int, seed: int) -> list[Connection]:
    """`connections` connections, no two with the same 5-tuple: a client uses each of its ports once."""
    draw = random.Random(seed)
    free_ports: dict[str, list[int]] = {}
    for client in network.clients_v4 + network.clients_v6:
        ports = list(EPHEMERAL_PORTS)
        draw.shuffle(ports)
        free_ports[client] = ports
    result = []
    for _ in range(connections):
        six = bool(network.clients_v6) and draw.random() < IPV6_SHARE
        client = draw.choice(network.clients_v6 if six else network.clients_v4)
        server = draw.choice(network.servers_v6 if six else network.servers_v4)
        if not free_ports[client]:
            raise SystemExit(f"record.py: --connections {connections} needs more ports than {client} has")
        protocol = "tcp" if draw.random() < TCP_SHARE else "udp"
        small, bulk = draw.randint(40, 200), web_search_bytes(draw)
        if protocol == "udp":
            # Request and reply, as name lookups and caches have them: at most four datagrams.
            bulk = min(bulk, 4 * UDP_DATAGRAM_BYTES)
        push, pull = (bulk, small) if protocol == "tcp" and draw.random() < PUSH_SHARE else (small, bulk)
        service = draw.choice(TCP_SERVICES if protocol == "tcp" else UDP_SERVICES)
        result.append(Connection(protocol, client, free_ports[client].pop(), server, service, push, pull))
    return result
