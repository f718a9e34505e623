//! Slices of bandwidths that were measured: their noise must not become slices. Held against searches that know nothing
//! of how sizes are found.

use anabranch_plan::{Residual, SliceOrder, SlicePick, SliceRule, Slices, gcd, outside_bps, overflow_bps};
use proptest::prelude::*;

const M: u64 = 1_000_000;
/// Bandwidths count in whole Mbit/s here.
const RULE: SliceRule = SliceRule {
    pick: SlicePick::LeastLoss,
    order: SliceOrder::Interleaved,
    slice_min_bps: 7 * M,
    slice_max_bps: None,
    quantum_bps: Some(M),
    label_bits: 6,
    burst_ns: 1_000_000,
    frame_bytes: 1518,
};

fn residual(mbps: &[u64], measured: bool) -> Vec<Residual> {
    mbps.iter().map(|mbps| Residual { bps: mbps * M, measured }).collect()
}

fn cut(rule: &SliceRule, mbps: &[u64], measured: bool) -> Slices {
    rule.cut(&residual(mbps, measured)).unwrap().unwrap()
}

/// What slices of this size lose to waste and to meters with a burst of 1 ms, in bits per second.
fn loss(mbps: &[u64], slice_bps: u64) -> u64 {
    let depth_bytes = (slice_bps / 8000).max(2 * 1518);
    let each = |mbps: &u64| {
        let slices = mbps * M / slice_bps;
        mbps * M - slices * slice_bps + slices * overflow_bps(slice_bps, depth_bytes, 1518)
    };
    mbps.iter().map(each).sum()
}

#[test]
fn a_noisy_measurement_leaves_the_papers_slices() {
    let literal = SliceRule { pick: SlicePick::Literal, ..RULE };
    for noisy in [[601, 199, 200], [599, 200, 199], [604, 196, 200], [595, 203, 196], [600, 205, 210]] {
        let slices = cut(&RULE, &noisy, true);
        let counts = [0, 1, 2].map(|path| slices.of_path(path));
        assert_eq!(counts, [3, 1, 1], "{noisy:?}: {slices:?}");
        assert!(slices.waste_bps <= 20 * M, "{noisy:?}: {slices:?}");
        assert!(cut(&literal, &noisy, true).path_of.len() > 30, "{noisy:?}");
    }
    // The paper's example as it is, known or measured.
    for measured in [false, true] {
        assert_eq!(cut(&RULE, &[600, 200, 200], measured).slice_bps, 200 * M);
        assert_eq!(cut(&RULE, &[9000, 4000], measured).slice_bps, 1000 * M);
    }
}

#[test]
fn noise_whose_divisor_has_labels_is_noise_too() {
    // 20 divides all, and 50 slices of it have labels: right for rates of links, not for measurements.
    let noisy = [620, 200, 180];
    assert_eq!(cut(&RULE, &noisy, false).path_of.len(), 50);
    let slices = cut(&RULE, &noisy, true);
    assert_eq!(slices.path_of.len(), 11, "{slices:?}");
    assert!(slices.waste_bps < 30 * M, "{slices:?}");
}

#[test]
fn literal_takes_the_least_size_that_has_labels() {
    let rule = SliceRule {
        pick: SlicePick::Literal,
        slice_min_bps: 7,
        quantum_bps: Some(1),
        label_bits: 3,
        ..SliceRule::default()
    };
    let slices = rule.cut(&[0, 61, 23, 3].map(Residual::exact)).unwrap().unwrap();
    assert_eq!((slices.slice_bps, slices.path_of.len(), slices.waste_bps), (11, 7, 10));
}

#[test]
fn a_largest_slice_holds_for_measured_bandwidths_too() {
    for pick in [SlicePick::LeastLoss, SlicePick::MinWaste] {
        let rule = SliceRule { pick, slice_max_bps: Some(1000 * M), ..SliceRule::default() };
        let slices = cut(&rule, &[8990, 4020], true);
        assert!(slices.slice_bps <= 1000 * M && slices.path_of.len() < 60, "{pick:?} {slices:?}");
    }
}

