//! Schemes of sending hosts: FlowBender, PLB, UEC spraying, REPS, step by step against their published rules.

use super::environment::Environment;
use anabranch_balancers::flowbender::pick as flowbender;
use anabranch_balancers::flowbender::pick::FlowBender;
use anabranch_balancers::plb::pick as plb;
use anabranch_balancers::plb::pick::Plb;
use anabranch_balancers::reps::pick as reps;
use anabranch_balancers::reps::pick::Reps;
use anabranch_balancers::uec::pick::{Bitmap, Oblivious};
use anabranch_balancers::uec::recycle::{Mixed, Recycle};
use anabranch_balancers::uec::{pick as uec, recycle};
use anabranch_split::picks::acknowledgement::{Acknowledged, Feedback, Round};
use anabranch_split::{Packet, Pick};

fn pick<S: Pick<Plan: Sized, State: Sized>>(
    plan: &S::Plan,
    state: &mut S::State,
    env: &mut Environment,
) -> u16 {
    anabranch_split::pick::<S, Environment>(plan, state, &mut Packet::default(), env)
}

fn picks<S: Pick<Plan: Sized, State: Sized>>(
    plan: &S::Plan,
    state: &mut S::State,
    env: &mut Environment,
    count: usize,
) -> Vec<u16> {
    (0..count).map(|_| pick::<S>(plan, state, env)).collect()
}

/// Feedback of a round trip of 1,000 bytes, `marked_bytes` of them marked.
fn round(marked_bytes: u32) -> Feedback {
    Feedback::Acknowledged(Acknowledged {
        bytes: 1000,
        marked_bytes,
        round_ended: true,
        ..Acknowledged::default()
    })
}

fn came_back(entropy: u16, marked: bool) -> Feedback {
    Feedback::Acknowledged(Acknowledged { entropy: Some(entropy), marked, ..Acknowledged::default() })
}

const TIMEOUT: Feedback = Feedback::TimedOut { entropy: None };

#[test]
fn a_round_ends_when_more_is_acknowledged_than_was_sent_at_its_beginning() {
    let mut round = Round::default();
    assert!(round.ended(1_000, 10_000));
    assert!(!round.ended(2_000, 11_000));
    assert!(!round.ended(10_000, 19_000));
    assert!(round.ended(11_000, 20_000));
    assert!(!round.ended(20_000, 29_000));
}

#[test]
fn flowbender_moves_above_five_percent_and_at_a_timeout() {
    let plan = flowbender::Parameters::DEFAULT;
    let (mut state, mut env) = (flowbender::State::default(), Environment::default());
    let mut after = |feedback: &Feedback| {
        FlowBender::learn(&plan, &mut state, feedback, &mut env);
        pick::<FlowBender>(&plan, &mut state, &mut env)
    };
    assert_eq!(after(&round(50)), 0, "5 % is not above 5 %");
    assert_eq!(after(&round(51)), 1);
    assert_eq!(after(&round(0)), 1);
    assert_eq!(after(&TIMEOUT), 2);
    // The sum over a round decides: 40 marked of 2,000.
    let half = Acknowledged { bytes: 1000, marked_bytes: 40, ..Acknowledged::default() };
    assert_eq!(after(&Feedback::Acknowledged(half)), 2);
    assert_eq!(after(&round(0)), 2);
}

#[test]
fn flowbender_waits_for_n_congested_rounds_in_a_row() {
    let plan = flowbender::Parameters { rounds: 3, ..flowbender::Parameters::DEFAULT };
    let (mut state, mut env) = (flowbender::State::default(), Environment::default());
    let values: Vec<u16> = [500, 500, 0, 500, 500, 500, 500, 500, 500]
        .map(|marked| {
            FlowBender::learn(&plan, &mut state, &round(marked), &mut env);
            pick::<FlowBender>(&plan, &mut state, &mut env)
        })
        .to_vec();
    assert_eq!(values, [0, 0, 0, 0, 0, 1, 1, 1, 2]);
}

