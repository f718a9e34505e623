//! ARS: the best quality, ties at random, among ports that live.

use super::queues_environment::Environment;
use anabranch_balancers::ars::pick::{Any, Best, Mode, Qualities};
use anabranch_split::{Packet, Pick, pick};

/// Bands of four members towards two destinations.
struct Known([[u8; 4]; 2]);

impl Qualities for Known {
    fn members(&self) -> u16 {
        4
    }

    fn band(&self, member: u16, destination: u32) -> u8 {
        self.0[destination as usize][usize::from(member)]
    }
}

const KNOWN: Known = Known([[3, 7, 7, 6], [0, 0, 0, 1]]);

fn spread<S: Pick<Plan = Known, State = ()>>(env: &mut Environment, destination: u32) -> [u32; 4] {
    let mut counts = [0; 4];
    for flow in 0..40_000 {
        let mut packet = Packet { flow, destination, ..Packet::default() };
        counts[usize::from(pick::<S, _>(&KNOWN, &mut (), &mut packet, env))] += 1;
    }
    counts
}

#[test]
fn the_best_band_wins_and_equals_share() {
    let mut env = Environment::new(4);
    let counts = spread::<Best<Known>>(&mut env, 0);
    // Standard deviation sqrt(40000 / 4) = 100; five of them.
    assert!(counts[0] == 0 && counts[3] == 0 && counts[1].abs_diff(20_000) < 500, "{counts:?}");
    assert_eq!(spread::<Best<Known>>(&mut env, 1), [0, 0, 0, 40_000], "the other destination");
    env.dead = vec![1, 2];
    assert_eq!(spread::<Best<Known>>(&mut env, 0), [0, 0, 0, 40_000], "the best that live");
}

#[test]
fn random_modes_ask_for_no_quality() {
    let mut env = Environment::new(4);
    env.dead = vec![1];
    let counts = spread::<Any<Known>>(&mut env, 0);
    // Standard deviation sqrt(40000 * 1/3 * 2/3) = 94; five of them.
    let even = |count: u32| count.abs_diff(13_333) < 471;
    assert!(counts[1] == 0 && even(counts[0]) && even(counts[2]) && even(counts[3]), "{counts:?}");
}

/// SAI's five, as `saiars.h` lists them.
#[test]
fn modes_are_those_of_sai() {
    let names = Mode::ALL.map(Mode::name);
    assert_eq!(names, ["flowlet-quality", "flowlet-random", "packet-quality", "packet-random", "fixed"]);
    assert_eq!(Mode::ALL.map(Mode::measures), [true, false, true, false, true]);
}