#[test]
fn outside_traffic_counts_once_it_has_changed() {
    let of_a_gigabit = |before, measured| outside_bps(before * M, measured * M, 1000 * M, 0.05) / M;
    assert_eq!(of_a_gigabit(0, 400), 400);
    assert_eq!(of_a_gigabit(400, 449), 400);
    assert_eq!(of_a_gigabit(400, 451), 451);
    assert_eq!(of_a_gigabit(451, 402), 451);
    assert_eq!(of_a_gigabit(0, 40), 0);
    assert_eq!(of_a_gigabit(60, 24), 0, "the rest of a load that has ended");
    assert_eq!(outside_bps(0, 1, 1000 * M, 0.0), 1, "no hysteresis: all counts");
}

proptest! {
    #[test]
    fn known_rates_have_algorithm_1s_slices(
        slice in 20..400u64,
        counts in prop::collection::vec(1..9u64, 2..6),
    ) {
        let mbps: Vec<u64> = counts.iter().map(|count| count * slice).collect();
        let divisor = (1..=mbps[0]).rev().find(|size| mbps.iter().all(|path| path % size == 0)).unwrap();
        prop_assert_eq!(divisor, mbps.iter().copied().fold(0, gcd));
        prop_assert_eq!(cut(&RULE, &mbps, false).slice_bps, divisor * M);
    }

    #[test]
    fn literal_is_the_least_size_from_the_limit_up(
        paths in prop::collection::vec(0..400u64, 2..6),
        least in 2..20u64,
        label_bits in 2..5u32,
    ) {
        let rule = SliceRule {
            pick: SlicePick::Literal, slice_min_bps: least, quantum_bps: Some(1), label_bits, ..SliceRule::default()
        };
        let known: Vec<Residual> = paths.iter().copied().map(Residual::exact).collect();
        let Some(slices) = rule.cut(&known).unwrap().filter(|slices| slices.metered) else { return Ok(()) };
        let labels = (1 << label_bits) - 1;
        let fits = |size: u64| paths.iter().map(|bps| bps / size).sum::<u64>() <= labels;
        let divisor = paths.iter().copied().fold(0, gcd);
        let expected = if divisor >= least && fits(divisor) { divisor } else { (least..).find(|&size| fits(size)).unwrap() };
        prop_assert_eq!(slices.slice_bps, expected);
    }

    #[test]
    fn no_size_loses_less(paths in prop::collection::vec(0..1500u64, 2..6)) {
        let slices = cut_if_any(&paths);
        let Some(slices) = slices else { return Ok(()) };
        // The depth's cut to whole bytes is worth less than 1 in 1000 here.
        let found = loss(&paths, slices.slice_bps);
        let labelled = |size: &u64| paths.iter().map(|mbps| mbps * M / size).sum::<u64>() <= 63;
        let sizes = (7 * M..1500 * M).step_by(M as usize / 4);
        let best = sizes.filter(labelled).map(|size| loss(&paths, size)).min().unwrap();
        prop_assert!(found <= best + best / 1000, "{}: {found}, and {best} is possible", slices.slice_bps);
    }

    /// Noise of `noise` on each path costs as much bandwidth at most as it makes smaller slices, and a meter more is worth
    /// less than 6.1 Mbit/s of drops.
    #[test]
    fn noise_does_not_multiply_slices(
        slice in 100..400u64,
        counts in prop::collection::vec(1..6u64, 2..5),
        noise in prop::collection::vec(0..5u64, 4),
    ) {
        let truth: Vec<u64> = counts.iter().map(|count| count * slice).collect();
        let noisy: Vec<u64> = truth.iter().zip(&noise).map(|(path, noise)| path + noise - 2).collect();
        let [before, after] = [&truth, &noisy].map(|paths| cut(&RULE, paths, true).path_of.len() as u64);
        let lost = 2 * (noisy.len() as u64 + counts.iter().sum::<u64>());
        prop_assert!(after <= before + lost / 6 + 1, "{truth:?}: {before} slices, {noisy:?}: {after}");
    }
}

/// Slices of measured paths, if they are unlike.
fn cut_if_any(mbps: &[u64]) -> Option<Slices> {
    RULE.cut(&residual(mbps, true)).unwrap().filter(|slices| slices.metered)
}
