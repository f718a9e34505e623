"""A fabric as `topology.txt` of ns-3's RDMA simulators, as HPCC and those that descend from it read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.files.errors import AnabranchError


def ns3_topology(topology: Mapping[str, Any]) -> str:
    """Text of the file: counts, the numbers of the switches, a line for each link.

    Hosts have their numbers, and switches those behind them, in the fabric's order. Rates are in bits per second and
    delays in picoseconds, both as integers (read by `simulation/scratch/third.cc` of HPCC's
    alibaba-edu/High-Precision-Congestion-Control).

    Raises `AnabranchError` where the format has no words for the fabric: links of two rates or delays.
    """
    nodes, ports = topology["nodes"], topology["ports"]
    hosts = [node for node, tier in enumerate(nodes["tier"]) if tier == "host"]
    switches = [node for node, tier in enumerate(nodes["tier"]) if tier != "host"]
    number = {node: at for at, node in enumerate([*hosts, *switches])}
    links = []
    for port, back in enumerate(ports["reverse"]):
        if back < port:
            continue
        ends = ports["from"][port], ports["to"][port]
        for key in ("rate_bps", "delay_ns"):
            if ports[key][port] != ports[key][back]:
                names = "-".join(nodes["name"][end] for end in ends)
                problem = f"out: link {names} differs by direction, and a link of ns-3 has one rate and one delay"
                raise AnabranchError(f"{problem}; write .graphml")
        delay_ps = round(ports["delay_ns"][port] * 1000)
        links.append(f"{number[ends[0]]} {number[ends[1]]} {ports['rate_bps'][port]}bps {delay_ps}ps 0")
    counts = f"{len(number)} {len(switches)} {len(links)}"
    return "\n".join([counts, " ".join(str(number[switch]) for switch in switches), *links, ""])
