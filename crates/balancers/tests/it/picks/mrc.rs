//! MRC: the health of entropy values, by steps worked by hand.

use super::environment::Environment;
use anabranch_balancers::mrc::pick::Health::{AssumedBad, Good, Skip};
use anabranch_balancers::mrc::pick::{DOUBLINGS, Feedback, Health, Mrc, Parameters, State, Value};
use anabranch_split::{Packet, Pick, pick};

/// Random bits are zero, so that values take turns in the order of their numbers.
struct Pair {
    plan: Parameters,
    state: State<[Value; 4]>,
    env: Environment,
}

impl Pair {
    fn new() -> Self {
        let plan = Parameters { entropies: 4, probe_ns: 100 };
        Self { plan, state: State::new([Value::default(); 4]), env: Environment::default() }
    }

    fn send(&mut self) -> u16 {
        pick::<Mrc<[Value; 4]>, _>(&self.plan, &mut self.state, &mut Packet::default(), &mut self.env)
    }

    fn sends(&mut self, count: usize) -> Vec<u16> {
        (0..count).map(|_| self.send()).collect()
    }

    fn learn(&mut self, feedback: Feedback) {
        Mrc::<[Value; 4]>::learn(&self.plan, &mut self.state, &feedback, &mut self.env);
    }

    fn arrived(&mut self, value: u16, marked: bool, sent_ns: u64) {
        self.learn(Feedback::Arrived { value, marked, sent_ns });
    }

    fn lost(&mut self, value: u16, sent_ns: u64) {
        self.learn(Feedback::Lost { value, sent_ns });
    }

    fn health(&self) -> [Health; 4] {
        [0, 1, 2, 3].map(|value| self.state.health(value))
    }

    /// Values that are probed at a time.
    fn probed(&mut self, now_ns: u64) -> Vec<u16> {
        self.env.now_ns = now_ns;
        std::iter::from_fn(|| self.state.due(&self.plan, now_ns)).collect()
    }
}

#[test]
fn good_values_take_turns() {
    let mut pair = Pair::new();
    assert_eq!(pair.sends(9), [0, 1, 2, 3, 0, 1, 2, 3, 0]);
    pair.arrived(2, false, 0);
    assert_eq!(pair.health(), [Good; 4]);
}

/// A marked value loses one turn, however often it was marked.
#[test]
fn a_congested_value_loses_one_turn() {
    let mut pair = Pair::new();
    pair.arrived(1, true, 0);
    pair.arrived(1, true, 0);
    pair.learn(Feedback::Trimmed { value: 1 });
    assert_eq!(pair.health(), [Good, Skip, Good, Good]);
    assert_eq!(pair.sends(2), [0, 2]);
    assert_eq!(pair.health(), [Good; 4]);
    assert_eq!(pair.sends(4), [3, 0, 1, 2]);
    pair.learn(Feedback::Trimmed { value: 3 });
    assert_eq!(pair.sends(4), [0, 1, 2, 3]);
}

/// 0 and 1 are congested: the packet that passes both forgives only 0, the packet after next only 1.
#[test]
fn a_packet_forgives_one_value() {
    let mut pair = Pair::new();
    pair.arrived(0, true, 0);
    pair.arrived(1, true, 0);
    assert_eq!(pair.send(), 2);
    assert_eq!(pair.health(), [Good, Skip, Good, Good]);
    assert_eq!(pair.sends(6), [3, 0, 2, 3, 0, 1]);
}

/// All four are congested: the first is forgiven and, once round, taken.
#[test]
fn where_all_are_congested_the_first_to_be_forgiven_is_taken() {
    let mut pair = Pair::new();
    (0..4).for_each(|value| pair.arrived(value, true, 0));
    assert_eq!(pair.send(), 0);
    assert_eq!(pair.health(), [Good, Skip, Skip, Skip]);
    assert_eq!(pair.send(), 0, "1 is forgiven on the way");
    assert_eq!(pair.health(), [Good, Good, Skip, Skip]);
    assert_eq!(pair.send(), 1);
    assert_eq!(pair.send(), 0, "2 is forgiven on the way");
    assert_eq!(pair.health(), [Good, Good, Good, Skip]);
}

#[test]
fn a_value_that_lost_a_packet_is_out_until_a_probe_is_answered() {
    let mut pair = Pair::new();
    pair.env.now_ns = 1000;
    pair.lost(2, 900);
    assert_eq!(pair.health(), [Good, Good, AssumedBad, Good]);
    assert_eq!(pair.sends(6), [0, 1, 3, 0, 1, 3]);
    pair.learn(Feedback::Trimmed { value: 2 });
    pair.arrived(2, false, 899);
    assert_eq!(pair.health()[2], AssumedBad, "what left before says nothing");
    assert_eq!(pair.probed(1099), [0; 0]);
    assert_eq!(pair.probed(1100), [2]);
    pair.arrived(2, false, 1100);
    assert_eq!(pair.health(), [Good; 4]);
    assert_eq!((pair.state.counts(), pair.state.next_probe_ns()), ((1, 1), None));
    pair.lost(2, 1099);
    assert_eq!(pair.health()[2], Good, "it left before the path came back");
    pair.lost(2, 1101);
    assert_eq!(pair.health()[2], AssumedBad);
}

#[test]
fn a_probe_that_comes_back_marked_costs_a_turn_more() {
    let mut pair = Pair::new();
    pair.lost(0, 0);
    pair.arrived(0, true, 50);
    assert_eq!(pair.health()[0], Skip);
    assert_eq!(pair.sends(4), [1, 2, 3, 0]);
}

/// Probes 100, 300, 700, ... after the loss: at `100 * (2^k - 1)`, and from the seventh on every 6,400.
#[test]
fn each_probe_doubles_the_time_to_the_next() {
    let mut pair = Pair::new();
    pair.lost(1, 0);
    let mut at_ns = Vec::new();
    while at_ns.len() < 9 {
        let due_ns = pair.state.next_probe_ns().unwrap();
        assert_eq!(pair.probed(due_ns - 1), [0; 0]);
        assert_eq!(pair.probed(due_ns), [1]);
        at_ns.push(due_ns);
    }
    assert_eq!(DOUBLINGS, 6);
    assert_eq!(at_ns, [100, 300, 700, 1500, 3100, 6300, 12700, 19100, 25500]);
    // A second packet that was lost on the way changes nothing.
    pair.lost(1, 10);
    assert_eq!((pair.state.next_probe_ns(), pair.state.counts()), (Some(31_900), (1, 0)));
}

#[test]
fn where_nothing_works_all_are_tried() {
    let mut pair = Pair::new();
    (0..4).for_each(|value| pair.lost(value, 10));
    let mut tried = pair.sends(4);
    tried.sort_unstable();
    assert_eq!(tried, [0, 1, 2, 3]);
    pair.arrived(3, false, 11);
    assert_eq!(pair.sends(3), [3, 3, 3]);
}
