use super::*;
use proptest::prelude::*;

const GRANT: u64 = 16_384;
const BOUND: u64 = 262_926;

#[test]
fn a_demand_is_granted_in_parts_and_exactly() {
    let mut grants = Grants::default();
    grants.demand(40_960);
    assert!(grants.lines_up());
    assert_eq!(grants.grant(GRANT), Granted { quanta: 64, queue: Queue::Demand });
    grants.demand(36_864);
    assert!(!grants.lines_up());
    assert_eq!(grants.grant(GRANT), Granted { quanta: 64, queue: Queue::Demand });
    assert_eq!(grants.grant(GRANT), Granted { quanta: 32, queue: Queue::Advance });
    assert_eq!(grants.sum(), 40_960);
    // It waits among the satisfied already.
    grants.demand(41_216);
    assert!(grants.lines_up());
    assert_eq!(grants.grant(GRANT), Granted { quanta: 1, queue: Queue::Neither });
}

/// A trimmed packet, or a request, calls although its sender names no more than it was granted: the sum is sent again.
#[test]
fn who_calls_hears_the_sum_again() {
    let mut grants = Grants::default();
    grants.demand(256);
    assert!(grants.lines_up());
    grants.grant(GRANT);
    grants.demand(256);
    assert!(!grants.lines_up());
    grants.call();
    assert!(grants.lines_up() && !grants.lines_up());
    grants.call();
    assert!(!grants.lines_up());
    assert_eq!(grants.grant(GRANT), Granted { quanta: 4, queue: Queue::Neither });
    assert_eq!(grants.sum(), 256);
}

/// `UecPullPacer::doNextEvent`: in advance it goes on until it is no less than the largest window, in whole quanta, ahead.
#[test]
fn credit_in_advance_is_bounded() {
    let mut grants = Grants::default();
    let turns = (1..).find(|_| grants.grant_ahead(GRANT, BOUND).queue == Queue::Neither).unwrap();
    assert_eq!((turns, grants.sum()), (17, 17 * GRANT));
    grants.demand(17 * GRANT);
    assert!(grants.lines_up());
    assert_eq!(grants.grant(GRANT), Granted { quanta: 4, queue: Queue::Advance });
    assert_eq!(grants.grant_ahead(GRANT, BOUND), Granted { quanta: 64, queue: Queue::Advance });
}

proptest! {
    /// Whatever comes: sums never fall, grants stop at the demand, and who was left with less than the demand is in line.
    #[test]
    fn sums_follow_demands(steps in prop::collection::vec((0..4u8, 0..400u64), 0..100)) {
        let mut grants = Grants::default();
        let (mut in_line, mut satisfied, mut demanded, mut calls) = (false, false, 0, 0);
        for (what, quanta) in steps {
            let before = grants.sum();
            match what {
                0 => {
                    grants.demand(quanta * 256);
                    demanded = demanded.max(quanta * 256);
                }
                1 => grants.call(),
                2 if in_line => {
                    let Granted { queue, .. } = grants.grant(GRANT);
                    prop_assert_eq!(grants.sum(), before.max(demanded.min(before + GRANT)));
                    in_line = queue == Queue::Demand;
                    satisfied |= queue == Queue::Advance;
                    prop_assert!(in_line || satisfied);
                }
                3 if satisfied && !in_line => {
                    satisfied = grants.grant_ahead(GRANT, BOUND).queue == Queue::Advance;
                    // Each call brings it back for once.
                    prop_assert!(grants.sum() <= demanded + BOUND + GRANT * (1 + calls));
                }
                _ => {}
            }
            let called = grants.lines_up();
            calls += u64::from(called);
            in_line |= called;
            prop_assert!(grants.sum() >= before);
            prop_assert!(in_line || grants.sum() >= demanded);
        }
    }
}
