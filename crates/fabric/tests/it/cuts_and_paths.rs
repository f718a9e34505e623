//! Bisections and numbers of paths of random graphs, against petgraph's maximum flow and powers of the adjacency
//! matrix.

use anabranch_fabric::capacity::bisection_bps;
use anabranch_fabric::paths::{path, path_counts};
use anabranch_fabric::topology::LinkSettings;
use anabranch_fabric::{Fabric, Graph, GraphLink, GraphNode, LinkState, NextHops, Rate, Tier};
use petgraph::algo::ford_fulkerson;
use petgraph::graph::DiGraph;
use proptest::prelude::*;

/// Chain of switches with further links between them, unequal rates in the two directions, and hosts on some switches.
fn fabric() -> impl Strategy<Value = Fabric> {
    (2..10u32).prop_flat_map(|switches| {
        let links = prop::collection::vec((0..switches, 1..switches, 0..4usize, 0..4usize), 0..20);
        (Just(switches), links, prop::collection::vec(0..switches, 1..8)).prop_map(
            |(switches, links, hosts)| {
                let node = |name: String, tier| GraphNode { name, tier, pod: None };
                let mut nodes: Vec<_> = (0..switches).map(|s| node(format!("s{s}"), None)).collect();
                nodes.extend((0..hosts.len()).map(|h| node(format!("h{h}"), Some(Tier::Host))));
                let rate = |index: usize| LinkSettings {
                    rate: Rate::from_bps([1, 3, 10, 40][index] * 1_000_000_000).unwrap(),
                    ..LinkSettings::default()
                };
                let link =
                    |a, b, forth, back| GraphLink { a, b, settings: rate(forth), back: Some(rate(back)) };
                let chain = (1..switches).map(|s| link(s - 1, s, 0, 1));
                let more =
                    links.iter().map(|&(a, step, forth, back)| link(a, (a + step) % switches, forth, back));
                let own = hosts.iter().zip(switches..).map(|(&s, host)| link(host, s, 2, 2));
                Graph { nodes, links: chain.chain(more).chain(own).collect() }.build().unwrap()
            },
        )
    })
}

proptest! {
    #[test]
    fn bisections_are_maximum_flows(fabric in fabric()) {
        let hops = NextHops::shortest(&fabric, &LinkState::of(&fabric));
        let mut graph = DiGraph::<(), u64>::new();
        let nodes: Vec<_> = fabric.nodes().iter().map(|_| graph.add_node(())).collect();
        for port in fabric.ports() {
            graph.add_edge(nodes[port.from as usize], nodes[port.to as usize], port.rate.bps());
        }
        let (source, sink) = (graph.add_node(()), graph.add_node(()));
        let (left, right) = hops.leaves.split_at(hops.leaves.len() / 2);
        for &leaf in left {
            graph.add_edge(source, nodes[leaf as usize], 1 << 50);
        }
        for &leaf in right {
            graph.add_edge(nodes[leaf as usize], sink, 1 << 50);
        }
        let (flow_bps, _) = ford_fulkerson(&graph, source, sink);
        prop_assert_eq!(bisection_bps(&fabric), flow_bps);
    }

    /// Counts walks: those of d links from a to b are entry (a, b) of the adjacency matrix to the power d. If d is the
    /// distance, they are the shortest paths.
    #[test]
    fn paths_are_as_many_as_shortest_walks(fabric in fabric()) {
        let hops = NextHops::shortest(&fabric, &LinkState::of(&fabric));
        let between = |from: u32, to: u32| {
            let ports = fabric.ports_of(from).iter().filter(|&&port| fabric.ports()[port as usize].to == to);
            ports.count() as u64
        };
        let switches = fabric.hosts()..fabric.nodes().len() as u32;
        for (destination, &leaf) in (0..).zip(&hops.leaves) {
            let counts = path_counts(&fabric, &hops, destination);
            let mut walks: Vec<u64> = switches.clone().map(|node| u64::from(node == leaf)).collect();
            for links in 0..switches.len() as u32 {
                for node in switches.clone().filter(|&node| hops.distance(node, destination) == Some(links)) {
                    let number = counts[hops.switch(node)];
                    prop_assert_eq!(number, walks[hops.switch(node)]);
                    if let Ok(last) = path(&fabric, &hops, &counts, node, destination, number - 1) {
                        prop_assert_eq!(last.ports.len(), links as usize);
                    }
                }
                walks = switches
                    .clone()
                    .map(|from| switches.clone().map(|to| between(from, to) * walks[hops.switch(to)]).sum())
                    .collect();
            }
        }
    }
}
