"""Tracks of a fabric: a group per switch and per host, in it a track per port."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.simulate.runs.timeline.stream import Stream

SENT, RECEIVED, PATHS, WINDOWS, RATES, FIRST_PORT = range(6)
"""Positions below a host; ports come last."""


@dataclass(frozen=True)
class Fabric:
    """Numbers of tracks."""

    nodes: list[int]
    """By node; hosts come first."""
    ports: list[int]
    labels: list[str]
    """Names of the ports, as in `leaf0>spine1`."""


def fabric_tracks(stream: Stream, topology: Mapping[str, Any]) -> Fabric:
    """Makes the groups of all nodes, and a track for each port below its node."""
    names, ports = topology["nodes"]["name"], topology["ports"]
    hosts_group = stream.track("Hosts", ordered=True)
    switches_group = stream.track("Switches", ordered=True)
    nodes = [
        stream.track(name, hosts_group if node < topology["hosts"] else switches_group, node, ordered=True)
        for node, name in enumerate(names)
    ]
    ends = list(zip(ports["from"], ports["to"], strict=True))
    between = [f"{names[one]}>{names[other]}" for one, other in ends]
    # Ports of links side by side have one name.
    shared = {name for name, count in Counter(between).items() if count > 1}
    labels = [f"{name} (port {port})" if name in shared else name for port, name in enumerate(between)]
    tracks = [
        stream.track(label, nodes[one], FIRST_PORT + port, ordered=True)
        for port, (label, (one, _)) in enumerate(zip(labels, ends, strict=True))
    ]
    return Fabric(nodes, tracks, labels)
