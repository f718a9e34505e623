//! Next hops on random graphs with dead links and links of any cost, against Floyd and Warshall's all-pairs distances.

use anabranch_fabric::topology::LinkSettings;
use anabranch_fabric::{Fabric, Graph, GraphLink, GraphNode, LinkState, NextHops, Tier};
use proptest::prelude::*;

/// The fabric with other costs of its links: that of link number i is the i-th, over and over; 1, where there is none.
fn with_costs(fabric: &Fabric, costs: &[u32]) -> Fabric {
    let mut ports = fabric.ports().to_vec();
    let mut costs = costs.iter().cycle();
    for index in 0..ports.len() {
        let reverse = ports[index].reverse as usize;
        if index < reverse {
            let cost = costs.next().copied().unwrap_or(1);
            (ports[index].cost, ports[reverse].cost) = (cost, cost);
        }
    }
    Fabric::new(fabric.nodes().to_vec(), ports).unwrap()
}

/// Chain of switches with further links between them, hosts on some, and dead ports.
fn fabric() -> impl Strategy<Value = (Fabric, LinkState)> {
    (2..12u32).prop_flat_map(|switches| {
        let links = prop::collection::vec((0..switches, 1..switches), 0..30);
        let hosts = prop::collection::vec(0..switches, 1..8);
        let costs = prop_oneof![Just(Vec::new()), prop::collection::vec(1..4u32, 1..20)];
        let dead = prop::collection::vec(any::<prop::sample::Index>(), 0..6);
        (Just(switches), links, hosts, dead, costs).prop_map(|(switches, links, hosts, dead, costs)| {
            let node = |name: String, tier| GraphNode { name, tier, pod: None };
            let mut nodes: Vec<_> = (0..switches).map(|s| node(format!("s{s}"), None)).collect();
            nodes.extend((0..hosts.len()).map(|h| node(format!("h{h}"), Some(Tier::Host))));
            let chain = (1..switches).map(|s| (s - 1, s));
            let more = links.iter().map(|&(a, step)| (a, (a + step) % switches));
            let own = hosts.iter().zip(switches..).map(|(&s, host)| (host, s));
            let links = chain.chain(more).chain(own);
            let links = links.map(|(a, b)| GraphLink { a, b, settings: LinkSettings::default(), back: None });
            let fabric = with_costs(&Graph { nodes, links: links.collect() }.build().unwrap(), &costs);
            let mut state = LinkState::of(&fabric);
            for port in dead {
                let port = port.index(state.up.len());
                state.up[port] = false;
            }
            (fabric, state)
        })
    })
}

/// Least cost between all pairs of switches, `None` if there is no path.
fn all_pairs(fabric: &Fabric, state: &LinkState) -> Vec<Vec<Option<u32>>> {
    let nodes = fabric.nodes().len();
    let mut links = vec![vec![None; nodes]; nodes];
    for (node, row) in links.iter_mut().enumerate() {
        row[node] = Some(0);
    }
    for (index, port) in fabric.ports().iter().enumerate() {
        if port.from.min(port.to) >= fabric.hosts() && state.up[index] && state.up[port.reverse as usize] {
            let known = &mut links[port.from as usize][port.to as usize];
            *known = Some(known.map_or(port.cost, |cost| cost.min(port.cost)));
        }
    }
    for via in 0..nodes {
        for from in 0..nodes {
            for to in 0..nodes {
                if let (Some(first), Some(second)) = (links[from][via], links[via][to])
                    && links[from][to].is_none_or(|known| first + second < known)
                {
                    links[from][to] = Some(first + second);
                }
            }
        }
    }
    links
}

proptest! {
    #[test]
    fn next_hops_are_all_links_on_paths_of_least_cost((fabric, state) in fabric()) {
        let hops = NextHops::shortest(&fabric, &state);
        let expected = all_pairs(&fabric, &state);
        for (destination, &leaf) in (0..).zip(&hops.leaves) {
            let mut reached = 0;
            for node in fabric.hosts()..fabric.nodes().len() as u32 {
                let links = expected[node as usize][leaf as usize];
                prop_assert_eq!(hops.distance(node, destination), links);
                reached += usize::from(links.is_some());
                let closer: Vec<u32> = (0..fabric.ports().len() as u32)
                    .filter(|&index| {
                        let port = &fabric.ports()[index as usize];
                        let next = expected[port.to as usize][leaf as usize];
                        port.from == node && port.to >= fabric.hosts() && state.link_up(&fabric, index)
                            && next.is_some_and(|next| links == Some(next + port.cost))
                    })
                    .collect();
                let ports: Vec<u32> = hops.ports(node, destination).collect();
                prop_assert_eq!(ports, closer);
            }
            let order = hops.nearest_first(destination);
            prop_assert_eq!(order.len(), reached);
            prop_assert_eq!(order[0], leaf);
            prop_assert!(order.is_sorted_by_key(|&node| hops.distance(node, destination)));
        }
    }
}
