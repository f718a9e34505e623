"""A fabric as `topology.txt` of ns-3's RDMA simulators, as HPCC and those that descend from it read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.simulate.importing.whole_hosts import whole_hosts

ACCELERATOR = "accelerator"
"""Last word of SimAI's first line, which names the model of the accelerators; nothing reads it."""


def ns3_topology(topology: Mapping[str, Any]) -> str:
    """Text of the file: counts, the numbers of the switches, a line for each link.

    Hosts have their numbers, and switches those behind them, in the fabric's order, scale-up switches first. Rates are
    in bits per second and delays in picoseconds, both as integers (read by `simulation/scratch/third.cc` of HPCC's
    alibaba-edu/High-Precision-Congestion-Control, and SimAI's `network_frontend/ns3/common.h`).

    Raises `AnabranchError` where the format has no words for the fabric: links of two rates or delays, and servers that
    differ.
    """
    ports, names, tiers = topology["ports"], topology["nodes"]["name"], topology["nodes"]["tier"]
    fabric = whole_hosts(topology)
    hosts = fabric.nodes[: topology["named_hosts"]]
    scale_up = [node for node in fabric.nodes if tiers[node] == "server"]
    switches = [*scale_up, *(node for node in fabric.nodes if tiers[node] not in ("host", "server"))]
    number = {node: at for at, node in enumerate([*hosts, *switches])}
    links: list[str] = []
    server_of: dict[int, list[int]] = {}
    for port, *ends in fabric.links(topology):
        back = ports["reverse"][port]
        for key in ("rate_bps", "delay_ns"):
            if ports[key][port] != ports[key][back]:
                link = "-".join(names[end] for end in ends)
                problem = f"out: link {link} differs by direction, and a link of ns-3 has one rate and one delay"
                raise AnabranchError(f"{problem}; write .graphml")
        host, switch = sorted(ends)
        if tiers[switch] == "server":
            server_of.setdefault(host, []).append(scale_up.index(switch))
        delay_ps = round(ports["delay_ns"][port] * 1000)
        links.append(f"{number[ends[0]]} {number[ends[1]]} {ports['rate_bps'][port]}bps {delay_ps}ps 0")
    counts = f"{len(number)} {len(switches)} {len(links)}"
    if scale_up:
        size = max(1, len(hosts) // len(scale_up))
        if [server_of.get(host) for host in hosts] != [[at // size] for at in range(len(hosts))]:
            problem = "out: servers of SimAI have as many accelerators each, one after the other, and a scale-up switch"
            raise AnabranchError(f"{problem}; write .graphml")
        others = len(switches) - len(scale_up)
        counts = f"{len(number)} {size} {len(scale_up)} {others} {len(links)} {ACCELERATOR}"
    return "\n".join([counts, " ".join(str(number[switch]) for switch in switches), *links, ""])
