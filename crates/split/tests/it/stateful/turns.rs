//! Sequences and quotas: every prefix within one of every quota.

use anabranch_split::apportion::{quotas, turns};
use anabranch_split::picks::deficit::first_due;
use anabranch_split::{Batch, Group, Members, Parameters, Weights};
use proptest::prelude::*;
use rand_pcg::Pcg64Mcg;

fn mix(i: u64) -> u64 {
    let z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Largest `|a_i(t) - q_i t|` over all prefixes and members, times the sum of weights: exact in integers.
fn furthest_from_quota(weights: &[u64], turns: impl Iterator<Item = u16>) -> u64 {
    let sum = weights.iter().sum::<u64>() as i64;
    let mut over = vec![0i64; weights.len()];
    let mut furthest = 0;
    for turn in turns {
        for (o, &w) in over.iter_mut().zip(weights) {
            *o -= w as i64;
        }
        over[usize::from(turn)] += sum;
        furthest = over.iter().map(|o| o.unsigned_abs()).max().unwrap().max(furthest);
    }
    furthest
}

fn deficit_sequence(weights: &[u64], flows: usize) -> Vec<u16> {
    let members = Members::all_up(Weights::new(weights.to_vec()).unwrap());
    let deficit = Group::new("deficit", &members, &Parameters::default()).unwrap();
    let keys = (0..flows as u64).map(mix).collect::<Vec<_>>();
    let mut out = vec![0; flows];
    deficit.pick_batch(&Batch::of_flows(&keys), &mut out);
    out
}

fn weights() -> impl Strategy<Value = Vec<u64>> {
    let few_values = prop::collection::vec(prop::sample::select(vec![0u64, 1, 2, 7, 60, 62, 100]), 1..24);
    prop_oneof![prop::collection::vec(0u64..=100, 1..64), few_values]
        .prop_filter("one is positive", |w| w.iter().any(|&w| w > 0))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn smooth_turns_stay_within_one_of_quota(weights in weights()) {
        let sum = weights.iter().sum::<u64>();
        let turns = turns::smooth(&weights).unwrap();
        prop_assert_eq!(sum % turns.len() as u64, 0);
        prop_assert!(furthest_from_quota(&weights, turns.iter().copied()) < sum);
        for (i, &w) in weights.iter().enumerate() {
            let count = turns.iter().filter(|&&t| usize::from(t) == i).count() as u64;
            prop_assert_eq!(count * sum, w * turns.len() as u64);
        }
    }

    #[test]
    fn deficit_stays_within_one_of_quota(weights in weights()) {
        let sum = weights.iter().sum::<u64>();
        prop_assert!(furthest_from_quota(&weights, deficit_sequence(&weights, 8000).into_iter()) < sum);
    }
}

#[test]
fn a_thousand_paths_stay_within_one_of_quota() {
    let mut rng = Pcg64Mcg::new(7);
    for spread in [1, 3, 1000] {
        let weights = (0..1024).map(|_| rng.next_u64() % spread + 1).collect::<Vec<_>>();
        let sum = weights.iter().sum::<u64>();
        let turns = turns::smooth(&weights).unwrap();
        let part = turns.iter().copied().take(20_000);
        assert!(furthest_from_quota(&weights, part) < sum);
        assert!(furthest_from_quota(&weights, deficit_sequence(&weights, 5000).into_iter()) < sum);
    }
}

/// Checks the rule that the quota method replaces: largest `q_i (A+1) - a_i`.
#[test]
fn largest_deficit_leaves_the_quota_where_the_quota_method_does_not() {
    let weights = [1, 62, 1, 62, 8];
    let sum = weights.iter().sum::<u64>() as i64;
    let mut behind = [0i64; 5];
    let greedy = (0..sum).map(|_| {
        for (b, &w) in behind.iter_mut().zip(&weights) {
            *b += w as i64;
        }
        let most = (0..5).rev().max_by_key(|&i| behind[i]).unwrap();
        behind[most] -= sum;
        most as u16
    });
    let greedy = furthest_from_quota(&weights, greedy) as f64 / sum as f64;
    assert!(greedy > 1.14 && greedy < 1.16, "{greedy}");
    assert!(furthest_from_quota(&weights, deficit_sequence(&weights, 134).into_iter()) < sum as u64);
}

#[test]
fn orders_of_4_3_2() {
    assert_eq!(turns::block(&[4, 3, 2]).unwrap(), [0, 0, 0, 0, 1, 1, 1, 2, 2]);
    assert_eq!(turns::block(&[8, 6, 4]).unwrap().len(), 9);
    assert_eq!(turns::block(&[0, 5, 0]).unwrap(), [1]);
    assert_eq!(turns::smooth(&[1, 1, 1]).unwrap(), [0, 1, 2]);
    assert_eq!(turns::smooth(&[0, 7]).unwrap(), [1]);
}

#[test]
fn too_long_a_round_says_what_to_use() {
    let ten_million = 10_000_019;
    let error = turns::smooth(&[ten_million, 9_999_991]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "weights: a round of 20000010 turns, more than the 16777216 that wrr stores; use technique `deficit`, which \
         needs no sequence, or weights with a common divisor"
    );
    assert!(turns::smooth(&[ten_million * 8, ten_million]).is_ok());
    assert_eq!(turns::smooth(&[(1 << 24) - 1, 1]).unwrap().len(), 1 << 24);
}

#[test]
fn one_huge_weight_leaves_the_rest_reachable() {
    let weights = [1, 1_000_000_000, 0, 1];
    let periods = quotas::periods(&weights);
    let mut active = [0u32, 1_000_000_000, 0, 1];
    assert_eq!(first_due(&periods, &active, 1_000_000_001), 0);
    active[0] = 1;
    assert_eq!(first_due(&periods, &active, 1_000_000_002), 1);
}