/// Number of congested rounds (idle at the end of each or not) until PLB moves.
fn rounds_until_plb_moves(idle: bool, marked_bytes: u32) -> Option<usize> {
    let plan = plb::Parameters::DEFAULT;
    let (mut state, mut env) = (plb::State::default(), Environment::seeded(2));
    let congested =
        Acknowledged { bytes: 1024, marked_bytes, round_ended: true, idle, ..Acknowledged::default() };
    (1..=40).find(|_| {
        Plb::learn(&plan, &mut state, &Feedback::Acknowledged(congested), &mut env);
        pick::<Plb>(&plan, &mut state, &mut env) != 0
    })
}

#[test]
fn plb_moves_at_the_third_congested_round_when_idle_and_at_the_twelfth_in_any_case() {
    assert_eq!(rounds_until_plb_moves(true, 512), Some(3));
    assert_eq!(rounds_until_plb_moves(false, 512), Some(12));
    assert_eq!(rounds_until_plb_moves(true, 511), None, "the threshold is 128/256");
}

#[test]
fn plb_starts_counting_anew_after_a_good_round_and_moves_late_once_idle() {
    let plan = plb::Parameters::DEFAULT;
    let (mut state, mut env) = (plb::State::default(), Environment::seeded(2));
    for _ in 0..5 {
        for feedback in [round(900), round(900), round(10)] {
            Plb::learn(&plan, &mut state, &feedback, &mut env);
        }
    }
    assert_eq!(pick::<Plb>(&plan, &mut state, &mut env), 0);
    for _ in 0..5 {
        Plb::learn(&plan, &mut state, &round(900), &mut env);
    }
    assert_eq!(pick::<Plb>(&plan, &mut state, &mut env), 0);
    // The last of the data is acknowledged in the middle of a round; the next packet goes elsewhere.
    let idle = Acknowledged { bytes: 10, idle: true, ..Acknowledged::default() };
    Plb::learn(&plan, &mut state, &Feedback::Acknowledged(idle), &mut env);
    assert_ne!(pick::<Plb>(&plan, &mut state, &mut env), 0);
}

#[test]
fn after_a_timeout_plb_moves_at_once_and_then_not_for_congestion_for_a_while() {
    let plan = plb::Parameters { suspend_ns: 1_000_000, ..plb::Parameters::DEFAULT };
    for seed in 0..20 {
        let (mut state, mut env) = (plb::State::default(), Environment::seeded(seed));
        Plb::learn(&plan, &mut state, &TIMEOUT, &mut env);
        let first = pick::<Plb>(&plan, &mut state, &mut env);
        assert_ne!(first, 0);
        let moved_ns = (1..=300)
            .map(|step| step * 10_000)
            .find(|&now_ns| {
                env.now_ns = now_ns;
                Plb::learn(&plan, &mut state, &round(1000), &mut env);
                pick::<Plb>(&plan, &mut state, &mut env) != first
            })
            .unwrap();
        assert!((1_000_000..=2_010_000).contains(&moved_ns), "{moved_ns}");
        // Another timeout moves it although it is suspended.
        Plb::learn(&plan, &mut state, &TIMEOUT, &mut env);
        let second = pick::<Plb>(&plan, &mut state, &mut env);
        Plb::learn(&plan, &mut state, &TIMEOUT, &mut env);
        assert_ne!(pick::<Plb>(&plan, &mut state, &mut env), second);
    }
}

#[test]
fn oblivious_spraying_takes_every_value_once_a_round_and_keeps_its_high_bits() {
    let plan = uec::Parameters { entropies: 8 };
    let (mut state, mut env) = (uec::Permutation::default(), Environment::seeded(7));
    let rounds: Vec<Vec<u16>> = (0..50).map(|_| picks::<Oblivious>(&plan, &mut state, &mut env, 8)).collect();
    let high = rounds[0][0] & !7;
    for round in &rounds {
        let flips = (round[0] ^ high) & 7;
        let expected: Vec<u16> = (0..8).map(|count| high | (count ^ flips)).collect();
        assert_eq!(round, &expected);
    }
    let mut orders = rounds;
    orders.sort();
    orders.dedup();
    assert_eq!(orders.len(), 8, "each of the eight masks comes up in fifty rounds");
}

