"""GML of networkx, igraph and the Topology Zoo, each value with its line.

The grammar is the one of Michael Himsolt's "GML: A portable Graph File Format" (1997): a list of keys, each with a
number, a quoted text or a list in brackets.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.files.errors import AnabranchError
from anabranch.simulate.importing.attribute_graph import Attribute, AttributeGraph, Edge, Node

TOKEN = re.compile(r'\s+|#[^\n]*|(?P<text>"[^"]*")|(?P<open>\[)|(?P<close>\])|(?P<word>[^\s\[\]"]+)')
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(INF|NAN)", re.IGNORECASE)
DEPTH_MAX = 50


@dataclass
class _Entry:
    key: str
    value: str | list[_Entry]
    line: int


def read(text: str, file: str) -> AttributeGraph:
    """Reads the graph of a file.

    Raises:
        AnabranchError: it is no GML; the message has the line.

    """
    entries = _entries(_tokens(text, file), file, 0)
    graphs = [entry for entry in entries if entry.key.lower() == "graph" and isinstance(entry.value, list)]
    if len(graphs) != 1:
        raise AnabranchError(f"{file}: {len(graphs)} graphs; write one, as in graph [ node [ id 0 ] ]")
    graph, directed = AttributeGraph(), False
    content = graphs[0].value
    assert isinstance(content, list)
    for entry in content:
        key = entry.key.lower()
        if isinstance(entry.value, list) and key in ("node", "edge"):
            values = {inner.key.lower(): inner.value for inner in entry.value}
            keys = ("id",) if key == "node" else ("source", "target")
            for required in keys:
                if not isinstance(values.get(required), str):
                    raise AnabranchError(f"{file}:{entry.line}: {key}: no {required}; write it in its brackets")
            attributes = [
                Attribute(inner.key, inner.value.strip(), inner.line)
                for inner in entry.value
                if isinstance(inner.value, str) and inner.key.lower() not in keys
            ]
            ends = [str(values[required]) for required in keys]
            if key == "node":
                graph.nodes.append(Node(ends[0], attributes, entry.line))
            else:
                graph.edges.append(Edge(ends[0], ends[1], False, attributes, entry.line))
        elif key == "directed":
            directed = entry.value == "1"
        elif key not in ("multigraph", "comment", "creator", "version", "label", "name") and isinstance(
            entry.value, str
        ):
            graph.attributes.append(Attribute(entry.key, entry.value.strip(), entry.line))
    for edge in graph.edges:
        edge.directed = directed
    return graph


def _tokens(text: str, file: str) -> Iterator[tuple[str, str, int]]:
    line, at = 1, 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise AnabranchError(f"{file}:{line}: a text without its closing quote; not GML")
        if match.lastgroup is not None:
            yield match.lastgroup, match[0], line
        line += match[0].count("\n")
        at = match.end()


def _entries(tokens: Iterator[tuple[str, str, int]], file: str, depth: int) -> list[_Entry]:
    entries: list[_Entry] = []
    for kind, key, line in tokens:
        if kind == "close" and depth:
            return entries
        if kind != "word" or NUMBER.fullmatch(key):
            raise AnabranchError(f"{file}:{line}: `{key}` where a key must stand; not GML")
        kind, value, value_line = next(tokens, ("end", "", line))
        if kind == "open" and depth < DEPTH_MAX:
            entries.append(_Entry(key, _entries(tokens, file, depth + 1), line))
        elif kind == "text":
            entries.append(_Entry(key, html.unescape(value[1:-1]), value_line))
        elif kind == "word" and NUMBER.fullmatch(value):
            entries.append(_Entry(key, value, value_line))
        else:
            raise AnabranchError(f"{file}:{value_line}: {key}: `{value}` is no number, text in quotes or list; not GML")
    if depth:
        raise AnabranchError(f"{file}: a list without its closing bracket; not GML")
    return entries
