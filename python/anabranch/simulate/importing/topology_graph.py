"""A fabric as a graph with attributes, for tools that read GraphML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.simulate.importing.attribute_graph import Attribute, AttributeGraph, Edge, Node

TIERS = ("host", "leaf", "aggregation", "spine")
"""Tiers that a file can name; other switches are switches."""


def topology_graph(topology: Mapping[str, Any]) -> AttributeGraph:
    """Nodes with tier and pod, and links with rate and delay: one edge, or two opposite ones if they differ."""
    nodes, ports = topology["nodes"], topology["ports"]
    names = nodes["name"]
    graph = AttributeGraph()
    for name, tier, pod in zip(names, nodes["tier"], nodes["pod"], strict=True):
        attributes = [Attribute("type", tier if tier in TIERS else "switch")]
        attributes += [] if pod is None else [Attribute("pod", str(pod))]
        graph.nodes.append(Node(name, attributes))
    for port, back in enumerate(ports["reverse"]):
        alike = all(ports[key][port] == ports[key][back] for key in ("rate_bps", "delay_ns"))
        if alike and back < port:
            continue
        rate = Attribute("rate", f"{ports['rate_bps'][port]} bps")
        delay = Attribute("delay", f"{ports['delay_ns'][port] * 1000:.0f} ps")
        ends = names[ports["from"][port]], names[ports["to"][port]]
        graph.edges.append(Edge(*ends, directed=not alike, attributes=[rate, delay]))
    return graph
