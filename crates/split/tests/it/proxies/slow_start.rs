//! Slow start against what one change moves: all steps together move exactly as much, and every flow ends where it was.

use anabranch_split::apportion::webster::webster;
use anabranch_split::{Granularity, Group, Members, Parameters, SlowStart, TECHNIQUES, Weights};
use proptest::prelude::*;

fn differ(before: &[u16], after: &[u16]) -> u32 {
    before.iter().zip(after).filter(|(a, b)| a != b).count() as u32
}

fn distance(before: &[u32], after: &[u32]) -> u32 {
    before.iter().zip(after).map(|(&a, &b)| a.saturating_sub(b)).sum()
}

proptest! {
    /// A divisor method takes no seat from a party for another whose votes did not grow (Balinski and Young 1982), so
    /// the steps of a weight that only grows have nothing to take back.
    #[test]
    fn steps_move_what_one_change_moves_and_end_at_home(
        weights in prop::collection::vec(1u64..100, 2..12),
        late in 0usize..12,
        steps in 1u64..40,
        aggression in 0.3f64..3.0,
        slots in prop_oneof![Just(4096u32), Just(4099)],
    ) {
        let late = late % weights.len();
        let all = Members::all_up(Weights::new(weights.clone()).unwrap());
        let group = Group::new("min-move", &all, &Parameters::new([("slots", slots.to_string())])).unwrap();
        let home = group.table().unwrap();
        let up = (0..weights.len()).map(|member| member != late).collect();
        group.update(&Members::new(all.weights().clone(), up).unwrap()).unwrap();
        let rule = SlowStart::new(steps, aggression, 10.0).unwrap();
        let mut before = group.table().unwrap();
        let (at_once, mut moved) = (differ(&before, &home), 0);
        let mut asked = webster(&group.members().effective(), slots);
        for age in 0..=steps {
            let ages = (0..weights.len()).map(|member| (member == late).then_some(age)).collect::<Vec<_>>();
            group.update(&rule.lessened(&all, &ages).unwrap()).unwrap();
            let after = group.table().unwrap();
            let next = webster(&group.members().effective(), slots);
            let step = differ(&before, &after);
            prop_assert_eq!(step, distance(&asked, &next), "a step moves the least");
            moved += step;
            (before, asked) = (after, next);
        }
        prop_assert_eq!(before, home);
        prop_assert_eq!(moved, at_once);
    }
}

/// Every technique splits by what is left of the weights, or says why it cannot.
#[test]
fn shares_are_those_of_what_is_left() {
    let all = Members::all_up(Weights::new(vec![4, 3, 2]).unwrap());
    let half = SlowStart::new(2, 1.0, 10.0).unwrap().lessened(&all, &[None, Some(1), None]).unwrap();
    let mut ran = 0;
    for row in TECHNIQUES.iter().filter(|row| row.granularity == Granularity::Stateless) {
        if row.name == "random" {
            continue; // It knows no weights.
        }
        let group = Group::new(row.name, &all, &Parameters::default()).unwrap();
        let before = group.shares().unwrap();
        let fresh = Group::new(
            row.name,
            &Members::all_up(Weights::new(half.effective()).unwrap()),
            &Parameters::default(),
        );
        assert_eq!(group.update(&half).is_ok(), fresh.is_ok(), "{}", row.name);
        let Ok(fresh) = fresh else { continue };
        let (now, anew) = (group.shares().unwrap(), fresh.shares().unwrap());
        assert!(
            now[1] < before[1] && (now[1] - anew[1]).abs() < 0.02,
            "{}: {now:?}, anew {anew:?}",
            row.name
        );
        ran += 1;
    }
    assert!(ran > 14, "{ran} techniques");
}

#[test]
fn a_snapshot_during_a_slow_start_goes_on_with_it() {
    let all = Members::all_up(Weights::new(vec![4, 3, 2]).unwrap());
    let rule = SlowStart::new(60, 1.0, 10.0).unwrap();
    let group = Group::new("min-move", &all, &Parameters::default()).unwrap();
    group.update(&rule.lessened(&all, &[None, Some(20), None]).unwrap()).unwrap();
    let restored = Group::restore(&group.snapshot().unwrap()).unwrap();
    assert_eq!(restored.members(), group.members());
    for group in [&group, &restored] {
        group.update(&rule.lessened(&all, &[None, Some(60), None]).unwrap()).unwrap();
    }
    assert_eq!(restored.revision().unwrap(), group.revision().unwrap());
    assert_eq!(group.table(), Group::new("min-move", &all, &Parameters::default()).unwrap().table());
}