/// Low bits of the values that a bitmap of four picks, when every mask drawn is zero.
fn bitmap_picks(state: &mut uec::State<[u8; 4]>, env: &mut Environment, count: usize) -> Vec<u16> {
    picks::<Bitmap<[u8; 4]>>(&uec::Parameters { entropies: 4 }, state, env, count)
}

#[test]
fn the_bitmap_passes_over_what_was_marked_once_for_each_point() {
    let plan = uec::Parameters { entropies: 4 };
    let cases: [(Feedback, usize); 4] = [
        (came_back(1, true), 1),
        (Feedback::Trimmed { entropy: 1 }, 4),
        (Feedback::TimedOut { entropy: Some(1) }, 15),
        (came_back(1, false), 0),
    ];
    for (feedback, points) in cases {
        let (mut state, mut env) = (uec::State::new([0; 4]), Environment::default());
        Bitmap::<[u8; 4]>::learn(&plan, &mut state, &feedback, &mut env);
        let expected: Vec<u16> = [0, 2, 3].repeat(points).into_iter().chain([0, 1, 2, 3]).collect();
        assert_eq!(bitmap_picks(&mut state, &mut env, expected.len()), expected, "{feedback:?}");
    }
}

#[test]
fn penalties_end_at_fifteen_and_only_the_first_value_passed_over_is_forgiven() {
    let plan = uec::Parameters { entropies: 4 };
    let (mut state, mut env) = (uec::State::new([0; 4]), Environment::default());
    for _ in 0..9 {
        Bitmap::<[u8; 4]>::learn(&plan, &mut state, &Feedback::Trimmed { entropy: 1 }, &mut env);
    }
    Bitmap::<[u8; 4]>::learn(&plan, &mut state, &came_back(2, true), &mut env);
    // Value 1 has 15 points, value 2 one. Passing over 1 shields 2 until 1 has none left.
    let expected: Vec<u16> = [0, 3].repeat(15).into_iter().chain([0, 1, 3, 0, 1, 2, 3]).collect();
    assert_eq!(bitmap_picks(&mut state, &mut env, expected.len()), expected);
}

#[test]
fn a_bitmap_that_is_full_still_sends() {
    let plan = uec::Parameters { entropies: 4 };
    let (mut state, mut env) = (uec::State::new([0; 4]), Environment::seeded(1));
    for entropy in 0..4 {
        Bitmap::<[u8; 4]>::learn(&plan, &mut state, &Feedback::TimedOut { entropy: Some(entropy) }, &mut env);
    }
    assert_eq!(bitmap_picks(&mut state, &mut env, 20).len(), 20);
}

#[test]
fn reps_uses_unmarked_values_again_once_oldest_first() {
    let plan = reps::Parameters::DEFAULT;
    let (mut state, mut env) = (reps::State::default(), Environment::seeded(3));
    for (entropy, marked) in [(11, false), (12, true), (13, false), (14, false)] {
        Reps::learn(&plan, &mut state, &came_back(entropy, marked), &mut env);
    }
    assert_eq!(picks::<Reps>(&plan, &mut state, &mut env, 3), [11, 13, 14]);
    let random = picks::<Reps>(&plan, &mut state, &mut env, 200);
    assert!(random.iter().all(|&value| value < 64));
    assert!(random.iter().collect::<std::collections::BTreeSet<_>>().len() > 50);
    // Ten come back, the ring holds eight.
    for entropy in 100..110 {
        Reps::learn(&plan, &mut state, &came_back(entropy, false), &mut env);
    }
    assert_eq!(picks::<Reps>(&plan, &mut state, &mut env, 8), [102, 103, 104, 105, 106, 107, 108, 109]);
}

