"""Graphs with attributes by name, as files of other tools have them, and GraphML of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from anabranch.files.errors import AnabranchError


@dataclass
class Attribute:
    """Value of an attribute by its name, with the line where it stands (0: unknown)."""

    name: str
    text: str
    line: int = 0


@dataclass
class Node:
    """Node by the text that edges name it by."""

    id: str
    attributes: list[Attribute] = field(default_factory=list)
    line: int = 0


@dataclass
class Edge:
    """Edge between two nodes by their ids; a link, or one direction of it."""

    source: str
    target: str
    directed: bool = False
    attributes: list[Attribute] = field(default_factory=list)
    line: int = 0


@dataclass
class AttributeGraph:
    """Graph as a file has it, before its attributes are understood."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def check(self, file: str) -> None:
        """Refuses what a scenario would not understand, by the lines of the file it was read from.

        Raises:
            AnabranchError: an attribute, or an edge to a node that is none.

        """
        from anabranch._core import check_graph

        check_graph(
            file,
            _plain(self.attributes),
            [(node.id, node.line, _plain(node.attributes)) for node in self.nodes],
            [(edge.source, edge.target, edge.directed, edge.line, _plain(edge.attributes)) for edge in self.edges],
        )

    def graphml(self) -> str:
        """The same graph as GraphML, attributes by the names that they have."""
        root = ElementTree.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
        keys: dict[tuple[str, str], str] = {}
        elements: list[tuple[str, Iterable[Attribute]]] = [("graph", self.attributes)]
        elements += [("node", node.attributes) for node in self.nodes]
        elements += [("edge", edge.attributes) for edge in self.edges]
        for domain, attributes in elements:
            for attribute in attributes:
                if (domain, attribute.name) not in keys:
                    keys[domain, attribute.name] = f"d{len(keys)}"
                    key = {"id": keys[domain, attribute.name], "for": domain, "attr.name": attribute.name}
                    ElementTree.SubElement(root, "key", key | {"attr.type": "string"})
        graph = ElementTree.SubElement(root, "graph", edgedefault="undirected")

        def fill(element: ElementTree.Element, domain: str, attributes: Iterable[Attribute]) -> None:
            for attribute in attributes:
                data = ElementTree.SubElement(element, "data", key=keys[domain, attribute.name])
                data.text = attribute.text

        fill(graph, "graph", self.attributes)
        for node in self.nodes:
            fill(ElementTree.SubElement(graph, "node", id=node.id), "node", node.attributes)
        for edge in self.edges:
            ends = {"source": edge.source, "target": edge.target} | ({"directed": "true"} if edge.directed else {})
            fill(ElementTree.SubElement(graph, "edge", ends), "edge", edge.attributes)
        ElementTree.indent(root)
        return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _plain(attributes: Iterable[Attribute]) -> list[tuple[str, str, int]]:
    return [(attribute.name, attribute.text, attribute.line) for attribute in attributes]


def text_of(value: Any, where: str) -> str:
    """Text of a scalar value; numbers without a trailing `.0`.

    Raises:
        AnabranchError: a list or a table, which no attribute is.

    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return str(int(value))
    if isinstance(value, (str, int, float)):
        return str(value).strip()
    raise AnabranchError(f"{where}: {value!r:.60}: not a text or number; leave it out")
