"""What the longest path of an empty fabric holds, as ns-3's RDMA simulators compute it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def most_in_flight(topology: Mapping[str, Any], payload_bytes: int) -> int:
    """Bytes that the link of the least rate on a shortest path carries in its round trip; the most over all hosts.

    A round trip is twice the links' delays and once the time of a full payload on each: `CalculateRoute` in
    `scratch/network-load-balance.cc` of conweave-project/conweave-ns3, whose selective repeat has no more in flight.
    """
    ports = topology["ports"]
    leading: list[list[int]] = [[] for _ in topology["nodes"]["name"]]
    for port, node in enumerate(ports["from"]):
        leading[node].append(port)
    alike = {
        (ports["to"][leading[host][0]], ports["rate_bps"][leading[host][0]], ports["delay_ns"][leading[host][0]]): host
        for host in range(topology["named_hosts"])
    }
    most = 0
    for host in alike.values():
        reached = {host: (0.0, 0, float("inf"))}
        queue = [host]
        for node in queue:
            delay_ns, frames_ns, least_bps = reached[node]
            for port in leading[node]:
                to, bps = ports["to"][port], ports["rate_bps"][port]
                if to not in reached:
                    frame_ns = payload_bytes * 8_000_000_000 // bps
                    way = (delay_ns + ports["delay_ns"][port], frames_ns + frame_ns, min(least_bps, bps))
                    reached[to] = way
                    queue.append(to)
        for other, (delay_ns, frames_ns, least_bps) in reached.items():
            if other < topology["named_hosts"] and other != host:
                most = max(most, int((2 * delay_ns + frames_ns) * least_bps / 8e9))
    return most
