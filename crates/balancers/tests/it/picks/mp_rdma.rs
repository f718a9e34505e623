//! MP-RDMA: a packet goes where the acknowledgement came from that let it go.

use super::environment::Environment;
use anabranch_balancers::mp_rdma::pick::{MpRdma, PROBE_UNIT, Parameters, State};
use anabranch_split::picks::acknowledgement::{Acknowledged, Feedback};
use anabranch_split::{Packet, Pick, pick};

struct Flow {
    plan: Parameters,
    state: State,
    env: Environment,
}

impl Flow {
    fn new(plan: Parameters) -> Self {
        Self { plan, state: State::default(), env: Environment::seeded(3) }
    }

    fn send(&mut self) -> u16 {
        pick::<MpRdma, _>(&self.plan, &mut self.state, &mut Packet::default(), &mut self.env)
    }

    fn acknowledged(&mut self, path: u16, packet: Option<u32>, marked: bool) {
        let acknowledged = Acknowledged { entropy: Some(path), packet, marked, ..Acknowledged::default() };
        MpRdma::learn(&self.plan, &mut self.state, &Feedback::Acknowledged(acknowledged), &mut self.env);
    }
}

const STEADY: Parameters = Parameters { probe: 0, ..Parameters::DEFAULT };

#[test]
fn packets_follow_the_acknowledgement_that_came_last() {
    let mut flow = Flow::new(STEADY);
    let first: Vec<u16> = (0..100).map(|_| flow.send()).collect();
    let mut distinct = first.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() > 95, "the first window is spread: {}", distinct.len());
    for path in [first[3], first[7], 9] {
        flow.acknowledged(path, None, false);
        assert_eq!([flow.send(), flow.send()], [path; 2]);
    }
    let lost = Feedback::TimedOut { entropy: None };
    MpRdma::learn(&flow.plan, &mut flow.state, &lost, &mut flow.env);
    assert_ne!(flow.send(), flow.send(), "all are drawn anew");
}

/// One in a hundred; standard deviation of 100,000 draws: sqrt(1000 * 0.99) = 31.5, five of them.
#[test]
fn one_packet_in_a_hundred_tries_another_path() {
    let mut flow = Flow::new(Parameters::DEFAULT);
    assert_eq!(flow.plan.probe * 100, PROBE_UNIT);
    flow.acknowledged(60_000, None, false);
    let others = (0..100_000).filter(|_| flow.send() != 60_000).count();
    assert!(others.abs_diff(1000) < 158, "{others}");
}

/// Half of them pass their turn on: of 10,000, standard deviation 50.
#[test]
fn a_mark_takes_half_a_turn() {
    let mut flow = Flow::new(STEADY);
    let mut moved = 0;
    for _ in 0..10_000 {
        flow.acknowledged(1, None, false);
        flow.acknowledged(2, None, true);
        moved += u32::from(flow.send() == 2);
    }
    assert!(moved.abs_diff(5000) < 250, "{moved}");
}

#[test]
fn a_path_that_is_32_packets_late_is_left() {
    let mut flow = Flow::new(STEADY);
    flow.acknowledged(1, Some(100), false);
    flow.acknowledged(2, Some(68), false);
    assert_eq!(flow.send(), 2, "32 packets behind");
    flow.acknowledged(3, Some(67), false);
    assert_eq!(flow.send(), 2, "33 packets behind");
    flow.acknowledged(4, Some(101), false);
    flow.acknowledged(3, Some(68), false);
    assert_eq!(flow.send(), 4);
}
