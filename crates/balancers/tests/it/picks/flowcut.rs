//! Flowcut: a flow moves when nothing of it is under way, and is drained where that would take too long.

use super::queues_environment::Environment;
use anabranch_balancers::flowcut::header::Header;
use anabranch_balancers::flowcut::pick::{Answer, Cut, Flowcut, Parameters, Plan, WAIT};
use anabranch_split::picks::FlowTable;
use anabranch_split::{Packet, Pick, pick};

type Rule = Flowcut<[Vec<u16>; 1], FlowTable<Cut>>;

const US: u64 = 1000;

struct Leaf {
    plan: Plan<[Vec<u16>; 1]>,
    flows: FlowTable<Cut>,
    env: Environment,
}

impl Leaf {
    /// With three paths, of which the first has the least backlog.
    fn new(parameters: Parameters) -> Self {
        let mut env = Environment::new(3);
        env.backlogs = vec![10, 20, 30];
        Self { plan: Plan { paths: [vec![0, 1, 2]], parameters }, flows: FlowTable::default(), env }
    }

    /// Path of a packet of 1000 bytes, and the number of its flowcut.
    fn send(&mut self, flow: u64) -> (u16, u8) {
        let mut packet = Packet { flow, bytes: 1000, ..Packet::default() };
        let path = pick::<Rule, _>(&self.plan, &mut self.flows, &mut packet, &mut self.env);
        (path, Header::unpack(packet.tag).unwrap().number)
    }

    /// The answer to packet number `packet` of a flowcut, counted from one.
    fn answered(&mut self, flow: u64, number: u8, packet: u32, delay_us: u32) {
        let answer = Answer { flow, number, sent_bytes: packet * 1000, delay_ns: delay_us * 1000 };
        Rule::learn(&self.plan, &mut self.flows, &answer, &mut self.env);
    }
}

#[test]
fn a_flow_moves_only_when_nothing_of_it_is_under_way() {
    let mut leaf = Leaf::new(Parameters::default());
    let (path, first) = leaf.send(7);
    assert_eq!(path, 0, "the least backlog");
    leaf.env.backlogs = vec![900, 20, 30];
    assert_eq!(leaf.send(7), (0, first), "one packet is under way");
    leaf.answered(7, first, 1, 10);
    assert_eq!(leaf.send(7), (0, first), "two were, one still is");
    leaf.answered(7, first, 3, 10);
    let (path, second) = leaf.send(7);
    assert_eq!(
        path, 1,
        "the third arrived, so the second did too or is lost, and this backlog is the least now"
    );
    assert_ne!(first, second);
    assert_eq!(leaf.send(8).0, 1, "another flow");
}

#[test]
fn equal_backlogs_are_drawn_evenly() {
    let mut leaf = Leaf::new(Parameters::default());
    leaf.env.backlogs = vec![5; 3];
    let mut counts = [0u32; 3];
    for flow in 0..30_000 {
        counts[usize::from(leaf.send(flow).0)] += 1;
    }
    // Standard deviation sqrt(30000 * 1/3 * 2/3) = 82; five of them.
    assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 410), "{counts:?}");
}

/// Weight 0.7: after 10 and 100 us the mean is 10 + 0.7 * 90 = 73 us, more than 6 times the least.
#[test]
fn a_slow_flowcut_is_drained_once_it_has_sent_enough() {
    let mut leaf = Leaf::new(Parameters::default());
    let (_, number) = leaf.send(1);
    leaf.answered(1, number, 1, 10);
    let (_, number) = leaf.send(1);
    for _ in 0..18 {
        leaf.send(1);
    }
    leaf.answered(1, number, 1, 58);
    assert_eq!(leaf.send(1), (0, number), "58 us is less than 6 * 10 us, after 20,000 bytes");
    leaf.answered(1, number, 2, 100);
    leaf.env.backlogs = vec![900, 800, 30];
    assert_eq!(leaf.send(1).0, WAIT, "58 + 0.7 * 42 = 87.4 us is more than 60 us");
    for packet in 3..=20 {
        assert_eq!(leaf.send(1).0, WAIT, "number {packet} is under way");
        leaf.answered(1, number, packet, 10);
    }
    let (path, next) = leaf.send(1);
    assert_eq!(path, 2);
    assert_ne!(next, number);
}

#[test]
fn draining_needs_bytes_and_another_path_and_can_be_left_out() {
    let slow = |parameters: Parameters, paths: Vec<u16>| {
        let mut leaf = Leaf::new(parameters);
        leaf.plan.paths = [paths];
        let (_, number) = leaf.send(1);
        for _ in 0..9 {
            leaf.send(1);
        }
        leaf.answered(1, number, 1, 10);
        leaf.answered(1, number, 2, 1000);
        leaf.send(1).0
    };
    let default = Parameters { least_bytes: 10_000, ..Parameters::default() };
    assert_eq!(slow(default, vec![0, 1]), WAIT);
    assert_eq!(slow(Parameters { least_bytes: 10_001, ..default }, vec![0, 1]), 0);
    assert_eq!(slow(Parameters { drain: false, ..default }, vec![0, 1]), 0);
    assert_eq!(slow(Parameters { ratio: 80.0, ..default }, vec![0, 1]), 0, "10 + 0.7 * 990 is 70.3 times 10");
    assert_eq!(slow(default, vec![0]), 0);
}

#[test]
fn answers_to_an_older_flowcut_count_for_nothing() {
    let mut leaf = Leaf::new(Parameters::default());
    let (_, first) = leaf.send(1);
    leaf.env.now_ns += 5000 * US;
    leaf.env.backlogs = vec![900, 20, 30];
    let (path, second) = leaf.send(1);
    assert_eq!(path, 1, "after the timeout the packet counts as lost");
    leaf.answered(1, first, 1, 10);
    leaf.env.backlogs = vec![900, 800, 30];
    assert_eq!(leaf.send(1), (1, second), "the late answer ends nothing");
    leaf.answered(1, second, 2, 10);
    assert_eq!(leaf.send(1).0, 2);
}

#[test]
fn an_answer_puts_the_timeout_off_and_a_dead_path_ends_a_flowcut() {
    let mut leaf = Leaf::new(Parameters { timeout_ns: 100 * US, ..Parameters::default() });
    let (_, number) = leaf.send(1);
    leaf.send(1);
    leaf.env.now_ns += 90 * US;
    leaf.answered(1, number, 1, 90);
    leaf.env.backlogs = vec![900, 20, 30];
    leaf.env.now_ns += 90 * US;
    assert_eq!(leaf.send(1), (0, number));
    leaf.env.dead = vec![0];
    assert_eq!(leaf.send(1).0, 1);
}
