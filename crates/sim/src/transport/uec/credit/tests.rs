use super::*;

const FRAME: u16 = 4150;

/// 1.5 times what 100 Gbit/s carry in 14.02272 us.
const MOST: u64 = 262_926;

fn waits(fresh: u64, missing: u64) -> Backlog {
    Backlog { fresh, missing, frame: FRAME.into(), window: u64::MAX, contenders: 1 }
}

/// A flow that heard an answer and holds nothing but `held` bytes that were granted.
fn granted(held: u64) -> Credit {
    let mut credit = Credit::new(MOST, 0);
    credit.hear(1);
    credit.grant(held);
    credit
}

/// `uec.cpp`: `_credit` begins at 1.5 round trips' worth, a packet goes while it is above zero, and `stopSpeculating` takes
/// what is left of it, but not what it is below zero.
#[test]
fn a_flow_begins_with_credit_until_it_hears_something() {
    let mut credit = Credit::new(MOST, 0);
    let mut packets = 0;
    while credit.allows() {
        credit.spend(FRAME);
        packets += 1;
    }
    assert_eq!(packets, MOST.div_ceil(FRAME.into()));
    let below = credit.held;
    credit.hear(14_000_000);
    assert_eq!(credit.held, below);
    let mut credit = Credit::new(MOST, 0);
    credit.spend(FRAME);
    credit.hear(14_000_000);
    assert_eq!((credit.held, credit.allows()), (0, false));
    credit.grant(256);
    credit.hear(15_000_000);
    assert_eq!((credit.available_bytes(), credit.allows()), (256, true));
}

#[test]
fn grants_are_sums_and_no_more_than_the_most_is_held() {
    let mut credit = granted(0);
    credit.grant(16_384);
    credit.grant(4_096);
    assert_eq!((credit.available_bytes(), credit.granted), (16_384, 16_384));
    credit.grant(1 << 40);
    assert_eq!((credit.available_bytes(), credit.granted), (MOST, 1 << 40));
}

/// Worked out by hand from `computePullTarget`, without the offset of its numbers.
#[test]
fn a_demand_is_what_waits_beyond_what_is_held_in_whole_quanta() {
    // A long flow sends its first packet: credit is 258,776 of 262,926, so 4,150 are wanted, which are 17 quanta.
    let mut credit = Credit::new(MOST, 0);
    credit.spend(FRAME);
    assert_eq!(credit.demand(&waits(2_000_000, 0)), 17 * 256);
    // The last packet of a short one.
    assert_eq!(credit.demand(&waits(0, 0)), 0);
    // The first of two: nothing is wanted but, since credit that nobody granted may be gone soon, a frame.
    assert_eq!(credit.demand(&waits(4_000, 0)), 17 * 256);
    // Later it counts from what was granted, and what is to be sent again counts too.
    assert_eq!(granted(10_240).demand(&waits(8_300, 4_150)), 10_240 + 9 * 256);
    assert_eq!(granted(10_240).demand(&waits(8_300, 0)), 10_240 - 7 * 256);
    assert_eq!(granted(0).demand(&waits(1 << 40, 0)), 1028 * 256);
    // Beside congestion control it wants a frame more than the window.
    assert_eq!(granted(0).demand(&Backlog { window: 50_000, ..waits(1 << 40, 0) }), 212 * 256);
    // Senders of one host who wait for each other share.
    assert_eq!(granted(0).demand(&Backlog { contenders: 3, ..waits(1 << 40, 0) }), 343 * 256);
}

#[test]
fn requests_are_a_round_trip_apart() {
    let mut credit = granted(0);
    assert!(credit.may_ask(5, 14) && !credit.awaits_answer());
    assert_eq!(credit.silent_since_ps(), 1);
    credit.ask(5);
    assert!(!credit.may_ask(18, 14) && credit.may_ask(19, 14) && credit.awaits_answer());
    assert_eq!(credit.silent_since_ps(), 5);
    credit.hear(30);
    assert!(!credit.awaits_answer());
    assert_eq!(credit.silent_since_ps(), 30);
}
