"""Writes the GraphML files beside it with networkx and igraph (requirements.txt)."""

import igraph
import networkx as nx


def leaf_spine() -> nx.MultiGraph:
    """Two leaves, two spines, two parallel links to the first spine; rates and delays as text."""
    graph = nx.MultiGraph(name="leaf-spine")
    for leaf in range(2):
        graph.add_node(f"leaf{leaf}", tier="leaf", pod=leaf)
        for host in range(2):
            name = f"host{2 * leaf + host}"
            graph.add_node(name, tier="host", pod=leaf)
            graph.add_edge(name, f"leaf{leaf}", rate="25 Gbps", delay="500 ns")
    for spine in range(2):
        graph.add_node(f"spine{spine}", tier="spine")
        for leaf in range(2):
            for _ in range(2 - spine):
                graph.add_edge(f"leaf{leaf}", f"spine{spine}", rate="100 Gbps", delay="1 us")
    return graph


def both_ways() -> nx.DiGraph:
    """A dumbbell whose two directions differ; rates in bit/s and delays in seconds; no tiers."""
    graph = nx.DiGraph()
    for host, switch in [(1, 10), (2, 10), (3, 20), (4, 20)]:
        graph.add_edge(host, switch, capacity=10_000_000_000, latency=1e-6)
        graph.add_edge(switch, host, capacity=10_000_000_000, latency=1e-6)
    graph.add_edge(10, 20, capacity=1_000_000_000, latency=2.5e-6)
    graph.add_edge(20, 10, capacity=500_000_000, latency=2.5e-6)
    return graph


def tree() -> igraph.Graph:
    """A fabric of three tiers from igraph, which numbers nodes and keeps names as attributes."""
    graph = igraph.Graph()
    graph.add_vertices(
        ["core", "agg0", "agg1", "tor0", "tor1", "h0", "h1"],
        attributes={"type": ["core", "agg", "agg", "tor", "tor", "server", "server"]},
    )
    graph.vs["pod"] = [None, 0, 1, 0, 1, 0, 1]
    graph.add_edges(
        [("core", "agg0"), ("core", "agg1"), ("agg0", "tor0"), ("agg1", "tor1"), ("tor1", "h1"), ("tor0", "h0")],
        attributes={"bandwidth": [4e10, 4e10, 4e10, 4e10, 1e10, 1e10]},
    )
    return graph


nx.write_graphml_xml(leaf_spine(), "networkx-multigraph.graphml")
nx.write_graphml_xml(both_ways(), "networkx-directed.graphml")
tree().write_graphml("igraph-tiers.graphml")
