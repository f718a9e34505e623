//! Groups of small fabrics worked out by hand, and polarisation where it is known to happen.

use crate::{Groups, Probe, Weighing, upward_use};
use anabranch_fabric::topology::{FatTree, LeafSpine};
use anabranch_fabric::{Fabric, LinkState, Rate};

fn fabric() -> Fabric {
    LeafSpine { leaves: 3, spines: 4, hosts_per_leaf: 2, ..LeafSpine::default() }.build().unwrap()
}

/// Weights of leaf 0 towards leaf `to`.
fn weights(fabric: &Fabric, state: &LinkState, weighing: &Weighing, to: u32) -> Vec<u64> {
    let groups = Groups::plan(fabric, state, weighing);
    groups.group(fabric.hosts(), to).members.iter().map(|member| member.weight).collect()
}

/// The port from leaf `leaf` to spine `spine`.
fn up(fabric: &Fabric, leaf: u32, spine: u32) -> u32 {
    let (from, to) = (fabric.hosts() + leaf, fabric.hosts() + 3 + spine);
    fabric.ports().iter().position(|port| (port.from, port.to) == (from, to)).unwrap() as u32
}

#[test]
fn capacity_weights_see_the_near_and_the_far_end() {
    let fabric = fabric();
    let mut state = LinkState::of(&fabric);
    assert_eq!(weights(&fabric, &state, &Weighing::Capacity, 1), [1, 1, 1, 1]);
    // The own uplink at half rate counts towards everyone.
    state.rate[up(&fabric, 0, 1) as usize] = Rate::from_bps(5_000_000_000).unwrap();
    assert_eq!(weights(&fabric, &state, &Weighing::Capacity, 1), [2, 1, 2, 2]);
    // A far downlink at a tenth counts only towards the leaf behind it.
    let far = fabric.ports()[up(&fabric, 2, 3) as usize].reverse;
    state.rate[far as usize] = Rate::from_bps(1_000_000_000).unwrap();
    assert_eq!(weights(&fabric, &state, &Weighing::Capacity, 1), [2, 1, 2, 2]);
    assert_eq!(weights(&fabric, &state, &Weighing::Capacity, 2), [10, 5, 10, 1]);
    assert_eq!(weights(&fabric, &state, &Weighing::Equal, 2), [1, 1, 1, 1]);
}

#[test]
fn a_dead_far_link_is_no_next_hop() {
    let fabric = fabric();
    let mut state = LinkState::of(&fabric);
    state.up[up(&fabric, 2, 0) as usize] = false;
    let groups = Groups::plan(&fabric, &state, &Weighing::Equal);
    assert_eq!(groups.group(fabric.hosts(), 1).members.len(), 4);
    assert_eq!(groups.group(fabric.hosts(), 2).members.len(), 3);
    assert!(groups.group(fabric.hosts(), 0).members.is_empty(), "its own hosts");
}

#[test]
fn given_weights_are_shared_by_parallel_links() {
    let shape =
        LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 1, parallel_links: 2, ..LeafSpine::default() };
    let fabric = shape.build().unwrap();
    let state = LinkState::of(&fabric);
    let (leaf, spine) = (fabric.hosts(), fabric.hosts() + 2);
    assert_eq!(weights(&fabric, &state, &Weighing::Given(vec![(leaf, spine, 3)]), 1), [3, 3, 1, 1]);
}

#[test]
fn one_salt_for_all_idles_the_core_and_salts_of_their_own_do_not() {
    let fabric = FatTree { k: 8, ..FatTree::default() }.build().unwrap();
    let groups = Groups::plan(&fabric, &LinkState::of(&fabric), &Weighing::Equal);
    let same = upward_use(&fabric, &groups, |probe, _| probe.ideal_hash(7));
    assert!(!same[0].is_polarised(), "leaves are the first to choose: {same:?}");
    // An aggregation sees only the quarter of the hashes that led to it, and all of them choose one core of four.
    assert_eq!(same[1].starved * 4, same[1].next_hops * 3, "{same:?}");
    let own = |probe: &Probe, switch: u32| probe.ideal_hash(switch.wrapping_mul(0x9e37_79b9));
    assert!(upward_use(&fabric, &groups, own).iter().all(|tier| tier.starved == 0));
}
