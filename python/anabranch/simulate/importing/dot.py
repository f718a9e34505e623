"""DOT, Graphviz's language, by `pydot`'s parser."""

from __future__ import annotations

import warnings
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import install
from anabranch.simulate.importing.attribute_graph import Attribute, AttributeGraph, Edge, Node

DRAWN = ("label", "shape", "color", "style", "fontsize", "fontname", "fillcolor", "penwidth", "width", "height", "pos")
"""Attributes of drawing, which say nothing about a fabric; `label` is what is drawn, and names are the ids."""


def read(text: str, file: str) -> AttributeGraph:
    """Reads the graph of a file, clusters included.

    Raises:
        AnabranchError: it is no DOT, or `pydot` is not installed.

    """
    try:
        with warnings.catch_warnings():
            # pydot 4 defines its grammar by older names of pyparsing.
            warnings.simplefilter("ignore", DeprecationWarning)
            from pydot.dot_parser import graphparser
            from pyparsing import ParseException
    except ImportError:
        raise AnabranchError(f"{file}: pydot is not installed; {install('import')}") from None
    try:
        graphs = list(graphparser.parse_string(text, parse_all=True))
    except ParseException as error:
        raise AnabranchError(f"{file}:{error.lineno}: not DOT: {error.msg} at `{error.line.strip()}`") from None
    except RecursionError:
        raise AnabranchError(f"{file}: its brackets are nested too deeply to be read; nest fewer") from None
    if len(graphs) != 1:
        raise AnabranchError(f"{file}: {len(graphs)} graphs; write one")
    reader = _Reader(graphs[0].get_type() == "digraph")
    reader.read(graphs[0].obj_dict, {}, {})
    known = reader.nodes.values()
    return AttributeGraph([Node(node.id, _drawn_apart(node.attributes)) for node in known], reader.edges)


class _Reader:
    """Nodes and edges as they come, with the defaults of the graphs that they stand in."""

    def __init__(self, directed: bool) -> None:
        self.directed = directed
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []

    def read(self, graph: Any, nodes: dict[str, str], edges: dict[str, str]) -> list[str]:
        """Reads a graph or cluster; returns the names of its nodes."""
        named: list[str] = []
        statements: list[tuple[int, str, Any]] = []
        for kind in ("nodes", "edges", "subgraphs"):
            for items in graph[kind].values():
                statements += [(item["sequence"], kind, item) for item in items]
        for _, kind, item in sorted(statements, key=lambda statement: statement[0]):
            given = {_plain(key): _plain(value) for key, value in item["attributes"].items() if value is not None}
            if kind == "subgraphs":
                named += self.read(item, dict(nodes), dict(edges))
            elif kind == "edges":
                ends = [self._end(end, nodes, edges) for end in item["points"]]
                named += [name for end in ends for name in end]
                attributes = _drawn_apart([Attribute(*pair) for pair in (edges | given).items()])
                self.edges += [Edge(a, b, self.directed, attributes) for a in ends[0] for b in ends[1]]
            elif (name := str(item["name"])) in ("node", "edge", "graph"):
                {"node": nodes, "edge": edges}.get(name, {}).update(given)
            else:
                named.append(self._node(_plain(name), nodes, given))
        return named

    def _end(self, end: Any, nodes: dict[str, str], edges: dict[str, str]) -> list[str]:
        if not isinstance(end, str):
            return self.read(end, dict(nodes), dict(edges))
        # A port of a node is where its edge is drawn.
        name = end if end.startswith('"') else end.partition(":")[0]
        return [self._node(_plain(name), nodes, {})]

    def _node(self, name: str, defaults: dict[str, str], given: dict[str, str]) -> str:
        node = self.nodes.setdefault(name, Node(name, [Attribute(*pair) for pair in defaults.items()]))
        node.attributes = [one for one in node.attributes if one.name not in given]
        node.attributes += [Attribute(*pair) for pair in given.items()]
        return name


def _plain(text: object) -> str:
    """Text of an id, without its quotes."""
    word = str(text)
    return word[1:-1].replace('\\"', '"') if len(word) > 1 and word[0] == word[-1] == '"' else word


def _drawn_apart(attributes: list[Attribute]) -> list[Attribute]:
    return [attribute for attribute in attributes if attribute.name not in DRAWN]
