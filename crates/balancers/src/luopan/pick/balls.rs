//! Proposition 1 (appendix): balls into bins, where samples serve for k balls. The oracle is the fluid limit of d choices
//! (Mitzenmacher, "The power of two choices in randomized load balancing", TPDS 12(10), 2001), with no code of ours.

use super::Parameters;
use super::tests::Leaf;
use std::vec::Vec;

const BINS: u16 = 2000;
/// Runs to average over.
const RUNS: u64 = 5;

/// Part of the bins that have at least i balls after `balls` per bin, for i from 0 on:
/// ds(i)/dt = s(i - 1)^d - s(i)^d.
fn fluid(d: i32, balls: f64) -> [f64; 40] {
    const STEPS: u32 = 20_000;
    let mut s = [0.0f64; 40];
    s[0] = 1.0;
    for _ in 0..STEPS {
        let before = s;
        for (i, part) in s.iter_mut().enumerate().skip(1) {
            *part += balls / f64::from(STEPS) * (before[i - 1].powi(d) - before[i].powi(d));
        }
    }
    s
}

/// Balls in each bin, if Luopan's table places `balls` and asks anew for every k-th.
fn place(d: u16, k: u64, balls: u64, seed: u64) -> Vec<u32> {
    let parameters = Parameters { samples: d, expiry_ns: k, idle_ns: u64::MAX, ..Parameters::default() };
    let mut leaf = Leaf::new(parameters, vec![(0..BINS).collect()]);
    leaf.env.random = seed;
    let mut bins = vec![0; usize::from(BINS)];
    leaf.state.touch(0, 0);
    for ball in 0..balls {
        leaf.env.now_ns = ball;
        for (place, path) in (0..).zip(leaf.ask(0).1) {
            // Of equals the first is to take all balls of a sample; the table itself would draw one for each.
            leaf.answer(0, path, 64 * bins[usize::from(path)] + place);
        }
        bins[usize::from(leaf.pick(0))] += 1;
    }
    bins
}

/// Bins with at least i large balls of k each, mean of the runs.
fn at_least(d: u16, k: u64, large: u64) -> Vec<f64> {
    let mut found = vec![0.0; 40];
    for seed in 1..=RUNS {
        for bin in place(d, k, k * large, seed) {
            assert_eq!(bin % k as u32, 0, "all balls of a sample go to one bin");
            let large = (bin / k as u32) as usize;
            found.iter_mut().take(large + 1).for_each(|bins| *bins += 1.0 / RUNS as f64);
        }
    }
    found
}

#[test]
fn bins_fill_as_the_fluid_limit_says_however_often_a_sample_serves() {
    let n = f64::from(BINS);
    for d in [1, 2, 4] {
        let expected = fluid(d, 1.0);
        for k in [1, 3, 8] {
            let found = at_least(d as u16, k, BINS.into());
            for (i, (found, part)) in found.iter().zip(expected).enumerate() {
                // Five standard deviations of independent bins, which these are less than.
                let chance = 5.0 * (n * part * (1.0 - part) / RUNS as f64).max(1.0 / RUNS as f64).sqrt();
                assert!(
                    (found - n * part).abs() < chance,
                    "d {d}, k {k}, {i}: {found}, expected {}",
                    n * part
                );
            }
        }
    }
}

/// One choice leaves log n / log log n in the fullest bin, two choices log log n / log 2; and a sample that serves for far
/// more than log n balls is worse than none (the appendix' last paragraph).
#[test]
fn two_choices_beat_one_until_a_sample_serves_too_long() {
    let fullest =
        |d, k| (1..=RUNS).map(|seed| place(d, k, BINS.into(), seed).into_iter().max().unwrap_or(0)).max();
    let (one, two) = (fullest(1, 1), fullest(2, 1));
    assert!(one >= Some(6) && two <= Some(4), "{one:?} {two:?}");
    assert!(fullest(2, 2) <= one, "samples that serve twice");
    assert!(fullest(2, 16) > one, "samples that serve for 16 balls, twice log n");
}
