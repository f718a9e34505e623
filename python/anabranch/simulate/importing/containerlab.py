"""Topologies of containerlab: `.clab.yml`, whose nodes are containers and whose links have no rate.

Kinds, the two forms of links and the words of their types are those of `docs/manual/topo-def-file.md` in
srl-labs/containerlab. A container of kind `linux` is a host, unless it has links to several nodes or forwards (FRR and
Linux routers are of that kind too): then hosts are those with one link.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import install
from anabranch.simulate.importing.attribute_graph import Attribute, AttributeGraph, Edge, Node

JOINING = ("veth", "veth-stitch")
"""Types of links that join two nodes; the others lead out of the lab."""


def read(text: str, file: str) -> AttributeGraph:
    """Reads the nodes and links of a lab.

    Raises:
        AnabranchError: it is no topology of containerlab, or PyYAML is not installed.

    """
    try:
        import yaml
    except ImportError:
        raise AnabranchError(f"{file}: PyYAML is not installed; {install('import')}") from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}" if mark is not None else ""
        raise AnabranchError(f"{file}{place}: not YAML: {getattr(error, 'problem', error)}; check it") from None
    topology = document.get("topology") if isinstance(document, dict) else None
    if not isinstance(topology, dict) or not isinstance(topology.get("nodes"), dict):
        raise AnabranchError(f"{file}: no `topology` with `nodes`; give a topology of containerlab")
    lines = {key.value: key.start_mark.line + 1 for key, _ in _child(_child(root, "topology"), "nodes").value}
    link_nodes = _child(_child(root, "topology"), "links")
    graph, links = AttributeGraph(), topology.get("links") or []
    for index, link in enumerate(links):
        line = link_nodes.value[index].start_mark.line + 1
        ends = _ends(link, f"{file}:{line}: link")
        if ends is not None:
            graph.edges.append(Edge(*ends, line=line))
    count = Counter(end for edge in graph.edges for end in (edge.source, edge.target))
    defaults = (topology.get("defaults") or {}).get("kind")
    for name, node in topology["nodes"].items():
        kind = (node or {}).get("kind", defaults)
        if kind is None:
            raise AnabranchError(f"{file}:{lines[str(name)]}: node {name}: no kind; give one, or defaults")
        word = "host" if kind == "linux" and count[name] == 1 else "switch"
        graph.nodes.append(Node(str(name), [Attribute("type", word, lines[str(name)])], lines[str(name)]))
    unlinked = [node.id for node in graph.nodes if not count[node.id]]
    graph.nodes = [node for node in graph.nodes if count[node.id]]
    if not graph.edges:
        raise AnabranchError(f"{file}: no link joins two nodes; give `topology.links`")
    if not any(attribute.text == "host" for node in graph.nodes for attribute in node.attributes):
        raise AnabranchError(f"{file}: no node of kind linux with one link, so there are no hosts; add some")
    if unlinked:
        graph.warnings.append(f"{file}: nodes without a link to another are left out: {', '.join(unlinked)}")
    return graph


def _child(node: Any, key: str) -> Any:
    return next((value for name, value in getattr(node, "value", []) if name.value == key), None)


def _ends(link: Any, where: str) -> tuple[str, str] | None:
    """Nodes at the ends of a link; `None` if it leads out of the lab."""
    given = link.get("endpoints") if isinstance(link, dict) else None
    if isinstance(link, dict) and link.get("type", "veth") not in JOINING:
        return None
    if not isinstance(given, list) or len(given) != 2:
        raise AnabranchError(f'{where}: no two endpoints; write endpoints: ["a:eth1", "b:eth1"]')
    names = []
    for end in given:
        name = end.get("node") if isinstance(end, dict) else str(end).partition(":")[0]
        if not name:
            raise AnabranchError(f"{where}: {end}: no node; write it as a:eth1")
        names.append(str(name))
    # Ends that are the machine or its management network.
    return None if {"host", "mgmt-net", "macvlan"} & set(names) else (names[0], names[1])
