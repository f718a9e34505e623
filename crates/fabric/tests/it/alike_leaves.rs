//! Next hops of fabrics whose leaves are linked alike, with failures and odd rates, against one search for each leaf.

use anabranch_fabric::topology::{Clos, FatTree, LeafSpine, Vl2};
use anabranch_fabric::{Fabric, LinkState, NextHops, Rate};
use proptest::prelude::*;

fn fabric() -> impl Strategy<Value = Fabric> {
    prop_oneof![
        (1..6u32, 1..5u32, 1..3u32).prop_map(|(leaves, spines, parallel_links)| {
            LeafSpine { leaves, spines, hosts_per_leaf: 1, parallel_links, ..LeafSpine::default() }.build()
        }),
        (1..3u32).prop_map(|half| FatTree { k: 2 * half, ..FatTree::default() }.build()),
        (1..4u32, 1..4u32, 1..4u32, 1..3u32).prop_map(|(pods, leaves, aggregations, cores)| {
            let clos = Clos {
                pods,
                leaves_per_pod: leaves,
                aggregations_per_pod: aggregations,
                cores_per_aggregation: cores,
                hosts_per_leaf: 1,
                ..Clos::default()
            };
            clos.build()
        }),
        (1..8u32, 1..4u32).prop_map(|(leaves, pairs)| {
            Vl2 { leaves, aggregations: 2 * pairs, intermediates: 2, hosts_per_leaf: 1, ..Vl2::default() }
                .build()
        }),
    ]
    .prop_map(Result::unwrap)
}

/// A fabric, some of whose ports and nodes are dead and some ports slow.
fn degraded() -> impl Strategy<Value = (Fabric, LinkState)> {
    let some = || prop::collection::vec(any::<prop::sample::Index>(), 0..6);
    (fabric(), some(), some(), prop::option::of(any::<prop::sample::Index>())).prop_map(
        |(fabric, dead, slow, node)| {
            let mut state = LinkState::of(&fabric);
            let ports = fabric.ports().len();
            dead.iter().for_each(|port| state.up[port.index(ports)] = false);
            let rate = Rate::from_bps(1_000_000_000).unwrap();
            slow.iter().for_each(|port| state.rate[port.index(ports)] = rate);
            if let Some(node) = node {
                state.node_up[node.index(fabric.nodes().len())] = false;
            }
            (fabric, state)
        },
    )
}

/// Number of links from every node to `leaf` over links that carry, one step after the other.
fn distances(fabric: &Fabric, state: &LinkState, leaf: u32) -> Vec<Option<u32>> {
    let mut distance = vec![None; fabric.nodes().len()];
    distance[leaf as usize] = Some(0);
    for links in 0.. {
        let before = distance.clone();
        for (index, port) in (0..).zip(fabric.ports()) {
            let between = port.from.min(port.to) >= fabric.hosts();
            let near = before[port.to as usize] == Some(links);
            if between && near && before[port.from as usize].is_none() && state.link_up(fabric, index) {
                distance[port.from as usize] = Some(links + 1);
            }
        }
        if distance == before {
            break;
        }
    }
    distance
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn leaves_of_a_class_have_the_next_hops_that_each_has_alone((fabric, state) in degraded()) {
        let hops = NextHops::shortest(&fabric, &state);
        prop_assert_eq!(&hops.leaves, &fabric.leaves());
        for (destination, &leaf) in (0..).zip(&hops.leaves) {
            let alone = distances(&fabric, &state, leaf);
            let class = hops.class(destination);
            for node in fabric.hosts()..fabric.nodes().len() as u32 {
                prop_assert_eq!(hops.distance(node, destination), alone[node as usize]);
                let closer = |port: &u32| {
                    let next = alone[fabric.ports()[*port as usize].to as usize];
                    state.link_up(&fabric, *port)
                        && next.is_some_and(|next| alone[node as usize] == Some(next + 1))
                };
                let own = fabric.ports_of(node).iter().copied();
                let switches = own.filter(|&port| fabric.ports()[port as usize].to >= fabric.hosts());
                let ports: Vec<u32> = hops.ports(node, destination).collect();
                prop_assert_eq!(&ports, &switches.filter(closer).collect::<Vec<u32>>());
                // Whoever does not tell the leaves of a class apart has the same next hops to the first of them.
                let first = (0..).zip(&hops.leaves).find(|&(other, _)| hops.class(other) == class).unwrap();
                if !hops.distinguishes(node, class) && node != leaf && node != *first.1 {
                    prop_assert_eq!(ports, hops.ports(node, first.0).collect::<Vec<u32>>());
                }
            }
        }
    }
}

/// A fabric as built needs one search per pod, and a leaf that lost a link one more.
#[test]
fn symmetric_tiers_are_one_class_a_pod() {
    let fabric = FatTree { k: 8, ..FatTree::default() }.build().unwrap();
    let mut state = LinkState::of(&fabric);
    assert_eq!(NextHops::shortest(&fabric, &state).classes(), 8);
    let up =
        fabric.ports().iter().position(|port| port.from == fabric.leaf_of(0) && port.to >= fabric.hosts());
    state.up[up.unwrap()] = false;
    assert_eq!(NextHops::shortest(&fabric, &state).classes(), 9);
}
