//! A restored group against the one that was not stopped, over random histories.

use super::{Change, change, group, pick, rules, up};
use anabranch_split::{Granularity, Group, Members, TECHNIQUES, Weights};
use proptest::prelude::*;

/// Changes a group; whether it took it.
fn update(group: &Group, change: &Change) -> bool {
    let Some(members) = change.of(&group.members()) else { return false };
    group.update(&members).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_restored_group_goes_on_as_the_one_that_ran(
        weights in prop::collection::vec(1u64..40, 1..8),
        before in prop::collection::vec(change(), 0..6),
        after in prop::collection::vec(change(), 1..6),
    ) {
        let members = Members::all_up(Weights::new(weights).unwrap());
        for (name, parameters) in rules() {
            let Ok(origin) = Group::new(name, &members, &parameters) else { continue };
            before.iter().for_each(|change| { update(&origin, change); });
            let restored = Group::restore(&origin.snapshot().unwrap()).unwrap();
            prop_assert_eq!(restored.revision().unwrap(), origin.revision().unwrap());
            prop_assert_eq!(restored.members(), origin.members());
            prop_assert_eq!(restored.shares(), origin.shares());
            prop_assert_eq!(restored.state_bytes(), origin.state_bytes());
            prop_assert!(pick(&restored) == pick(&origin), "{}", name);
            for change in &after {
                prop_assert_eq!(update(&restored, change), update(&origin, change));
                prop_assert!(pick(&restored) == pick(&origin), "{} after {:?}", name, change);
                prop_assert_eq!(restored.snapshot().unwrap(), origin.snapshot().unwrap());
            }
        }
    }
}

#[test]
fn weights_alone_are_no_snapshot_where_there_is_a_history() {
    for (name, history) in
        [("min-move", true), ("rejection-cells", true), ("linux-resilient", true), ("valo", false)]
    {
        let origin = group(name, &[4, 3, 2]);
        origin.update(&up(&[1, 9, 3], &[])).unwrap();
        let rebuilt = group(name, &[1, 9, 3]);
        assert_eq!(pick(&rebuilt) != pick(&origin), history, "{name}");
        assert!(pick(&Group::restore(&origin.snapshot().unwrap()).unwrap()) == pick(&origin), "{name}");
    }
}

#[test]
fn members_that_fail_and_return_after_a_restart_displace_their_own_connections_alone() {
    let origin = group("min-move", &[5, 4, 3, 2]);
    for weights in [[2, 7, 3, 4], [9, 1, 5, 5], [3, 3, 8, 1]] {
        origin.update(&up(&weights, &[])).unwrap();
    }
    origin.update(&up(&[3, 3, 8, 1], &[2])).unwrap();
    let restored = Group::restore(&origin.snapshot().unwrap()).unwrap();
    restored.update(&up(&[3, 3, 8, 1], &[])).unwrap();
    let whole = pick(&restored);
    for dead in 0..4 {
        restored.update(&up(&[3, 3, 8, 1], &[dead])).unwrap();
        let moved = |(now, before): (&u16, &u16)| now != before && usize::from(*before) != dead;
        assert!(!pick(&restored).iter().zip(&whole).any(moved), "path {dead} fails");
        restored.update(&up(&[3, 3, 8, 1], &[])).unwrap();
        assert!(pick(&restored) == whole, "path {dead} returns");
    }
}

#[test]
fn a_table_that_had_to_widen_is_restored_wide() {
    let origin = group("min-move", &[1; 250]);
    origin.update(&up(&[2; 300], &[7, 290])).unwrap();
    let restored = Group::restore(&origin.snapshot().unwrap()).unwrap();
    for members in [up(&[2; 300], &[]), up(&[3; 310], &[299])] {
        assert!(pick(&restored) == pick(&origin));
        origin.update(&members).unwrap();
        restored.update(&members).unwrap();
    }
    assert_eq!(restored.snapshot().unwrap(), origin.snapshot().unwrap());
}

#[test]
fn what_remembers_flows_has_no_snapshot_and_says_so() {
    for row in TECHNIQUES.iter().filter(|row| row.granularity != Granularity::Stateless) {
        let error = group(row.name, &[1, 1]).snapshot().unwrap_err();
        assert!(error.problem.starts_with(&format!("snapshot: {} remembers flows", row.name)), "{error}");
    }
}

#[test]
fn the_whole_state_is_what_picks_read_and_what_updates_read() {
    let group = group("min-move", &[1; 8]);
    assert_eq!(group.state_bytes(), 65_536);
    // Home, its eight weights; eight weights and flags of the members.
    assert_eq!(group.history_bytes(), 65_536 + 8 * 8 + 8 * 9);
}
