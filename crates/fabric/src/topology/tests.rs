//! Counts, capacities and paths, compared with what the published fabrics state.

use super::*;
use crate::capacity::{Reference, bisection_bps, reference_bps};
use crate::paths::{path, path_counts};
use crate::{Fabric, LinkState, NextHops, Tier};

const TEN: u64 = 10_000_000_000;

fn count(fabric: &Fabric, tier: Tier) -> usize {
    fabric.nodes().iter().filter(|node| node.tier == tier).count()
}

/// Number of shortest paths between the leaves of two hosts.
fn paths_between(fabric: &Fabric, src: u32, dst: u32) -> u64 {
    let hops = NextHops::shortest(fabric, &LinkState::of(fabric));
    let destination = hops.destination(fabric.leaf_of(dst)).unwrap();
    path_counts(fabric, &hops, destination)[hops.switch(fabric.leaf_of(src))]
}

#[test]
fn a_fat_tree_of_twelve_ports_is_the_one_of_the_luopan_paper() {
    let fabric = FatTree { k: 12, ..FatTree::default() }.build().unwrap();
    assert_eq!(fabric.hosts(), 432);
    let tiers = [Tier::Leaf, Tier::Aggregation, Tier::Spine].map(|tier| count(&fabric, tier));
    assert_eq!(tiers, [72, 72, 36]);
    assert_eq!(paths_between(&fabric, 0, 431), 36);
    assert_eq!(paths_between(&fabric, 0, 6), 6, "another leaf of the pod");
    assert_eq!(paths_between(&fabric, 0, 1), 1, "the same leaf");
    // Full bisection: half of all hosts at full rate, each way.
    assert_eq!(bisection_bps(&fabric), 216 * TEN);
    assert_eq!(reference_bps(&fabric, Reference::Uplink), 432 * TEN);
    let dense = FatTree { k: 12, hosts_per_leaf: 24, ..FatTree::default() }.build().unwrap();
    assert_eq!(dense.hosts(), 1728);
    assert_eq!(reference_bps(&dense, Reference::Host), 4 * reference_bps(&dense, Reference::Uplink));
}

#[test]
fn parallel_links_are_paths_of_their_own() {
    let fabric =
        LeafSpine { leaves: 3, spines: 2, parallel_links: 3, ..LeafSpine::default() }.build().unwrap();
    assert_eq!(paths_between(&fabric, 0, 23), 2 * 3 * 3);
    assert_eq!(reference_bps(&fabric, Reference::Uplink), 3 * 2 * 3 * TEN);
}

#[test]
fn vl2_and_dumbbell_count_as_described() {
    let vl2 = Vl2 { leaves: 8, aggregations: 4, intermediates: 3, ..Vl2::default() }.build().unwrap();
    // Leaves 0 and 1 share no aggregation: two ways up, three across, two down.
    assert_eq!(paths_between(&vl2, 0, 8), 12);
    // Leaves 0 and 2 share both: no need to climb to the top.
    assert_eq!(paths_between(&vl2, 0, 16), 2);
    let dumbbell = Dumbbell { hosts_per_side: 5, ..Dumbbell::default() }.build().unwrap();
    assert_eq!((dumbbell.hosts(), paths_between(&dumbbell, 0, 9)), (10, 1));
    assert_eq!(bisection_bps(&dumbbell), TEN);
}

#[test]
fn every_path_is_found_once_and_its_labels_lead_along_it() {
    let fabric = Clos { pods: 3, cores_per_aggregation: 3, ..Clos::default() }.build().unwrap();
    let hops = NextHops::shortest(&fabric, &LinkState::of(&fabric));
    for destination in 0..hops.leaves.len() as u32 {
        let counts = path_counts(&fabric, &hops, destination);
        for &from in &hops.leaves {
            let mut found = std::collections::BTreeSet::new();
            for index in 0..counts[hops.switch(from)] {
                let path = path(&fabric, &hops, &counts, from, destination, index).unwrap();
                // Walk by the labels alone.
                let (mut node, mut labels) = (from, path.labels);
                let mut walked = Vec::new();
                while node != hops.leaves[destination as usize] {
                    let ports: Vec<u32> = hops.ports(node, destination).collect();
                    let choice = if ports.len() > 1 { labels & 0xff } else { 0 };
                    labels >>= if ports.len() > 1 { 8 } else { 0 };
                    walked.push(ports[choice as usize]);
                    node = fabric.ports()[ports[choice as usize] as usize].to;
                }
                assert_eq!(walked, path.ports);
                assert!(found.insert(path.ports));
            }
            assert_eq!(found.len() as u64, counts[hops.switch(from)]);
        }
    }
}

#[test]
fn sizes_that_make_no_fabric_are_refused_by_key() {
    let error = |fabric: Result<Fabric, crate::FabricError>| fabric.unwrap_err().to_string();
    assert_eq!(error(LeafSpine { spines: 0, ..LeafSpine::default() }.build()), "spines: 0; give at least 1");
    assert_eq!(
        error(FatTree { k: 5, ..FatTree::default() }.build()),
        "k: 5; give an even number of ports, 2 or more"
    );
    assert!(
        error(LeafSpine { leaves: 4096, hosts_per_leaf: 4096, ..LeafSpine::default() }.build())
            .contains("nodes")
    );
    assert_eq!(
        error(LeafSpine { parallel_links: u32::MAX, ..LeafSpine::default() }.build()),
        "68719476752 links; build one of at most 2097152 links"
    );
    assert!(
        error(LeafSpine { leaves: 2, spines: 300, parallel_links: 300, ..LeafSpine::default() }.build())
            .starts_with("switch leaf0: it has 90008 ports;")
    );
}

#[test]
fn a_host_hangs_on_a_switch() {
    let dumbbell = Dumbbell { hosts_per_side: 1, ..Dumbbell::default() }.build().unwrap();
    let (nodes, ports) = (dumbbell.nodes()[..2].to_vec(), &dumbbell.ports()[..2]);
    let mut ports = ports.to_vec();
    (ports[0].to, ports[1].from) = (1, 1);
    let error = Fabric::new(nodes, ports).unwrap_err().to_string();
    assert!(
        error.starts_with("host host0: its link leads to a host; give every host exactly one link"),
        "{error}"
    );
}
