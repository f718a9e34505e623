"""Packets that cross a fabric of the simulator one by one, and the path of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from anabranch import _core
from anabranch.files.errors import AnabranchError

from .fabrics import Fabric
from .oracle import Path

SOURCE, TARGET = "source", "target"
"""Hosts."""
FRAME_BITS = 8 * 1538
"""A full frame with preamble and gap, and in it so many bytes of payload:"""
PAYLOAD_BYTES = 1448
TURN_NS = 400_000
"""Time between two packets: the slowest path of six links of 1 Gb/s takes a fifth of it."""
SCENARIO = """\
name = "dbb-cycle"
seed = {seed}

[fabric]
kind = "graph"
link = {{ rate = "100 Gbps", delay = "1 us" }}
edge = [
{edges}
]

{traffic}

# An interval for each packet: whatever passes a port in it is this packet.
[record]
interval = "{turn_ns} ns"
"""
TRAFFIC = """\
[[traffic]]
kind = "once"
pattern = {{ pairs = [[0, 1]] }}
sizes = "{bytes} B"
start = "{start_ns} ns"
transport = {{ kind = "udp", rate = "{bps} bps" }}
"""


def paths(fabric: Fabric, routing: Mapping[str, Any], flows: int, packets: int, seed: int) -> list[list[Path]]:
    """Paths of so many packets of each flow, which take turns, one packet on its way at a time.

    Raises:
        AnabranchError: a packet did not arrive, or not by one path.

    """
    names = [SOURCE, TARGET]
    ends = [(SOURCE, fabric.source), (TARGET, fabric.sink)]
    edges = [f'    {{ from = "{host}", to = "{switch}" }},' for host, switch in ends]
    edges += [f'    {{ from = "{at}", to = "{to}", rate = "{rate} Gbps" }},' for (at, to), rate in fabric.rates.items()]
    traffic = [
        TRAFFIC.format(
            bytes=packets * PAYLOAD_BYTES,
            start_ns=TURN_NS * flow + TURN_NS // 4,
            bps=round(FRAME_BITS * 1e9 / (TURN_NS * flows)),
        )
        for flow in range(flows)
    ]
    text = SCENARIO.format(seed=seed, edges="\n".join(edges), traffic="\n".join(traffic), turn_ns=TURN_NS)
    overrides = [(key, json.dumps(value)) for key, value in routing.items()]
    scenario = _core.Scenario(text, "dbb-cycle", overrides)
    names = scenario.topology()["nodes"]["name"]
    hops: list[dict[str, str]] = [{} for _ in range(flows * packets)]
    ports = scenario.run().ports
    columns = (ports[name] for name in ("from", "to", "start_ns", "sent_packets"))
    for at, to, start_ns, sent in zip(*columns, strict=True):
        if sent:
            turn = int(start_ns) // TURN_NS
            if sent != 1 or turn >= len(hops) or names[at] in hops[turn]:
                raise AnabranchError(f"dbb/cycle: {sent} packets from {names[at]} to {names[to]} in turn {turn}")
            hops[turn][names[at]] = names[to]
    walked = [_walk(fabric, one) for one in hops]
    return [walked[flow::flows] for flow in range(flows)]


def _walk(fabric: Fabric, hops: Mapping[str, str]) -> Path:
    """Switches of one packet; it leaves each host and switch of its path once."""
    path = [fabric.source]
    while path[-1] != fabric.sink and path[-1] in hops:
        path.append(hops[path[-1]])
    if path[-1] != fabric.sink or len(hops) != len(path) + 1:
        raise AnabranchError(f"dbb/cycle: a packet went by {', '.join(f'{at} to {to}' for at, to in hops.items())}")
    return tuple(path)
