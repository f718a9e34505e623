//! One group and several threads: whole plans, no lost update, and copies that are copies.

use anabranch_split::technique::TECHNIQUES;
use anabranch_split::{Batch, Granularity, Group, Members, Parameters, Weights};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for what must come.
const DEADLINE: Duration = Duration::from_secs(120);

fn keys(count: u64) -> Vec<u64> {
    let mix = |z: u64| (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (1..=count).map(|i| mix(mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))).collect()
}

fn weighted(weights: &[u64]) -> Members {
    Members::all_up(Weights::new(weights.to_vec()).unwrap())
}

fn group(technique: &str, weights: &[u64]) -> Group {
    Group::new(technique, &weighted(weights), &Parameters::default()).unwrap()
}

fn picks(group: &Group, keys: &[u64]) -> Vec<u16> {
    let mut out = vec![u16::MAX; keys.len()];
    group.pick_batch(&Batch::of_flows(keys), &mut out);
    out
}

fn takes_threads<T: Send + Sync>(value: T) -> T {
    value
}

/// Toggles between two sets of weights until each of four threads has seen the picks of both; any other picks would be of
/// half a plan.
#[test]
fn picks_beside_updates_are_those_of_one_plan() {
    let keys = keys(512);
    for technique in ["maglev", "log-rendezvous", "valo", "cdf"] {
        let sides = [&[4, 3, 2, 1][..], &[1, 2, 3, 4]];
        let expected = sides.map(|weights| picks(&group(technique, weights), &keys));
        assert_ne!(expected[0], expected[1]);
        let shared = takes_threads(group(technique, sides[0]));
        let seen: [[AtomicBool; 2]; 4] = Default::default();
        let end = Instant::now() + DEADLINE;
        let all = || seen.iter().flatten().all(|flag| flag.load(Ordering::Relaxed));
        thread::scope(|scope| {
            for (number, seen) in seen.iter().enumerate() {
                let (shared, keys, expected) = (&shared, &keys, &expected);
                scope.spawn(move || {
                    let mut reader = shared.reader();
                    // A batch is of one plan. One by one, plans may change between two picks: each is of one of them.
                    let per_plan = if number % 2 == 0 { keys.len() } else { 1 };
                    while !(all() || Instant::now() > end) {
                        let got = match per_plan {
                            1 => keys.iter().map(|&key| reader.pick(key)).collect(),
                            _ => picks(shared, keys),
                        };
                        for (at, got) in (0..).step_by(per_plan).zip(got.chunks(per_plan)) {
                            let of = expected.each_ref().map(|picks| &picks[at..at + per_plan] == got);
                            assert!(of[0] || of[1], "{technique}: picks of half a plan");
                            if of[0] != of[1] {
                                seen[usize::from(of[1])].store(true, Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
            for weights in sides.iter().rev().cycle() {
                if all() || Instant::now() > end {
                    break;
                }
                shared.update(&weighted(weights)).unwrap();
            }
        });
        assert!(all(), "{technique}: a thread did not see both plans");
    }
}

#[test]
fn no_update_is_lost() {
    const THREADS: usize = 4;
    const UPDATES: usize = 25;
    for technique in ["min-move", "log-rendezvous", "deficit"] {
        let shared = group(technique, &[1]);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..UPDATES {
                        let add = |members: &Members| {
                            let mut weights = members.weights().as_slice().to_vec();
                            weights.push(1);
                            Ok(weighted(&weights))
                        };
                        shared.update_with(add).unwrap();
                    }
                });
            }
        });
        assert_eq!(shared.members().len(), 1 + THREADS * UPDATES, "{technique}");
    }
}

/// A reader from before the update, a pick and a batch all see it, and an update that is refused changes nothing.
#[test]
fn an_update_is_seen_by_every_pick_after_it() {
    let keys = keys(5_000);
    for row in TECHNIQUES {
        let group = group(row.name, &[4, 3, 2]);
        let mut reader = group.reader();
        assert!(reader.pick(keys[0]) < 3);
        let less = Members::new(group.members().weights().clone(), vec![true, false, true]).unwrap();
        group.update(&less).unwrap();
        assert!(keys.iter().all(|&key| reader.pick(key) != 1), "{}", row.name);
        assert!(keys.iter().all(|&key| group.pick(key) != 1), "{}", row.name);
        assert!(picks(&group, &keys).iter().all(|&pick| pick != 1), "{}", row.name);
        let before = picks(&group, &keys);
        let error = group.update(&weighted(&[1, 1])).unwrap_err().to_string();
        assert!(error.contains("2 for a group of 3 paths"), "{error}");
        assert!(group.update_with(|_| Err(anabranch_split::PlanError::new("no", "yes"))).is_err());
        assert_eq!(group.members(), less);
        if row.granularity == Granularity::Stateless {
            assert_eq!(picks(&group, &keys), before, "{}", row.name);
        }
    }
}

/// All doors give the picks of a batch, whatever its length.
#[test]
fn one_by_one_by_a_reader_or_in_a_batch_the_picks_are_the_same() {
    let keys = keys(10_000);
    for row in TECHNIQUES {
        let begin = || group(row.name, &[40, 30, 20, 10, 0]);
        let batch = picks(&begin(), &keys);
        let (single, read, mut own) = (begin(), begin(), begin());
        assert_eq!(keys.iter().map(|&key| single.pick(key)).collect::<Vec<_>>(), batch, "{}", row.name);
        let mut reader = read.reader();
        assert_eq!(keys.iter().map(|&key| reader.pick(key)).collect::<Vec<_>>(), batch, "{}", row.name);
        let mut out = vec![0; keys.len()];
        own.pick_batch_mut(&Batch::of_flows(&keys), &mut out);
        assert_eq!(out, batch, "{}", row.name);
    }
}

/// A copy goes on from where the group stands, and neither sees what the other does then.
#[test]
fn a_copy_is_a_copy() {
    let keys = keys(20_000);
    let (first, later) = keys.split_at(10_000);
    for row in TECHNIQUES {
        let (group, twin) = (group(row.name, &[4, 3, 2]), group(row.name, &[4, 3, 2]));
        assert_eq!(picks(&group, first), picks(&twin, first));
        let copy = group.clone();
        assert_eq!(
            picks(&copy, first),
            picks(&twin, first),
            "{}: a copy knows what the group knew",
            row.name
        );
        copy.update(&weighted(&[1, 1, 1, 50])).unwrap();
        let _ = picks(&copy, later);
        assert_eq!(copy.members().len(), 4);
        assert_eq!(group.members().len(), 3, "{}", row.name);
        // The twin has been shown `first` twice by now.
        let _ = picks(&group, first);
        assert_eq!(picks(&group, later), picks(&twin, later), "{}: a copy changed its origin", row.name);
    }
}

#[test]
#[should_panic(expected = "bytes: 2 values for 3 packets")]
fn columns_of_other_lengths_are_refused() {
    let batch = Batch { flows: &[1, 2, 3], bytes: &[1, 2], times_ns: &[] };
    group("wfq", &[1, 1]).pick_batch(&batch, &mut [0; 3]);
}
