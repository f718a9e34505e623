//! Replicas of a group: whether they agree, and how they come to.

use super::{change, group, pick, rules, up};
use anabranch_split::{Group, Members, Parameters, Weights};
use proptest::prelude::*;

const WEIGHTS: [u64; 5] = [5, 4, 3, 2, 2];

/// Two replicas that saw two failures in another order.
fn torn() -> (Group, Group) {
    let replicas = (group("min-move", &WEIGHTS), group("min-move", &WEIGHTS));
    for (replica, order) in [(&replicas.0, [0, 1]), (&replicas.1, [1, 0])] {
        replica.update(&up(&WEIGHTS, &order[..1])).unwrap();
        replica.update(&up(&WEIGHTS, &order)).unwrap();
    }
    replicas
}

#[test]
fn the_same_updates_in_the_same_order_agree_and_in_another_do_not() {
    let (one, other) = torn();
    let (mine, theirs) = (one.revision().unwrap(), other.revision().unwrap());
    assert_eq!(mine.updates, theirs.updates);
    assert_ne!(mine.digest, theirs.digest);
    assert!(pick(&one) != pick(&other));
    assert_eq!(torn().0.revision().unwrap(), mine);
    assert_eq!(one.revision().unwrap(), mine);
    // Parameters that were left out are those that were written out.
    let members = up(&WEIGHTS, &[]);
    let written = Group::new("min-move", &members, &Parameters::new([("slots", "65536")])).unwrap();
    assert_eq!(written.revision().unwrap(), group("min-move", &WEIGHTS).revision().unwrap());
}

#[test]
fn a_replica_agrees_after_the_snapshot_of_another_and_after_its_delta() {
    let (one, other) = torn();
    let whole = one.snapshot().unwrap();
    let delta = one.delta(&other).unwrap();
    let differ = pick(&one).iter().zip(pick(&other)).filter(|&(&a, b)| a != b).count();
    assert!(differ > 0 && delta.len() < whole.len() / 2, "{} of {} bytes", delta.len(), whole.len());
    for bytes in [whole, delta] {
        let (one, other) = torn();
        other.adopt(&bytes).unwrap();
        assert_eq!(other.revision().unwrap(), one.revision().unwrap());
        assert!(pick(&other) == pick(&one));
        for group in [&one, &other] {
            group.update(&up(&WEIGHTS, &[3])).unwrap();
        }
        assert_eq!(other.snapshot().unwrap(), one.snapshot().unwrap());
    }
}

#[test]
fn a_delta_that_begins_elsewhere_is_refused_and_nothing_changes() {
    let (one, other) = torn();
    let delta = one.delta(&group("min-move", &WEIGHTS)).unwrap();
    let before = other.snapshot().unwrap();
    let error = other.adopt(&delta).unwrap_err();
    assert!(error.problem.starts_with("delta: begins at the state "), "{error}");
    assert_eq!(other.snapshot().unwrap(), before);
    // One that fits the first time does not fit again.
    let delta = one.delta(&other).unwrap();
    other.adopt(&delta).unwrap();
    assert!(other.adopt(&delta).is_err());
    assert_eq!(other.revision().unwrap(), one.revision().unwrap());
}

#[test]
fn what_is_no_replica_is_refused() {
    let min_move = group("min-move", &WEIGHTS);
    let small = Group::new("min-move", &up(&WEIGHTS, &[]), &Parameters::new([("slots", "4096")])).unwrap();
    for other in [small, group("valo", &WEIGHTS)] {
        assert!(min_move.delta(&other).unwrap_err().problem.starts_with("delta: of "));
        let error = min_move.adopt(&other.snapshot().unwrap()).unwrap_err();
        assert!(error.problem.ends_with("for a group of min-move slots=65536"), "{error}");
    }
    let fewer = group("min-move", &[1, 1]);
    assert!(min_move.adopt(&fewer.snapshot().unwrap()).is_err());
    fewer.adopt(&min_move.snapshot().unwrap()).unwrap();
    assert_eq!(fewer.members(), min_move.members());
    let wrr = group("wrr", &WEIGHTS);
    assert!(wrr.revision().is_err() && wrr.delta(&wrr).is_err() && wrr.adopt(b"").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_delta_is_what_lies_between_any_two_states(
        weights in prop::collection::vec(1u64..40, 1..8),
        before in prop::collection::vec(change(), 0..4),
        between in prop::collection::vec(change(), 0..4),
    ) {
        let members = Members::all_up(Weights::new(weights).unwrap());
        for (name, parameters) in rules() {
            let Ok(replica) = Group::new(name, &members, &parameters) else { continue };
            let update = |group: &Group, change: &super::Change| {
                let _ = change.of(&group.members()).map(|members| group.update(&members));
            };
            before.iter().for_each(|change| update(&replica, change));
            let ahead = replica.clone();
            between.iter().for_each(|change| update(&ahead, change));
            replica.adopt(&ahead.delta(&replica).unwrap()).unwrap();
            prop_assert_eq!(replica.snapshot().unwrap(), ahead.snapshot().unwrap());
            prop_assert!(pick(&replica) == pick(&ahead), "{}", name);
        }
    }
}
