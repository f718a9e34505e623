"""Node-link JSON, as `networkx.node_link_data` writes it (and d3 reads it)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.simulate.importing.attribute_graph import Attribute, AttributeGraph, Edge, Node, text_of


def read(text: str, file: str) -> AttributeGraph:
    """Reads the graph of a file; edges stand below `links` or, since networkx 3.4, `edges`.

    Raises:
        AnabranchError: it is no such JSON; the message names node or edge by its number.

    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise AnabranchError(f"{file}:{error.lineno}: not JSON: {error.msg}; write node-link JSON") from None
    except RecursionError:
        raise AnabranchError(f"{file}: its brackets are nested too deeply to be read; nest fewer") from None
    except ValueError:
        # Python refuses to convert integers of more digits than it has a limit for.
        raise AnabranchError(f"{file}: an integer of more than 4,300 digits; write node-link JSON") from None
    links = "links" if isinstance(document, dict) and "links" in document else "edges"
    if not (isinstance(document, dict) and all(isinstance(document.get(key), list) for key in ("nodes", links))):
        raise AnabranchError(f"{file}: no lists `nodes` and `links`; write it by networkx.node_link_data")
    graph, directed = AttributeGraph(), bool(document.get("directed", False))
    own = document.get("graph", {})
    graph.attributes = _attributes(own if isinstance(own, dict) else {}, (), f"{file}: graph")
    for index, node in enumerate(document["nodes"]):
        where = f"{file}: nodes[{index}]"
        (name,) = _required(node, ("id",), where)
        graph.nodes.append(Node(name, _attributes(node, ("id",), where)))
    for index, edge in enumerate(document[links]):
        where = f"{file}: {links}[{index}]"
        source, target = _required(edge, ("source", "target"), where)
        attributes = _attributes(edge, ("source", "target", "key"), where)
        graph.edges.append(Edge(source, target, directed, attributes))
    return graph


def _required(item: Any, keys: tuple[str, ...], where: str) -> list[str]:
    if not isinstance(item, dict) or any(key not in item for key in keys):
        raise AnabranchError(f"{where}: no {' and '.join(keys)}; write it by networkx.node_link_data")
    return [text_of(item[key], f"{where}: {key}") for key in keys]


def _attributes(item: Mapping[str, Any], left_out: tuple[str, ...], where: str) -> list[Attribute]:
    given = {str(key): value for key, value in item.items() if key not in left_out and value is not None}
    return [Attribute(key, text_of(value, f"{where}: {key}")) for key, value in given.items()]
