//! Patterns of senders and receivers.

use super::setup::{fat_tree, leaf_spine, poisson};
use anabranch_fabric::Fabric;
use anabranch_traffic::sizes::Sizes;
use anabranch_traffic::workload::{Amount, Arrivals, Once};
use anabranch_traffic::{Flow, Pattern, Workload};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn flows(fabric: &Fabric, pattern: Pattern, count: u64) -> Vec<Flow> {
    let workload = poisson(pattern, Arrivals::PerSecond(1e6), Amount::Count(count));
    Workload::Poisson(workload).flows(fabric, 1).unwrap()
}

/// Checks that every possible pair occurs, and equally often: chi-square at 4 deviations.
fn are_uniform(flows: &[Flow], pairs: usize) {
    let mut seen: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for flow in flows {
        *seen.entry((flow.src, flow.dst)).or_default() += 1.0;
    }
    assert_eq!(seen.len(), pairs);
    let expected = flows.len() as f64 / pairs as f64;
    let chi: f64 = seen.values().map(|n| (n - expected).powi(2) / expected).sum();
    let freedom = (pairs - 1) as f64;
    assert!((chi - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(), "chi-square {chi} of {freedom}");
}

#[test]
fn allowed_pairs_are_equally_frequent_and_no_others_occur() {
    let (flat, deep) = (leaf_spine(), fat_tree());
    let n = 200_000;
    are_uniform(&flows(&flat, Pattern::RandomPairs, n), 32 * 31);
    are_uniform(&flows(&flat, Pattern::AllToAll, n), 32 * 31);
    let inter_rack = flows(&flat, Pattern::InterRack, n);
    assert!(inter_rack.iter().all(|flow| flat.leaf_of(flow.src) != flat.leaf_of(flow.dst)));
    are_uniform(&inter_rack, 32 * 24);
    let inter_pod = flows(&deep, Pattern::InterPod, n);
    assert!(inter_pod.iter().all(|flow| flow.src / 4 != flow.dst / 4));
    are_uniform(&inter_pod, 16 * 12);
    let left_to_right = flows(&flat, Pattern::LeftToRight, n);
    assert!(left_to_right.iter().all(|flow| flow.src < 16 && flow.dst >= 16));
    are_uniform(&left_to_right, 16 * 16);
    let into_pod = flows(&deep, Pattern::IntoPod(1), n);
    assert!(into_pod.iter().all(|flow| flow.src / 4 != 1 && flow.dst / 4 == 1));
    are_uniform(&into_pod, 12 * 4);
    are_uniform(&flows(&flat, Pattern::Pairs(vec![(3, 9), (9, 3), (3, 4)]), n), 3);
}

#[test]
fn a_permutation_is_one_cycle_fixed_by_the_seed() {
    let fabric = leaf_spine();
    let to = |seed| {
        let once = Once { pattern: Pattern::Permutation, sizes: Sizes::Fixed(1), start_ps: 5, transport: 0 };
        let flows = Workload::Once(once).flows(&fabric, seed).unwrap();
        assert!((0..).zip(&flows).all(|(host, flow)| flow.src == host && flow.job == Some(0)));
        flows.iter().map(|flow| flow.dst).collect::<Vec<u32>>()
    };
    let next = to(1);
    let mut host = 0;
    let visited: BTreeSet<u32> = (0..32)
        .map(|_| {
            host = next[host as usize];
            host
        })
        .collect();
    assert_eq!(visited.len(), 32);
    assert_eq!(to(1), next);
    assert_ne!(to(2), next);
}

#[test]
fn all_to_all_once_is_every_ordered_pair() {
    let once = Once { pattern: Pattern::AllToAll, sizes: Sizes::Fixed(9), start_ps: 0, transport: 2 };
    let flows = Workload::Once(once).flows(&fat_tree(), 1).unwrap();
    let pairs: BTreeSet<(u32, u32)> = flows.iter().map(|flow| (flow.src, flow.dst)).collect();
    assert_eq!((flows.len(), pairs.len()), (240, 240));
    assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.size_bytes == 9 && flow.transport == 2));
}

#[test]
fn patterns_that_the_fabric_cannot_carry_are_refused() {
    let one_rack = anabranch_fabric::topology::LeafSpine { leaves: 1, ..Default::default() }.build().unwrap();
    for (fabric, pattern, part) in [
        (&one_rack, Pattern::InterRack, "one rack"),
        (&one_rack, Pattern::LeftToRight, "one rack"),
        (&leaf_spine(), Pattern::InterPod, "without two pods"),
        (&leaf_spine(), Pattern::IntoPod(0), "no such pod"),
        (&fat_tree(), Pattern::IntoPod(4), "no such pod"),
        (&fat_tree(), Pattern::Stride(32), "stride 32"),
        (&fat_tree(), Pattern::Pairs(vec![(0, 1), (2, 16)]), "hosts 2 and 16"),
        (&fat_tree(), Pattern::Pairs(vec![(5, 5)]), "hosts 5 and 5"),
        (&fat_tree(), Pattern::Pairs(vec![]), "no pairs"),
    ] {
        let once = Once { pattern, sizes: Sizes::Fixed(1), start_ps: 0, transport: 0 };
        let error = Workload::Once(once).flows(fabric, 1).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("; "), "{error}");
    }
}

proptest! {
    #[test]
    fn a_stride_gives_every_host_one_sender(stride in 1u32..1000, seed in any::<u64>()) {
        prop_assume!(stride % 32 != 0);
        let once = Once { pattern: Pattern::Stride(stride), sizes: Sizes::Fixed(1), start_ps: 0, transport: 0 };
        let flows = Workload::Once(once).flows(&leaf_spine(), seed).unwrap();
        prop_assert!(flows.iter().all(|flow| flow.dst == (flow.src + stride) % 32));
        prop_assert_eq!(flows.iter().map(|flow| flow.dst).collect::<BTreeSet<_>>().len(), 32);
    }
}
