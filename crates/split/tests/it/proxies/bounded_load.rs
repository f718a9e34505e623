//! Bounded load against its bound in whole numbers, against the best of the members below it, and against the ring that
//! Mirrokni, Thorup and Zadimoghaddam walk (2018, section 1: clockwise to the first bin that is not full).

use anabranch_split::{Group, Members, Parameters, Weights};
use proptest::prelude::*;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// `eps` in units of 2^-20, as the group counts it.
const UNIT: u64 = 1 << 20;

fn members(weights: &[u64], up: &[bool]) -> Members {
    Members::new(Weights::new(weights.to_vec()).unwrap(), up.to_vec()).unwrap()
}

/// Connections that a member may have when one more comes to `live` of them.
fn bound(weights: &[u64], member: usize, live: u64, eps: u64) -> u64 {
    let sum = u128::from(weights.iter().sum::<u64>()) * u128::from(UNIT);
    let allowed = u128::from(UNIT + eps) * u128::from(weights[member]) * u128::from(live + 1);
    allowed.div_ceil(sum) as u64
}

proptest! {
    #[test]
    fn no_member_is_above_its_bound_and_own_picks_stand(
        technique in prop_oneof![Just("min-move"), Just("log-rendezvous"), Just("maglev")],
        weights in prop::collection::vec(1u64..50, 2..9),
        dead in 0usize..12,
        eps in 1u64..2 * UNIT,
        seed in any::<u64>(),
        steps in 1usize..400,
    ) {
        let up = (0..weights.len()).map(|member| member != dead).collect::<Vec<_>>();
        let group = Group::new(technique, &members(&weights, &up), &Parameters::default()).unwrap();
        let left = group.members().effective();
        let mut random = Pcg64::seed_from_u64(seed);
        // Connections that a dead member kept count for nothing.
        let mut loads = up.iter().map(|&up| if up { 0 } else { 1000 }).collect::<Vec<u64>>();
        for _ in 0..steps {
            let key = random.next_u64();
            let live = (0..loads.len()).filter(|&member| up[member]).map(|member| loads[member]).sum();
            let open = |member: usize| loads[member] < bound(&left, member, live, eps);
            let member = usize::from(group.pick_bounded(key, &loads, eps as f64 / UNIT as f64).unwrap());
            prop_assert!(open(member), "{member} with {loads:?} of {left:?}");
            let own = usize::from(group.pick(key));
            prop_assert!(member == own || !open(own));
            if technique == "log-rendezvous" {
                let rest = (0..up.len()).map(|member| up[member] && open(member)).collect::<Vec<_>>();
                group_of_rest(&weights, &rest, key, member)?;
            }
            loads[member] += 1;
            // Some of them end.
            let ending = random.next_u64() as usize % loads.len();
            if random.next_u64().is_multiple_of(3) && up[ending] {
                loads[ending] = loads[ending].saturating_sub(1);
            }
        }
    }
}

/// The best member of those below their bounds is the pick of a group in which the others have failed.
fn group_of_rest(weights: &[u64], rest: &[bool], key: u64, member: usize) -> Result<(), TestCaseError> {
    let group = Group::new("log-rendezvous", &members(weights, rest), &Parameters::default()).unwrap();
    prop_assert_eq!(usize::from(group.pick(key)), member);
    Ok(())
}

/// Bins on a ring, in their order.
struct Ring(Vec<(u64, usize)>);

impl Ring {
    fn new(bins: usize, random: &mut Pcg64) -> Self {
        let mut points = (0..bins).map(|bin| (random.next_u64(), bin)).collect::<Vec<_>>();
        points.sort_unstable();
        Self(points)
    }

    fn pick(&self, key: u64, open: impl Fn(usize) -> bool) -> usize {
        let first = self.0.partition_point(|&(point, _)| point < key);
        let clockwise = self.0[first..].iter().chain(&self.0[..first]);
        clockwise.map(|&(_, bin)| bin).find(|&bin| open(bin)).unwrap()
    }
}

/// Bins of the connections of `keys`, which come one after the other.
fn placed(keys: &[u64], bins: usize, pick: impl Fn(u64, &[u64]) -> usize) -> Vec<usize> {
    let mut loads = vec![0; bins];
    let mut place = |&key: &u64| {
        let bin = pick(key, &loads);
        loads[bin] += 1;
        bin
    };
    keys.iter().map(&mut place).collect()
}