#[test]
fn reps_freezes_for_ten_milliseconds_and_explores_sixteen_packets() {
    let plan = reps::Parameters::DEFAULT;
    let (mut state, mut env) = (reps::State::default(), Environment::seeded(3));
    env.now_ns = 5_000_000;
    for entropy in [101, 102, 103] {
        Reps::learn(&plan, &mut state, &came_back(entropy, false), &mut env);
    }
    assert_eq!(pick::<Reps>(&plan, &mut state, &mut env), 101);
    Reps::learn(&plan, &mut state, &TIMEOUT, &mut env);
    assert_eq!(picks::<Reps>(&plan, &mut state, &mut env, 5), [101, 102, 103, 101, 102]);
    // A timeout while frozen does not lengthen the freeze.
    env.now_ns = 14_000_000;
    Reps::learn(&plan, &mut state, &TIMEOUT, &mut env);
    env.now_ns = 15_000_000;
    assert_eq!(pick::<Reps>(&plan, &mut state, &mut env), 103);
    env.now_ns = 15_000_001;
    let explored = picks::<Reps>(&plan, &mut state, &mut env, 8);
    // While it explores, a timeout does not freeze, and what comes back is remembered but not used.
    Reps::learn(&plan, &mut state, &TIMEOUT, &mut env);
    Reps::learn(&plan, &mut state, &came_back(200, false), &mut env);
    let explored = [explored, picks::<Reps>(&plan, &mut state, &mut env, 8)].concat();
    assert!(explored.iter().all(|&value| value < 64), "{explored:?}");
    assert_eq!(pick::<Reps>(&plan, &mut state, &mut env), 200);
}

#[test]
fn broken_reps_recycles_none_or_marked_values_or_never_freezes() {
    let come_back = |plan: &reps::Parameters| {
        let (mut state, mut env) = (reps::State::default(), Environment::seeded(3));
        for (entropy, marked) in [(111, false), (112, true), (113, false)] {
            Reps::learn(plan, &mut state, &came_back(entropy, marked), &mut env);
        }
        Reps::learn(plan, &mut state, &TIMEOUT, &mut env);
        picks::<Reps>(plan, &mut state, &mut env, 4)
    };
    let whole = reps::Parameters::DEFAULT;
    assert_eq!(come_back(&whole), [111, 113, 111, 113]);
    let arrived = reps::Parameters { recycling: reps::Recycling::Arrived, ..whole };
    assert_eq!(come_back(&arrived), [111, 112, 113, 111]);
    let never = reps::Parameters { recycling: reps::Recycling::Never, ..whole };
    assert!(come_back(&never).iter().all(|&value| value < 64));
    // Each value once, then those drawn.
    let unfrozen = come_back(&reps::Parameters { freezing: reps::Freezing::Never, ..whole });
    assert_eq!(unfrozen[..2], [111, 113]);
    assert!(unfrozen[2..].iter().all(|&value| value < 64));
}

#[test]
fn legacy_reps_goes_through_all_values_first_and_then_recycles() {
    let plan = uec::Parameters { entropies: 4 };
    let mut env = Environment::seeded(5);
    let mut state = recycle::State::new([0; 2]);
    assert_eq!(picks::<Recycle<[u16; 2]>>(&plan, &mut state, &mut env, 4), [1, 2, 3, 0]);
    let mut state = recycle::State::new([0; 2]);
    assert_eq!(picks::<Recycle<[u16; 2]>>(&plan, &mut state, &mut env, 2), [1, 2]);
    for (entropy, marked) in [(31, false), (32, false), (33, true), (34, false)] {
        Recycle::<[u16; 2]>::learn(&plan, &mut state, &came_back(entropy, marked), &mut env);
    }
    assert_eq!(picks::<Recycle<[u16; 2]>>(&plan, &mut state, &mut env, 2), [32, 34], "room for two");
    assert!(picks::<Recycle<[u16; 2]>>(&plan, &mut state, &mut env, 50).iter().all(|&value| value < 4));
}

#[test]
fn mixed_recycles_and_else_asks_the_bitmap() {
    type Both = Mixed<[u16; 8], [u8; 4]>;
    let plan = uec::Parameters { entropies: 4 };
    let (mut state, mut env) = (recycle::MixedState::new([0; 8], [0; 4]), Environment::default());
    assert_eq!(picks::<Both>(&plan, &mut state, &mut env, 2), [0, 1]);
    for (entropy, marked) in [(1, false), (3, true)] {
        Both::learn(&plan, &mut state, &came_back(entropy, marked), &mut env);
    }
    assert_eq!(picks::<Both>(&plan, &mut state, &mut env, 6), [1, 2, 0, 1, 2, 3]);
}
