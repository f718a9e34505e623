//! Multi-plane fabrics: planes that meet in network cards only, each a leaf-spine fabric of its own.

use anabranch_fabric::capacity::{Reference, bisection_bps, reference_bps};
use anabranch_fabric::paths::path_counts;
use anabranch_fabric::topology::{LinkSettings, MultiPlane};
use anabranch_fabric::{Fabric, LinkState, NextHops, Rate, Tier};
use proptest::prelude::*;

const TEN: u64 = 10_000_000_000;

fn paths_between(fabric: &Fabric, state: &LinkState, src: u32, dst: u32) -> u64 {
    let hops = NextHops::shortest(fabric, state);
    let destination = hops.destination(fabric.leaf_of(dst)).unwrap();
    path_counts(fabric, &hops, destination)[hops.switch(fabric.leaf_of(src))]
}

/// Leaves and spines that are joined without network cards, as sorted lists of their names, sorted.
fn islands(fabric: &Fabric) -> Vec<Vec<&str>> {
    let tier = |node: u32| fabric.nodes()[node as usize].tier;
    let mut left: Vec<u32> =
        (0..fabric.nodes().len() as u32).filter(|&node| tier(node) >= Tier::Leaf).collect();
    let mut found = Vec::new();
    while let Some(first) = left.pop() {
        let (mut island, mut next) = (vec![first], 0);
        while let Some(&node) = island.get(next) {
            next += 1;
            for &port in fabric.ports_of(node) {
                let to = fabric.ports()[port as usize].to;
                if left.contains(&to) {
                    left.retain(|&node| node != to);
                    island.push(to);
                }
            }
        }
        let mut names: Vec<&str> =
            island.iter().map(|&node| fabric.nodes()[node as usize].name.as_str()).collect();
        names.sort_unstable();
        found.push(names);
    }
    found.sort_unstable();
    found
}

proptest! {
    #[test]
    fn planes_meet_in_network_cards_only_and_each_has_its_own_paths(
        planes in 1..5u32, leaves in 1..4u32, spines in 1..4u32, hosts_per_leaf in 1..4u32,
    ) {
        let shape = MultiPlane { planes, leaves, spines, hosts_per_leaf, ..MultiPlane::default() };
        let fabric = shape.build().unwrap();
        let hosts = leaves * hosts_per_leaf;
        prop_assert_eq!(fabric.hosts(), hosts);
        prop_assert_eq!(fabric.nodes().len() as u32, 2 * hosts + planes * (leaves + spines));
        prop_assert_eq!(fabric.ports().len() as u32, 2 * (hosts * (1 + planes) + planes * leaves * spines));
        let mut expected: Vec<Vec<String>> = (0..planes).map(|plane| {
            let mut names: Vec<String> = (0..leaves).map(|leaf| format!("leaf{plane}.{leaf}"))
                .chain((0..spines).map(|spine| format!("spine{plane}.{spine}"))).collect();
            names.sort_unstable();
            names
        }).collect();
        expected.sort_unstable();
        prop_assert_eq!(islands(&fabric), expected);
        let whole = LinkState::of(&fabric);
        for src in 0..hosts {
            for dst in (0..hosts).filter(|&dst| dst != src) {
                let same_leaf = src / hosts_per_leaf == dst / hosts_per_leaf;
                let paths = if same_leaf { planes } else { planes * spines };
                prop_assert_eq!(paths_between(&fabric, &whole, src, dst), u64::from(paths));
            }
        }
    }
}

#[test]
fn a_host_has_the_rate_of_its_ports_and_a_dead_port_takes_a_plane_from_it() {
    let shape = MultiPlane { planes: 4, leaves: 2, spines: 3, hosts_per_leaf: 4, ..MultiPlane::default() };
    let fabric = shape.build().unwrap();
    assert_eq!(reference_bps(&fabric, Reference::Host), 8 * 4 * TEN);
    assert_eq!(reference_bps(&fabric, Reference::Uplink), 4 * 2 * 3 * TEN);
    // Four hosts of each leaf face three spines in each of four planes.
    assert_eq!(bisection_bps(&fabric), 4 * 3 * TEN);
    let nic = fabric.leaf_of(0);
    let mut state = LinkState::of(&fabric);
    let dead = fabric
        .ports_of(nic)
        .iter()
        .find(|&&port| fabric.nodes()[fabric.ports()[port as usize].to as usize].name == "leaf2.0");
    state.up[*dead.unwrap() as usize] = false;
    assert_eq!(paths_between(&fabric, &state, 0, 7), 3 * 3);
    assert_eq!(paths_between(&fabric, &state, 7, 0), 3 * 3);
    assert_eq!(paths_between(&fabric, &state, 1, 7), 4 * 3);
}

/// A network card sends and receives; it is no bridge between planes, even where nothing else joins two hosts.
#[test]
fn no_path_leads_through_a_network_card() {
    let shape = MultiPlane { planes: 2, leaves: 2, spines: 1, hosts_per_leaf: 2, ..MultiPlane::default() };
    let fabric = shape.build().unwrap();
    let node = |name: &str| fabric.nodes().iter().position(|node| node.name == name).unwrap() as u32;
    let port = |from: &str, to: &str| {
        let ends = (node(from), node(to));
        fabric.ports().iter().position(|port| (port.from, port.to) == ends).unwrap()
    };
    let mut state = LinkState::of(&fabric);
    // Host 0 has plane 1 alone, host 3 has plane 0 alone.
    state.up[port("nic0", "leaf0.0")] = false;
    state.up[port("nic3", "leaf1.1")] = false;
    assert_eq!(paths_between(&fabric, &state, 0, 3), 0);
    assert_eq!(paths_between(&fabric, &state, 0, 2), 1);
    // Leaf 1.0 has lost its spine: what it has for host 2 does not go by host 1's card, through plane 0.
    let mut state = LinkState::of(&fabric);
    state.up[port("leaf1.0", "spine1.0")] = false;
    let hops = NextHops::shortest(&fabric, &state);
    let to = hops.destination(node("nic2")).unwrap();
    assert_eq!(hops.ports(node("leaf1.0"), to).count(), 0);
    assert_eq!(paths_between(&fabric, &state, 1, 2), 1);
}

#[test]
fn more_planes_than_a_card_can_have_are_refused() {
    let host_link =
        LinkSettings { rate: Rate::from_bps(10_000_000_000_000).unwrap(), ..LinkSettings::default() };
    let shape = MultiPlane { planes: 16, host_link, ..MultiPlane::default() };
    assert_eq!(
        shape.build().unwrap_err().to_string(),
        "planes: 16: the links of a host carry 160000000000000 bps together; they can have 100000000000000 bps in all"
    );
    assert_eq!(
        MultiPlane { planes: 0, ..MultiPlane::default() }.build().unwrap_err().to_string(),
        "planes: 0; give at least 1"
    );
}