/// Part of `keys` that is not where it would be without a bound, and connections that move where one is taken away.
fn forwarded_and_moved(
    keys: &[u64],
    bins: usize,
    pick: impl Fn(u64, &[u64]) -> usize,
    own: impl Fn(u64) -> usize,
) -> (f64, f64) {
    const REMOVED: usize = 40;
    let before = placed(keys, bins, &pick);
    let forwarded = keys.iter().zip(&before).filter(|&(&key, &bin)| own(key) != bin).count();
    let mut moved = 0;
    for removed in (0..REMOVED).map(|i| i * keys.len() / REMOVED) {
        let mut rest = keys.to_vec();
        rest.remove(removed);
        let mut after = placed(&rest, bins, &pick);
        after.insert(removed, before[removed]);
        moved += before.iter().zip(&after).filter(|(a, b)| a != b).count();
    }
    (forwarded as f64 / keys.len() as f64, moved as f64 / REMOVED as f64)
}

#[test]
fn what_makes_no_bound_is_refused() {
    let all = members(&[4, 3], &[true; 2]);
    let group = Group::new("min-move", &all, &Parameters::default()).unwrap();
    let error = |group: &Group, loads: &[u64], eps| group.pick_bounded(1, loads, eps).unwrap_err().problem;
    for eps in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-7, 1025.0] {
        assert_eq!(error(&group, &[0, 0], eps), format!("eps: {eps} is no bound"));
    }
    assert_eq!(error(&group, &[0], 0.5), "loads: 1 for 2 paths");
    assert_eq!(error(&group, &[1 << 44, 0], 0.5), "loads: 17592186044416 live connections");
    assert!(error(&group, &[u64::MAX, u64::MAX], 0.5).starts_with("loads: "));
    let remembers = Group::new("wrr", &all, &Parameters::default()).unwrap();
    assert!(error(&remembers, &[0, 0], 0.5).starts_with("pick_bounded: wrr remembers flows"));
}

/// Where all but one are full, attempts by other hashes end and members come in turn.
#[test]
fn the_last_member_that_is_not_full_is_picked_however_small() {
    let mut weights = [1000; 100];
    weights[77] = 1;
    let group = Group::new("min-move", &members(&weights, &[true; 100]), &Parameters::default()).unwrap();
    let mut loads = [1_000_000; 100];
    loads[77] = 0;
    assert!((0..1000).all(|key| group.pick_bounded(key, &loads, 1e-6).unwrap() == 77));
}

#[test]
fn what_is_forwarded_and_moved_stays_within_the_theorem() {
    const BINS: usize = 50;
    let mut random = Pcg64::seed_from_u64(38);
    let keys = (0..2000).map(|_| random.next_u64()).collect::<Vec<_>>();
    let ring = Ring::new(BINS, &mut random);
    let all = members(&[1; BINS], &[true; BINS]);
    for eps in [0.1, 0.25, 1.0] {
        let bounds =
            (0..=keys.len() as u64).map(|live| bound(&[1; BINS], 0, live, (eps * UNIT as f64) as u64));
        let bounds = bounds.collect::<Vec<_>>();
        let walk = |key, loads: &[u64]| {
            let most = bounds[loads.iter().sum::<u64>() as usize];
            ring.pick(key, |bin| loads[bin] < most)
        };
        let theirs = forwarded_and_moved(&keys, BINS, walk, |key| ring.pick(key, |_| true));
        for technique in ["min-move", "log-rendezvous"] {
            let group = Group::new(technique, &all, &Parameters::default()).unwrap();
            let pick = |key, loads: &[u64]| usize::from(group.pick_bounded(key, loads, eps).unwrap());
            let ours = forwarded_and_moved(&keys, BINS, pick, |key| usize::from(group.pick(key)));
            // The theorem is O(1 / eps^2), without a constant; the ring's own exceeds 1 by far at 0.25 and 1.
            assert!(ours.1 <= 1.0 / (eps * eps), "{technique} at {eps}: {ours:?}");
            assert!(
                3.0 * ours.0 < theirs.0 && 3.0 * ours.1 < theirs.1,
                "{technique}: {ours:?}, ring {theirs:?}"
            );
        }
    }
}
