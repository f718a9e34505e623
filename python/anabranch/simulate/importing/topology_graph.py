"""A fabric as a graph with attributes, for tools that read GraphML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.simulate.importing.attribute_graph import Attribute, AttributeGraph, Edge, Node
from anabranch.simulate.importing.whole_hosts import whole_hosts

TIERS = {"host": "host", "server": "scale-up", "leaf": "leaf", "aggregation": "aggregation", "spine": "spine"}
"""Words of files for tiers."""


def topology_graph(topology: Mapping[str, Any]) -> AttributeGraph:
    """Nodes with tier and pod, and links with rate and delay: one edge, or two opposite ones if they differ."""
    nodes, ports = topology["nodes"], topology["ports"]
    names = nodes["name"]
    graph, fabric = AttributeGraph(), whole_hosts(topology)
    for node in fabric.nodes:
        attributes = [Attribute("type", TIERS[nodes["tier"][node]])]
        attributes += [] if nodes["pod"][node] is None else [Attribute("pod", str(nodes["pod"][node]))]
        graph.nodes.append(Node(names[node], attributes))
    for port, *ends in fabric.links(topology):
        back = ports["reverse"][port]
        alike = all(ports[key][port] == ports[key][back] for key in ("rate_bps", "delay_ns"))
        for way, (source, target) in [(port, ends)] if alike else [(port, ends), (back, ends[::-1])]:
            rate = Attribute("rate", f"{ports['rate_bps'][way]} bps")
            delay = Attribute("delay", f"{ports['delay_ns'][way] * 1000:.0f} ps")
            graph.edges.append(Edge(names[source], names[target], directed=not alike, attributes=[rate, delay]))
    return graph
