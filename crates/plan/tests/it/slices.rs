//! Wino's slices for the residual bandwidths that its paper works with.

use anabranch_plan::{Residual, SliceOrder, SlicePick, SliceRule, Slices};
use proptest::prelude::*;

const M: u64 = 1_000_000;
const G: u64 = 1000 * M;

fn cut(rule: &SliceRule, mbps: &[u64]) -> Slices {
    rule.cut(&exact(&mbps.iter().map(|mbps| mbps * M).collect::<Vec<_>>())).unwrap().unwrap()
}

fn exact(bps: &[u64]) -> Vec<Residual> {
    bps.iter().copied().map(Residual::exact).collect()
}

/// Size in Mbit/s, slices by path, waste in Mbit/s.
fn summary(slices: &Slices, paths: u16) -> (u64, Vec<usize>, u64) {
    (slices.slice_bps / M, (0..paths).map(|path| slices.of_path(path)).collect(), slices.waste_bps / M)
}

#[test]
fn slices_of_the_papers_examples() {
    let rule = SliceRule::default();
    let sizes = |mbps: &[u64]| summary(&cut(&rule, mbps), mbps.len() as u16);
    assert_eq!(sizes(&[600, 200, 200]), (200, vec![3, 1, 1], 0));
    assert_eq!(sizes(&[10_000, 5000]), (5000, vec![2, 1], 0));
    assert_eq!(sizes(&[9000, 4000]), (1000, vec![9, 4], 0));
    assert_eq!(sizes(&[10_000, 1000]), (1000, vec![10, 1], 0));
    let eight = [10_000, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000, 2000];
    assert_eq!(sizes(&eight), (2000, vec![5, 5, 5, 5, 5, 5, 5, 5, 1], 0));
}

#[test]
fn the_testbeds_15_slices_need_an_upper_bound() {
    let rule = SliceRule { slice_max_bps: Some(G), ..SliceRule::default() };
    assert_eq!(summary(&cut(&rule, &[10_000, 5000]), 2), (1000, vec![10, 5], 0));
    // The largest divisor of the common divisor, not the bound itself.
    let rule = SliceRule { slice_max_bps: Some(800 * M), ..SliceRule::default() };
    assert_eq!(summary(&cut(&rule, &[9000, 6000]), 2), (750, vec![12, 8], 0));
    // 6 bits name 63 slices: 13,000 / 63 is above 200, so divisors of 1000 end at 250.
    let rule = SliceRule { slice_max_bps: Some(100 * M), ..SliceRule::default() };
    assert_eq!(summary(&cut(&rule, &[9000, 4000]), 2), (250, vec![36, 16], 0));
    let rule = SliceRule { slice_max_bps: Some(M), ..SliceRule::default() };
    assert!(rule.cut(&exact(&[9 * G, 4 * G])).is_err(), "below the least slice");
}

#[test]
fn a_least_slice_wastes_and_min_waste_wastes_less() {
    let literal = SliceRule { pick: SlicePick::Literal, slice_min_bps: 2 * G, ..SliceRule::default() };
    assert_eq!(summary(&cut(&literal, &[9000, 4000]), 2), (2000, vec![4, 2], 1000));
    let least = SliceRule { pick: SlicePick::MinWaste, ..literal };
    // 2250 wastes 1750, 4500 wastes 4000, 3000 and 2000 and 4000 waste 1000: the largest of those.
    assert_eq!(summary(&cut(&least, &[9000, 4000]), 2), (4000, vec![2, 1], 1000));
    // The common divisor is 10 Mbit/s and has no labels. Just above 9970 / 46 there are 45 + 18.
    let labelled = SliceRule { pick: SlicePick::Literal, ..SliceRule::default() };
    assert_eq!(summary(&cut(&labelled, &[9970, 4010]), 2), (216, vec![45, 18], 325));
    let least = SliceRule { pick: SlicePick::MinWaste, ..SliceRule::default() };
    let slices = cut(&least, &[9970, 4010]);
    assert!(slices.path_of.len() <= 63 && slices.waste_bps < 60 * M, "{slices:?}");
    // A path below the slice has none.
    assert_eq!(summary(&cut(&literal, &[9000, 1000]), 2), (2000, vec![4, 0], 2000));
}

#[test]
fn residuals_are_rounded_down_to_the_quantum() {
    let slices = SliceRule::default().cut(&exact(&[9 * G + 9_999_999, 4 * G + 1])).unwrap().unwrap();
    assert_eq!(slices.slice_bps, G);
    let slices = SliceRule::default().cut(&exact(&[600 * M + 999_999, 200 * M, 200 * M])).unwrap().unwrap();
    assert_eq!(slices.slice_bps, 200 * M);
}

#[test]
fn slices_take_turns_or_blocks() {
    let rule = SliceRule::default();
    assert_eq!(cut(&rule, &[600, 200, 200]).path_of, [0, 1, 2, 0, 0]);
    let block = SliceRule { order: SliceOrder::Block, ..rule };
    assert_eq!(cut(&block, &[600, 200, 200]).path_of, [0, 0, 0, 1, 2]);
}

#[test]
fn symmetric_paths_are_sprayed_without_meters() {
    let rule = SliceRule { slice_max_bps: Some(G), ..SliceRule::default() };
    let slices = cut(&rule, &[10_000, 10_000, 0]);
    assert_eq!(summary(&slices, 3), (10_000, vec![1, 1, 0], 0));
    assert!(!slices.metered);
    assert!(cut(&rule, &[10_000, 5000]).metered);
    assert_eq!(rule.cut(&exact(&[0, M / 2])), Ok(None), "less than a quantum");
}

#[test]
fn a_network_has_one_size() {
    let pairs = [vec![10 * G, 5 * G], vec![10 * G, 4 * G], vec![10 * G, 10 * G], vec![]];
    let all = SliceRule::default().cut_all(&pairs.map(|pair| exact(&pair))).unwrap();
    assert_eq!(all[3], None, "a leaf and itself");
    let all: Vec<Slices> = all.into_iter().flatten().collect();
    assert_eq!(summary(&all[0], 2), (1000, vec![10, 5], 0));
    assert_eq!(summary(&all[1], 2), (1000, vec![10, 4], 0));
    assert!(!all[2].metered, "no asymmetry there");
}

proptest! {
    #[test]
    fn slices_fit_their_paths_and_their_labels(
        paths in prop::collection::vec(prop_oneof![Just(0u64), Just(1000), Just(10_000), 1..40_000u64], 1..9),
        pick in proptest::sample::select(SlicePick::ALL.to_vec()),
        order in prop_oneof![Just(SliceOrder::Interleaved), Just(SliceOrder::Block)],
        slice_max in prop_oneof![Just(None), (7..2000u64).prop_map(Some)],
    ) {
        let rule = SliceRule { pick, order, slice_max_bps: slice_max.map(|mbps| mbps * M), ..SliceRule::default() };
        let residual: Vec<u64> = paths.iter().map(|mbps| mbps * M).collect();
        let Ok(Some(slices)) = rule.cut(&exact(&residual)) else { return Ok(()) };
        prop_assert!(slices.path_of.len() <= 63);
        let mut covered = 0;
        for (path, &bps) in (0u16..).zip(&residual) {
            let used = slices.of_path(path) as u64 * slices.slice_bps;
            prop_assert!(used <= bps);
            covered += used;
        }
        prop_assert!(covered + slices.waste_bps <= residual.iter().sum::<u64>());
        if slices.metered {
            prop_assert!(slices.slice_bps >= rule.slice_min_bps);
        }
    }
}
